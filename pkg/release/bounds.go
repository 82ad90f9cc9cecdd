// SPDX-License-Identifier: Apache-2.0

package release

import (
	"errors"
	"math"
	"strings"

	"go.yaml.in/yaml/v3"
	sigsyaml "sigs.k8s.io/yaml"
)

// These are the limits of Objects and ObjectMetadata. Everybody who may create Secrets in a namespace can write a
// record. It has at most 1 MiB compressed.
const (
	// maxDocument limits the size, in bytes, of a document that the library parses. The library may need two hundred
	// times that size.
	maxDocument = 1 << 20
	// maxMetadata limits the size, in bytes, of the metadata of an object as JSON.
	maxMetadata = 2 << 20
	// maxParsed limits the parsed part of a manifest, in bytes. A manifest that fits into a Secret together with its
	// chart usually has at most 4 MiB.
	maxParsed = 8 << 20
	// maxNodes limits the parsed YAML nodes of a manifest. The library needs about 250 bytes for each.
	maxNodes = 500_000
	// maxMetadataNodes is maxNodes for ObjectMetadata. The metadata of an object from Fleet's agent has about twenty
	// nodes.
	maxMetadataNodes = 400_000
	// maxDocuments limits the documents of a manifest. Some documents are not objects.
	maxDocuments = 40_000
	// maxObjects limits the objects of a manifest.
	maxObjects = 20_000
)

// BoundError is returned for a record that exceeds a limit of this package. Its text contains the limit and does not
// quote the record.
type BoundError struct{ bound string }

// Error implements error.
func (e *BoundError) Error() string { return e.bound }

var (
	errLargeDocument     error = &BoundError{"it has more than 1 MiB to parse"}
	errLargeManifest     error = &BoundError{"it has more than 8 MiB to parse"}
	errLargeMetadata     error = &BoundError{"the metadata of an object is larger than 2 MiB"}
	errManyNodes         error = &BoundError{"it has more than 500,000 YAML nodes"}
	errManyMetadataNodes error = &BoundError{"the metadata of its objects has more than 400,000 YAML nodes"}
	errManyDocuments     error = &BoundError{"it has more than 40,000 documents"}
	errExpands           error = &BoundError{"its YAML aliases expand to more than 8 MiB or 500,000 nodes"}
	errManyObjects       error = &BoundError{"it has more than 20,000 objects"}
)

// limits are the limits of Objects or of ObjectMetadata.
type limits struct {
	// metadata means that only apiVersion, kind, metadata and items of a document in the usual form are kept.
	metadata bool
	// maxJSON limits the JSON of a document in the usual form, in bytes.
	maxJSON int
	// maxNodes limits the nodes of the manifest. tooMany is the error for more nodes.
	maxNodes int
	tooMany  error
}

var (
	objectLimits   = limits{false, math.MaxInt, maxNodes, errManyNodes}
	metadataLimits = limits{true, maxMetadata, maxMetadataNodes, errManyMetadataNodes}
)

// json converts a document to JSON. Errors are of type *BoundError, or errors of the library, which may quote the
// document.
func (r *reader) json(doc string) ([]byte, error) {
	bytes, nodes := r.bytes, r.nodes
	raw, err := r.usual(doc)
	if !errors.Is(err, errUnusual) {
		return raw, err
	}
	weight, aliased := mostNodes(doc), strings.Contains(doc, "&") && strings.Contains(doc, "*")
	if aliased {
		weight *= nestedNode // the document is parsed a second time, to measure it
	}
	r.bytes, r.nodes = bytes+len(doc), nodes+weight
	switch {
	case r.bytes > maxParsed:
		return nil, errLargeManifest
	case len(doc) > maxDocument:
		return nil, errLargeDocument
	case r.nodes > r.maxNodes:
		return nil, r.tooMany
	}
	if aliased {
		if err := expansion(doc); err != nil {
			return nil, err
		}
	}
	return sigsyaml.YAMLToJSON([]byte(doc))
}

const (
	// perLine is the number of nodes of a line: a key and its value. All lines of a scalar count as one line.
	perLine = 2
	// nestedNode is the number of nodes of a bracket or of the dash of a sequence. The library needs several times as
	// long for deeply nested nodes.
	nestedNode = 4
)

// mostNodes returns an upper bound of the nodes in a document: one of these characters begins, ends or separates each
// node.
func mostNodes(doc string) int {
	n := 2
	for i := range len(doc) {
		switch doc[i] {
		case '\n', '\r', ',', ':':
			n++
		case '[', '{':
			n += nestedNode
		case '-', '?':
			if i+1 == len(doc) || strings.IndexByte(" \t\r\n", doc[i+1]) >= 0 {
				n += nestedNode
			}
		}
	}
	return n
}

// expansion returns an error for a document with aliases that expand to more than the limits of a manifest. The library
// limits how often it follows an alias, but not the length of the repeated text.
func expansion(doc string) error {
	var root yaml.Node
	if err := yaml.Unmarshal([]byte(doc), &root); err != nil {
		return err
	}
	if size := (expander{}).size(&root); size.bytes > maxParsed || size.nodes > maxNodes {
		return errExpands
	}
	return nil
}

// expander has the sizes of nodes with expanded aliases, so that each node is measured once.
type expander map[*yaml.Node]size

type size struct{ bytes, nodes int }

func (x expander) size(n *yaml.Node) size {
	if known, ok := x[n]; ok {
		return known
	}
	x[n] = size{bytes: maxParsed + 1} // until it is measured, because an anchor may contain itself
	total := size{bytes: len(n.Value) + 1, nodes: 1}
	if n.Kind == yaml.AliasNode {
		total = x.size(n.Alias)
	}
	for _, each := range n.Content {
		part := x.size(each)
		total.bytes = min(total.bytes+part.bytes, maxParsed+1) // so that no sum overflows
		total.nodes = min(total.nodes+part.nodes, maxNodes+1)
	}
	x[n] = total
	return total
}
