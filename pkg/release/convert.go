// SPDX-License-Identifier: Apache-2.0

package release

import (
	"errors"
	"strings"

	"go.yaml.in/yaml/v3"
	sigsyaml "sigs.k8s.io/yaml"
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

// nestedNode is the number of nodes of a bracket or of the dash of a sequence. The library needs several times as
// long for deeply nested nodes.
const nestedNode = 4

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
