// SPDX-License-Identifier: Apache-2.0

package release

import (
	"errors"
	"math"
	"strings"

	"go.yaml.in/yaml/v3"
	sigsyaml "sigs.k8s.io/yaml"
)

// Bounds of Objects and ObjectMetadata. A record has at most 1 MiB when it is packed, and anyone who may create Secrets in a namespace can write one.
const (
	// maxDocument bounds, in bytes, a document that the library parses: that may take two hundred times the size of the document.
	maxDocument = 1 << 20
	// maxMetadata bounds, in bytes, the metadata of an object as JSON.
	maxMetadata = 2 << 20
	// maxParsed bounds, in bytes, what is parsed of a manifest. A manifest that fits into a Secret beside its chart has at most 4 MiB,
	// unless it repeats itself.
	maxParsed = 8 << 20
	// maxNodes bounds the YAML nodes that are parsed of a manifest. In the library each takes about 250 bytes while its document is parsed.
	maxNodes = 500_000
	// maxMetadataNodes is that bound for ObjectMetadata. The metadata of an object that Fleet's agent writes has about twenty nodes.
	maxMetadataNodes = 400_000
	// maxDocuments bounds the documents of a manifest. Not every document is an object.
	maxDocuments = 40_000
	// maxObjects bounds the objects of a manifest.
	maxObjects = 20_000
)

// BoundError is returned for a record that exceeds a bound of this package. Its text names the bound and does not quote the record.
type BoundError struct{ bound string }

// Error implements error.
func (e *BoundError) Error() string { return e.bound }

var (
	errLargeDocument     error = &BoundError{"there is more than 1 MiB of it to parse"}
	errLargeManifest     error = &BoundError{"there is more than 8 MiB of it to parse"}
	errLargeMetadata     error = &BoundError{"the metadata of an object in it is larger than 2 MiB"}
	errManyNodes         error = &BoundError{"it has more than 500,000 YAML nodes"}
	errManyMetadataNodes error = &BoundError{"the metadata of its objects has more than 400,000 YAML nodes"}
	errManyDocuments     error = &BoundError{"it has more than 40,000 documents"}
	errExpands           error = &BoundError{"its YAML aliases expand to more than 8 MiB or 500,000 nodes"}
	errManyObjects       error = &BoundError{"it has more than 20,000 objects"}
)

// limits are those of one way to read a manifest.
type limits struct {
	// metadata says that of a document in the usual form only apiVersion, kind, metadata and items are kept.
	metadata bool
	// maxJSON bounds, in bytes, the JSON of a document in the usual form.
	maxJSON int
	// maxNodes bounds the nodes of the manifest; tooMany is the error for more.
	maxNodes int
	tooMany  error
}

var (
	objectLimits   = limits{false, math.MaxInt, maxNodes, errManyNodes}
	metadataLimits = limits{true, maxMetadata, maxMetadataNodes, errManyMetadataNodes}
)

// json reads a document into JSON. Errors are of type *BoundError, or come from the library and may quote the document.
func (r *reader) json(doc string) ([]byte, error) {
	bytes, nodes := r.bytes, r.nodes
	raw, err := r.usual(doc)
	if !errors.Is(err, errUnusual) {
		return raw, err
	}
	weight, aliased := mostNodes(doc), strings.Contains(doc, "&") && strings.Contains(doc, "*")
	if aliased {
		weight *= nestedNode // the document is parsed once more, to measure it
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
	// perLine is what a line counts for: a key and its value. The text of a scalar counts as one line.
	perLine = 2
	// nestedNode is what a bracket, or the dash of a sequence, counts for: the library takes several times as long for what is nested deeply.
	nestedNode = 4
)

// mostNodes bounds the number of nodes in any document: one of these characters begins or ends each node, or separates it from the next.
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

// expansion returns an error for a document whose aliases expand to more than a manifest may have. The library bounds how often it follows
// an alias, but not the length of the text that the alias repeats.
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

// expander has the sizes of nodes with their aliases expanded, so that each node is measured once.
type expander map[*yaml.Node]size

type size struct{ bytes, nodes int }

func (x expander) size(n *yaml.Node) size {
	if known, ok := x[n]; ok {
		return known
	}
	x[n] = size{bytes: maxParsed + 1} // until it is measured, since an anchor may contain itself
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
