// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"bytes"
	"regexp"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"go.yaml.in/yaml/v3"
)

// converter converts YAML to JSON. It writes the nodes of the parser directly: so the bytes of expanded aliases are limited, strings that look
// like dates do not change, and numbers keep all their digits. A key that occurs twice in one map is an error, because two documents without
// a marker between them have this form.
type converter struct {
	budget *budget
	piece  *piece
	doc    *document // receives the top-level items; nil for the text of an item
	out    []byte    // its memory is used again
	kept   int       // bytes of the items
	alias  int       // the offset in out of the outermost alias, -1 outside aliases
}

// yamlError is an error in a piece of YAML. A line or column of 0 is not known.
type yamlError struct {
	line, column int
	err          error
}

// convert converts the text of a document, or of an item if doc is nil.
func (c *converter) convert(p *piece, doc *document) ([]byte, *yamlError) {
	text := p.text
	if err := c.budget.yaml(maxNodes(text)); err != nil {
		return nil, &yamlError{line: 1, err: err}
	}
	var root yaml.Node
	if err := yaml.Unmarshal(text, &root); err != nil {
		return nil, &yamlError{line: lineOf(err), err: errNoYAML}
	}
	c.piece, c.doc, c.out, c.kept, c.alias = p, doc, c.out[:0], 0, -1
	if root.Kind != yaml.DocumentNode || len(root.Content) != 1 { // only comments
		return []byte("null"), nil
	}
	cutBefore := doc != nil && doc.listed // its items were in block style
	bad := c.node(root.Content[0], 1)
	if bad != nil && doc != nil && !cutBefore {
		doc.items, doc.listed = nil, false
	}
	if err := c.budget.documents(int64(max(len(c.out)+c.kept-len(text), 0))); err != nil {
		return nil, &yamlError{line: 1, err: err}
	}
	return bytes.Clone(c.out), bad
}

// maxNodes is an upper bound of the nodes in a text. One of these characters begins, ends or separates each node.
func maxNodes(text []byte) int {
	n := 2
	for i, b := range text {
		switch b {
		case '\n', ',', ':', '[', '{':
			n++
		case '-', '?':
			if i+1 < len(text) && (text[i+1] == ' ' || text[i+1] == '\t') {
				n++
			}
		}
	}
	return n
}

// inError finds the line in an error of the parser. No other part of the error may be displayed, because it quotes the text. The parser counts
// lines from 0, and its scanner from 1.
var inError = regexp.MustCompile(`^yaml: line (\d+): (did not find expected (?:<document start>|node content|'-' indicator|key|',' or))?`)

func lineOf(err error) int {
	m := inError.FindStringSubmatch(err.Error())
	if m == nil {
		return 1
	}
	n, err := strconv.Atoi(m[1])
	if err == nil && m[2] != "" {
		n++
	}
	return max(n, 1)
}

func (c *converter) node(n *yaml.Node, depth int) *yamlError {
	switch most := c.budget.limits.aliases(); {
	case depth > maxNesting:
		return &yamlError{n.Line, n.Column, errTooDeep}
	case int64(len(c.out)+c.kept) > c.budget.limits.Object:
		return &yamlError{n.Line, n.Column, errTooLarge}
	case c.alias >= 0 && c.budget.aliases+int64(len(c.out)-c.alias) > most:
		return &yamlError{n.Line, n.Column, exceeded("%s of expanded YAML aliases", size(most))}
	}
	switch n.Kind {
	case yaml.AliasNode:
		if c.alias >= 0 {
			return c.node(n.Alias, depth+1)
		}
		c.alias = len(c.out)
		err := c.node(n.Alias, depth+1)
		c.budget.aliases += int64(len(c.out) - c.alias)
		c.alias = -1
		return err
	case yaml.MappingNode:
		return c.mapping(n, depth)
	case yaml.SequenceNode:
		c.out = append(c.out, '[')
		for i, e := range n.Content {
			if i > 0 {
				c.out = append(c.out, ',')
			}
			if err := c.node(e, depth+1); err != nil {
				return err
			}
		}
		c.out = append(c.out, ']')
		return nil
	}
	return c.scalar(n)
}

func (c *converter) mapping(n *yaml.Node, depth int) *yamlError {
	c.out = append(c.out, '{')
	seen := make(map[string]struct{}, len(n.Content)/2)
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := resolved(n.Content[i]), n.Content[i+1]
		if key.Kind != yaml.ScalarNode || key.Tag == "!!merge" {
			return &yamlError{key.Line, key.Column, errYAMLOnly}
		}
		if _, ok := seen[key.Value]; ok {
			return &yamlError{n.Content[i].Line, n.Content[i].Column, errDuplicate}
		}
		seen[key.Value] = struct{}{}
		if depth == 1 && c.doc != nil && key.Value == "items" {
			if list := resolved(value); list.Kind == yaml.SequenceNode || list.Kind == yaml.ScalarNode && list.Tag == "!!null" {
				if err := c.items(key, list); err != nil {
					return err
				}
				continue
			}
		}
		if c.out[len(c.out)-1] != '{' {
			c.out = append(c.out, ',')
		}
		if err := c.quote(key); err != nil {
			return err
		}
		c.out = append(c.out, ':')
		if err := c.node(value, depth+1); err != nil {
			return err
		}
	}
	c.out = append(c.out, '}')
	return nil
}

// items adds the items of a document that are not in block style.
func (c *converter) items(key, list *yaml.Node) *yamlError {
	if c.doc.listed { // it has items in block style
		return &yamlError{key.Line, key.Column, errDuplicate}
	}
	c.doc.listed = true
	for _, n := range list.Content {
		begin := len(c.out)
		if err := c.node(n, 3); err != nil {
			return err
		}
		if err := c.budget.object(); err != nil {
			return &yamlError{n.Line, n.Column, err}
		}
		c.doc.items = append(c.doc.items, item{raw: bytes.Clone(c.out[begin:]), line: c.piece.at(n.Line)})
		c.kept += len(c.out) - begin
		c.out = c.out[:begin]
	}
	return nil
}

// resolved is the node to which an alias refers.
func resolved(n *yaml.Node) *yaml.Node {
	for n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	return n
}

func (c *converter) scalar(n *yaml.Node) *yamlError {
	switch n.Tag {
	case "!!str", "!!timestamp":
		return c.quote(n)
	case "!!null", "!!bool", "!!int", "!!float":
		// A number that is valid JSON is kept. API servers write no other numbers. 0x1F and 1_000 are decoded.
		if v := jsontext.Value(n.Value); v.Kind() == jsontext.KindNumber && v.IsValid() {
			c.out = append(c.out, n.Value...)
			return nil
		}
		var v any
		err := n.Decode(&v)
		out, invalid := json.Marshal(v)
		if err == nil && invalid == nil { // not an infinite number
			c.out = append(c.out, out...)
			return nil
		}
	}
	return &yamlError{n.Line, n.Column, errYAMLOnly}
}

func (c *converter) quote(n *yaml.Node) *yamlError {
	out, err := jsontext.AppendQuote(c.out, n.Value)
	if err != nil {
		return &yamlError{n.Line, n.Column, errNoYAML}
	}
	c.out = out
	return nil
}
