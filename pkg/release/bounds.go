// SPDX-License-Identifier: Apache-2.0

package release

import (
	"strings"

	"go.yaml.in/yaml/v3"
	sigsyaml "sigs.k8s.io/yaml"
)

// Bounds of Objects and Heads. A record is at most 1 MiB packed, and anyone who may create Secrets in a namespace can write one.
const (
	// maxDocument bounds, in bytes, the head of a document, and a whole one that is not in the plain form: parsed YAML may take two hundred
	// times its size.
	maxDocument = 1 << 20
	// maxParsed bounds, in bytes, what is parsed of a manifest. A manifest that fits into a Secret beside its chart has 4 MiB at most,
	// unless it repeats itself.
	maxParsed = 8 << 20
	// maxNodes bounds how many YAML nodes are parsed of a manifest. Each takes some 250 bytes while its document is parsed.
	maxNodes = 500_000
	// maxHeadNodes is that bound for Heads: an object that Fleet's agent writes has about twenty nodes in its head.
	maxHeadNodes = 400_000
	// maxDocuments bounds the documents, of which not every one need be an object.
	maxDocuments = 40_000
	// maxObjects bounds how many objects a manifest may have.
	maxObjects = 20_000
)

// BoundError is returned for a record that exceeds a bound of this package. Its text names the bound, and nothing of the record.
type BoundError struct{ bound string }

// Error implements error.
func (e *BoundError) Error() string { return e.bound }

var (
	errLargeDocument error = &BoundError{"there is more than 1 MiB of it to parse"}
	errLargeManifest error = &BoundError{"there is more than 8 MiB of it to parse"}
	errManyNodes     error = &BoundError{"it has more than 500,000 YAML nodes"}
	errManyHeadNodes error = &BoundError{"the heads of its documents have more than 400,000 YAML nodes"}
	errManyDocuments error = &BoundError{"it has more than 40,000 documents"}
	errExpands       error = &BoundError{"its YAML aliases expand to more than 8 MiB or 500,000 nodes"}
	errManyObjects   error = &BoundError{"it has more than 20,000 objects"}
)

// limits are those of one way to read a manifest.
type limits struct {
	// document bounds, in bytes, what is parsed of a document in the plain form.
	document int
	// nodes bounds the nodes of the manifest; tooMany is the error for more.
	nodes   int
	tooMany error
}

var (
	objectLimits = limits{maxParsed, maxNodes, errManyNodes}
	headLimits   = limits{maxDocument, maxHeadNodes, errManyHeadNodes}
	secretLimits = limits{maxSecret, maxNodes, errManyNodes}
)

// meter adds up what is parsed of one manifest.
type meter struct {
	limits
	bytes, read int
}

// json parses a document, or the part of it that is needed, into JSON. Errors are of type *BoundError, or say what the parser met and may
// quote the document.
func (m *meter) json(doc string) ([]byte, error) {
	if m.bytes += len(doc); m.bytes > maxParsed {
		return nil, errLargeManifest
	}
	nodes, plain := plainNodes(doc)
	longest := m.document
	aliased := false
	if !plain {
		nodes, longest = mostNodes(doc), maxDocument
		if aliased = strings.Contains(doc, "&") && strings.Contains(doc, "*"); aliased {
			nodes *= nested // it is parsed to be measured, too
		}
	}
	if len(doc) > longest {
		return nil, errLargeDocument
	}
	if m.read += nodes; m.read > m.nodes {
		return nil, m.tooMany
	}
	if aliased {
		if err := expansion(doc); err != nil {
			return nil, err
		}
	}
	return sigsyaml.YAMLToJSON([]byte(doc))
}

// plainNodes bounds the number of nodes in a document of the plain form that Fleet's agent writes: the text of a scalar counts as one, how
// ever many lines it has. ok is false for a document of another form.
func plainNodes(doc string) (n int, ok bool) {
	for _, b := range breaks {
		if strings.Contains(doc, b) {
			return 0, false
		}
	}
	n = 1
	const perLine = 2 // a key and its value; an entry of a sequence is counted by its dash
	s := scanner{text: none}
	for line := range strings.Lines(doc) {
		whole := strings.TrimSuffix(line, "\n")
		text := strings.TrimLeft(whole, " ")
		indent := len(whole) - len(text)
		if s.outside(text, indent) {
			if strings.Contains(text, "\t") {
				return 0, false
			}
			n += perLine
			each := 1 // what is nested within an entry counts for more
			for rest := text; isEntry(rest); rest = strings.TrimLeft(rest[1:], " ") {
				n += each
				each = nested
			}
		}
		if !s.line(text, indent) {
			return 0, false
		}
	}
	return n, s.quote == 0
}

// nested is what a bracket, or the dash of a sequence, counts for: the parser takes several times as long for what is nested deeply.
const nested = 4

// mostNodes bounds the number of nodes in any document: each is begun, ended or separated from the next by one of these characters.
func mostNodes(doc string) int {
	n := 2
	for i := range len(doc) {
		switch doc[i] {
		case '\n', '\r', ',', ':':
			n++
		case '[', '{':
			n += nested
		case '-', '?':
			if i+1 == len(doc) || strings.IndexByte(" \t\r\n", doc[i+1]) >= 0 {
				n += nested
			}
		}
	}
	return n
}

// expansion returns an error for a document whose aliases expand to more than a manifest may have. The parser bounds how often it follows
// an alias, and not how long the text is that it repeats.
func expansion(doc string) error {
	var root yaml.Node
	if err := yaml.Unmarshal([]byte(doc), &root); err != nil {
		return err
	}
	x := expander{sizes: map[*yaml.Node]expanse{}}
	if size := x.size(&root); size.bytes > maxParsed || size.nodes > maxNodes {
		return errExpands
	}
	return nil
}

// expander measures nodes with their aliases expanded. A node is measured once.
type expander struct{ sizes map[*yaml.Node]expanse }

// expanse is the size of a node.
type expanse struct{ bytes, nodes int }

func (x *expander) size(n *yaml.Node) expanse {
	if size, ok := x.sizes[n]; ok {
		return size
	}
	x.sizes[n] = expanse{bytes: maxParsed + 1} // until it is measured: an anchor that contains itself has no end
	size := expanse{bytes: len(n.Value) + 1, nodes: 1}
	if n.Kind == yaml.AliasNode {
		size = x.size(n.Alias)
	}
	for _, each := range n.Content {
		part := x.size(each)
		size.bytes = min(size.bytes+part.bytes, maxParsed+1) // so that no sum overflows
		size.nodes = min(size.nodes+part.nodes, maxNodes+1)
	}
	x.sizes[n] = size
	return size
}
