// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"regexp"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
	"go.yaml.in/yaml/v3"
)

// yamlError says what is wrong with a piece of YAML, and where in it. A line or column of 0 is not known.
type yamlError struct {
	line, column int
	err          error
}

// yamlToJSON turns one YAML document into JSON. The tree of nodes is converted by hand, not decoded into maps, so that what aliases
// expand to is bounded by bytes and not by the parser's guess, so that strings that look like dates stay as they are written, and so
// that numbers keep all their digits. A key twice in one map is an error: it is what a file leaves of two documents without a marker
// between them. With an error comes what was written until then, whose size counts too.
func yamlToJSON(text []byte, b *budget) ([]byte, *yamlError) {
	if err := b.yaml(mostNodes(text)); err != nil {
		return nil, &yamlError{line: 1, err: err}
	}
	var root yaml.Node
	if err := yaml.Unmarshal(text, &root); err != nil {
		return nil, &yamlError{line: lineOf(err), err: errNoYAML}
	}
	c := converter{limit: b.limits.Object, budget: b, alias: -1}
	if root.Kind != yaml.DocumentNode || len(root.Content) != 1 { // nothing but comments
		return []byte("null"), nil
	}
	if err := c.node(root.Content[0], 1); err != nil {
		return c.out, err
	}
	return c.out, nil
}

// mostNodes bounds the number of nodes that a parser can make of the text: each is begun, ended or parted from the next by one of these.
func mostNodes(text []byte) int {
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

// inError finds the line in what yaml says. Nothing else of that may be shown: it quotes the text. The parser, unlike the scanner below
// it, counts lines from 0.
var inError = regexp.MustCompile(`^yaml: line (\d+): (did not find expected (?:<document start>|node content|'-' indicator|key|',' or))?`)

func lineOf(err error) int {
	m := inError.FindStringSubmatch(err.Error())
	if m == nil {
		return 1
	}
	n, err := strconv.Atoi(m[1])
	if err != nil {
		return 1
	}
	if m[2] != "" {
		n++
	}
	return max(n, 1)
}

// converter writes nodes as JSON.
type converter struct {
	out    []byte
	limit  int64 // of out
	budget *budget
	alias  int // where in out the outermost alias begins, -1 outside aliases
}

func (c *converter) node(n *yaml.Node, depth int) *yamlError {
	switch {
	case depth > maxNesting:
		return &yamlError{n.Line, n.Column, errTooDeep}
	case int64(len(c.out)) > c.limit:
		return &yamlError{n.Line, n.Column, errTooLarge}
	case c.alias >= 0 && c.budget.aliases+int64(len(c.out)-c.alias) > c.budget.limits.aliases():
		return &yamlError{n.Line, n.Column, exceeded("%s that YAML aliases expand to", size(c.budget.limits.aliases()))}
	}
	switch n.Kind {
	case yaml.AliasNode:
		return c.expand(n, depth)
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
	default:
		return c.scalar(n)
	}
}

// expand writes what an alias stands for.
func (c *converter) expand(n *yaml.Node, depth int) *yamlError {
	if c.alias >= 0 {
		return c.node(n.Alias, depth+1)
	}
	c.alias = len(c.out)
	err := c.node(n.Alias, depth+1)
	c.budget.aliases += int64(len(c.out) - c.alias)
	c.alias = -1
	return err
}

func (c *converter) mapping(n *yaml.Node, depth int) *yamlError {
	c.out = append(c.out, '{')
	seen := make(map[string]struct{}, len(n.Content)/2)
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		for key.Kind == yaml.AliasNode {
			key = key.Alias
		}
		if key.Kind != yaml.ScalarNode || key.Tag == "!!merge" {
			return &yamlError{key.Line, key.Column, errYAMLOnly}
		}
		if _, ok := seen[key.Value]; ok {
			return &yamlError{n.Content[i].Line, n.Content[i].Column, errDuplicate}
		}
		seen[key.Value] = struct{}{}
		if i > 0 {
			c.out = append(c.out, ',')
		}
		if err := c.quote(key); err != nil {
			return err
		}
		c.out = append(c.out, ':')
		if err := c.node(n.Content[i+1], depth+1); err != nil {
			return err
		}
	}
	c.out = append(c.out, '}')
	return nil
}

func (c *converter) scalar(n *yaml.Node) *yamlError {
	switch n.Tag {
	case "!!str", "!!timestamp":
		return c.quote(n)
	case "!!null":
		c.out = append(c.out, "null"...)
	case "!!bool":
		var v bool
		if n.Decode(&v) != nil {
			return &yamlError{n.Line, n.Column, errYAMLOnly}
		}
		c.out = strconv.AppendBool(c.out, v)
	case "!!int", "!!float":
		return c.number(n)
	default:
		return &yamlError{n.Line, n.Column, errYAMLOnly}
	}
	return nil
}

// number keeps what is a number in JSON too, as all that API servers write is. The rest, 0x1F and 1_000, takes YAML's way.
func (c *converter) number(n *yaml.Node) *yamlError {
	if v := jsontext.Value(n.Value); v.Kind() == '0' && v.IsValid() {
		c.out = append(c.out, n.Value...)
		return nil
	}
	var v any
	if n.Decode(&v) != nil {
		return &yamlError{n.Line, n.Column, errYAMLOnly}
	}
	switch v := v.(type) {
	case int:
		c.out = strconv.AppendInt(c.out, int64(v), 10)
	case int64:
		c.out = strconv.AppendInt(c.out, v, 10)
	case uint64:
		c.out = strconv.AppendUint(c.out, v, 10)
	case float64:
		out := strconv.AppendFloat(nil, v, 'g', -1, 64)
		if !jsontext.Value(out).IsValid() { // not a number, or infinite
			return &yamlError{n.Line, n.Column, errYAMLOnly}
		}
		c.out = append(c.out, out...)
	default:
		return &yamlError{n.Line, n.Column, errYAMLOnly}
	}
	return nil
}

func (c *converter) quote(n *yaml.Node) *yamlError {
	out, err := jsontext.AppendQuote(c.out, n.Value)
	if err != nil {
		return &yamlError{n.Line, n.Column, errNoYAML}
	}
	c.out = out
	return nil
}
