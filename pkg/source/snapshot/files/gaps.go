// SPDX-License-Identifier: Apache-2.0

package files

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"unicode"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"go.yaml.in/yaml/v3"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
)

// A gap never has content of a document, because the document may be a Secret, and errors of parsers quote their input.
// A gap has file names, positions and fixed texts of this package.

// failure is an error with a fixed text, which is the reason of a gap.
type failure string

func (f failure) Error() string { return string(f) }

const (
	errTooLarge  failure = "it is larger than the limit of one object"
	errNoYAML    failure = "it is not valid YAML"
	errAlias     failure = "it has YAML aliases, which kubectl does not write"
	errYAMLOnly  failure = "it has YAML that JSON does not have: merge keys, tags, or keys that are not scalars"
	errTooDeep   failure = "it is nested too deep"
	errDuplicate failure = "it has a key twice in one map"
)

// The effects of gaps, with remedies.
const (
	effectDocument = "it is not used, and no List with it proves that an object is missing; capture it again"
	effectRest     = "the rest was not read; only Lists that were read completely prove that an object is missing"
)

// stop is an error that ends the reading of all paths.
type stop struct{ error }

func (s stop) Unwrap() error { return s.error }

func stops(err error) bool {
	_, ok := errors.AsType[stop](err)
	return ok || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

// placed is an error at a place of a file: "line 5".
type placed struct {
	where string
	error
}

func (p placed) Unwrap() error { return p.error }

// reason converts an error to a fixed text, or to the message of the operating system.
func reason(err error) string {
	_, syntax := errors.AsType[*jsontext.SyntacticError](err)
	errno, system := errors.AsType[syscall.Errno](err)
	text, fixed := errors.AsType[failure](err)
	switch {
	case fixed:
		return string(text)
	case errors.Is(err, bufio.ErrTooLong):
		return string(errTooLarge)
	case errors.Is(err, jsontext.ErrDuplicateName):
		return string(errDuplicate)
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return "it ends in the middle"
	case syntax:
		return "it is not valid JSON"
	case system:
		return errno.Error()
	}
	return "it is damaged, or is packed in a way that is not supported"
}

// maxDamaged is the number of damaged documents that have their own gap.
const maxDamaged = 50

// Report has what could not be read, in the order of reading.
type Report struct {
	gaps           []source.Gap
	damaged        int
	refused, other Tally
}

// Damaged records a document or an item that is not used.
func (r *Report) Damaged(where, reason string) {
	if r.damaged++; r.damaged <= maxDamaged {
		r.gaps = append(r.gaps, source.Gap{What: where, Reason: reason, Effect: effectDocument})
	}
}

// cut records that the rest of a file was not read.
func (r *Report) cut(name string, err error) {
	if place, ok := errors.AsType[placed](err); ok {
		name += ", " + place.where
	}
	r.gaps = append(r.gaps, source.Gap{What: name, Reason: reason(err), Effect: effectRest})
}

// Incomplete reports whether a file was not read to its end, or not at all.
func (r *Report) Incomplete() bool { return len(r.gaps) > 0 || !r.refused.Empty() }

// Gaps returns the gaps. One gap counts the damaged documents that have no gap.
func (r *Report) Gaps() []source.Gap {
	out := slices.Clone(r.gaps)
	if more := r.damaged - maxDamaged; more > 0 {
		what := fmt.Sprintf("%d more documents", more)
		out = append(out, source.Gap{What: what, Reason: "they are damaged", Effect: effectDocument})
	}
	if !r.refused.Empty() {
		out = append(out, source.Gap{
			What:   "files that are not read " + r.refused.String(),
			Reason: "links, special files, archives in archives and names that lead outside an archive are not read",
			Effect: "what is only there is not in the snapshot",
		})
	}
	return out
}

// Notes returns the notes about files that are not a gap.
func (r *Report) Notes() []string {
	if r.other.Empty() {
		return nil
	}
	return []string{"files with other content than Kubernetes objects " + r.other.String()}
}

// Tally counts files or objects, and has the names of the first three.
type Tally struct {
	count int
	names []string
}

// Add adds a name, which is safe to print.
func (t *Tally) Add(name string) {
	if t.count++; t.count <= 3 {
		t.names = append(t.names, name)
	}
}

// Empty reports whether nothing was added.
func (t *Tally) Empty() bool { return t.count == 0 }

// String returns "(2): a, b" or "(9): a, b, c, …".
func (t *Tally) String() string {
	names := strings.Join(t.names, ", ")
	if t.count > len(t.names) {
		names += ", …"
	}
	return fmt.Sprintf("(%d): %s", t.count, names)
}

// Shown makes a name safe for a terminal. A name in an archive can have any characters.
func Shown(name string) string {
	const longest = 200
	if len(name) > longest {
		name = strings.ToValidUTF8(name[:longest], "") + "…"
	}
	if strings.IndexFunc(name, func(r rune) bool { return !unicode.IsPrint(r) || r == unicode.ReplacementChar }) < 0 {
		return name
	}
	return strconv.Quote(name)
}

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
