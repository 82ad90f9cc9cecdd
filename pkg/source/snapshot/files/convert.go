// SPDX-License-Identifier: Apache-2.0

package files

import (
	"bytes"
	"errors"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"go.yaml.in/yaml/v3"
)

// converter writes nodes of YAML as compact JSON. sigs.k8s.io/yaml needs a fifth more time, and its output has no limit
// if a document has aliases. The encoder refuses a key that occurs twice in one map, and limits the nesting.
type converter struct {
	out bytes.Buffer
	enc *jsontext.Encoder
	bad int // the line of the node with an error
}

func newConverter() *converter {
	c := &converter{}
	c.enc = jsontext.NewEncoder(&c.out)
	return c
}

// convert converts a document, which is null if it has only comments.
func (c *converter) convert(root *yaml.Node) ([]byte, error) {
	c.out.Reset()
	c.enc.Reset(&c.out)
	c.bad = 0
	if len(root.Content) == 0 {
		return []byte("null"), nil
	}
	err := c.node(root.Content[0])
	if _, ok := errors.AsType[*jsontext.SyntacticError](err); ok && !errors.Is(err, jsontext.ErrDuplicateName) {
		err = errTooDeep
	}
	return bytes.Clone(bytes.TrimRight(c.out.Bytes(), "\n")), err
}

func (c *converter) node(n *yaml.Node) (err error) {
	switch n.Kind {
	case yaml.MappingNode:
		err = c.children(jsontext.BeginObject, n, jsontext.EndObject)
	case yaml.SequenceNode:
		err = c.children(jsontext.BeginArray, n, jsontext.EndArray)
	case yaml.ScalarNode:
		err = c.scalar(n)
	default:
		err = errAlias
	}
	if err != nil && c.bad == 0 {
		c.bad = n.Line
	}
	return err
}

// children writes the elements of a list, or the keys and values of a map.
func (c *converter) children(begin jsontext.Token, n *yaml.Node, end jsontext.Token) error {
	if err := c.enc.WriteToken(begin); err != nil {
		return err
	}
	for i, child := range n.Content {
		isKey := n.Kind == yaml.MappingNode && i%2 == 0
		if isKey && (child.Kind != yaml.ScalarNode || child.Tag == "!!merge") {
			return errYAMLOnly
		}
		if isKey {
			child.Tag = "!!str"
		}
		if err := c.node(child); err != nil {
			return err
		}
	}
	return c.enc.WriteToken(end)
}

func (c *converter) scalar(n *yaml.Node) error {
	switch n.Tag {
	case "!!str", "!!timestamp":
		return c.enc.WriteToken(jsontext.String(n.Value))
	case "!!null", "!!bool", "!!int", "!!float":
		return c.value(n)
	}
	return errYAMLOnly
}

// value writes a scalar that is no string. A number that is valid JSON is kept. API servers write no other numbers:
// 0x1F and 1_000 are decoded.
func (c *converter) value(n *yaml.Node) error {
	if v := jsontext.Value(n.Value); v.Kind() == jsontext.KindNumber && v.IsValid() {
		return c.enc.WriteValue(v)
	}
	var v any
	if n.Decode(&v) != nil {
		return errYAMLOnly
	}
	out, err := json.Marshal(v)
	if err != nil { // an infinite number
		return errYAMLOnly
	}
	return c.enc.WriteValue(out)
}
