// SPDX-License-Identifier: Apache-2.0

package digest

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"sigs.k8s.io/yaml"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/escape"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/secret"
)

// The libraries for YAML fold long lines, and write a text with a tab, a carriage return or a blank at the end
// of a line as one line. The change of one line would then be a change of the whole text. So this file writes YAML
// itself, with one line for each line of a text.

// style is how texts are written. It is the same for all sides of a difference, so that equal lines are equal in
// the documents.
type style struct {
	// quoted writes texts of several lines in double quotes, which show characters that are not printable, and
	// blanks at the end of a line.
	quoted bool
	// lines writes a text of one line as a text of several lines.
	lines bool
}

func styleOf(values ...report.Value) style {
	var s style
	ends := map[string]bool{} // the lines that end with a blank, over all sides
	var perSide []map[string]bool
	for _, v := range values {
		if v.IsZero() {
			continue
		}
		side := map[string]bool{}
		secret.Leaves(v.Shown(), func(text string) {
			s.quoted = s.quoted || !plainText(text)
			for line := range strings.Lines(text) {
				if line = strings.TrimSuffix(line, "\n"); strings.TrimRight(line, " \t") != line {
					side[line], ends[line] = true, true
				}
			}
		})
		text, isText := v.Shown().(string)
		s.lines = s.lines || isText && strings.Contains(text, "\n")
		perSide = append(perSide, side)
	}
	for _, side := range perSide {
		s.quoted = s.quoted || len(side) != len(ends)
	}
	return s
}

// plainText reports whether a text can be printed as it is.
func plainText(s string) bool { return utf8.ValidString(s) && escape.Text(s) == s }

// block is a rendered value: a scalar, which begins with head in the line of its key, or the lines of a mapping or
// a sequence.
type block struct {
	kind kind
	head string
	body []DiffLine
}

type kind int

const (
	scalar kind = iota
	mapping
	sequence
)

// entry adds a key with its value to a mapping.
func (b *block) entry(key string, r block, difference int) {
	head := valueText(key) + ":"
	if r.kind == scalar {
		head += " " + r.head
	}
	b.body = append(b.body, DiffLine{head, difference})
	indent := "  "
	if r.kind == sequence {
		indent = "" // as kubectl writes it
	}
	b.indented(indent, r.body)
}

// item adds an element to a sequence.
func (b *block) item(r block, difference int) {
	switch {
	case r.kind == scalar:
		b.body = append(b.body, DiffLine{"- " + r.head, difference})
		b.indented("  ", r.body)
	case len(r.body) == 0:
		b.body = append(b.body, DiffLine{"- {}", difference})
	default:
		b.body = append(b.body, DiffLine{"- " + r.body[0].Text, difference})
		b.indented("  ", r.body[1:])
	}
}

func (b *block) indented(indent string, lines []DiffLine) {
	for _, line := range lines {
		if line.Text != "" {
			line.Text = indent + line.Text
		}
		b.body = append(b.body, line)
	}
}

// value renders decoded JSON.
func (s style) value(v any, difference int) block {
	switch v := v.(type) {
	case map[string]any:
		if len(v) == 0 {
			return block{head: "{}"}
		}
		out := block{kind: mapping}
		for _, key := range sortedKeys(v) {
			out.entry(key, style{quoted: s.quoted}.value(v[key], difference), difference)
		}
		return out
	case []any:
		if len(v) == 0 {
			return block{head: "[]"}
		}
		out := block{kind: sequence}
		for _, e := range v {
			out.item(style{quoted: s.quoted}.value(e, difference), difference)
		}
		return out
	case string:
		switch {
		case !s.lines && !strings.Contains(v, "\n"):
			return block{head: valueText(v)}
		case s.quoted:
			return quoted(v, difference)
		}
		return literal(v, difference)
	}
	return block{head: asJSON(v)}
}

// literal renders a text of several lines as it is.
func literal(s string, difference int) block {
	lines := strings.Split(s, "\n")
	head := "|"
	for _, line := range lines {
		if line != "" {
			if line[0] == ' ' || line[0] == '\t' {
				head = "|2" // otherwise these characters would belong to the indent
			}
			break
		}
	}
	last := len(lines) - 1
	switch {
	case lines[last] != "":
		head += "-" // no line end
	case last == 0:
		return block{head: `""`}
	case last > 1 && lines[last-1] == "" || s == "\n":
		head, lines = head+"+", lines[:last]
	default:
		lines = lines[:last]
	}
	out := block{head: head}
	for _, line := range lines {
		out.body = append(out.body, DiffLine{line, difference})
	}
	return out
}

// quoted renders a text in double quotes, with one line for each of its lines. An escaped line end is no part
// of the text.
func quoted(s string, difference int) block {
	var lines []string
	for line := range strings.Lines(s) {
		q := strconv.Quote(line)
		q = q[1 : len(q)-1]
		if len(lines) > 0 && strings.HasPrefix(q, " ") {
			q = `\` + q // otherwise the blank would belong to the indent
		}
		lines = append(lines, q)
	}
	out := block{head: `"`}
	for i, line := range lines {
		end := `\`
		if i == len(lines)-1 {
			end = `"`
		}
		if i == 0 {
			out.head += line + end
			continue
		}
		out.body = append(out.body, DiffLine{line + end, difference})
	}
	if len(lines) == 0 {
		out.head = `""`
	}
	return out
}

// begins is how a text begins that can be written without quotes, unless it has another meaning, such as a number.
var begins = regexp.MustCompile(`^([\pL\pN_./$(]|-[^ ])`)

// valueText renders a key, or a text in one line: without quotes if it is then read as the same text.
func valueText(s string) string {
	switch {
	case !plainText(s) || strings.ContainsAny(s, "\n\t"):
		return strconv.Quote(s)
	case begins.MatchString(s) && readsAs(s, s):
		return s
	case strings.ContainsAny(s, `"\`):
		return "'" + strings.ReplaceAll(s, "'", "''") + "'"
	}
	return `"` + s + `"`
}

// readsAs reports whether a text in YAML is read as a string.
func readsAs(inYAML, s string) bool {
	var read []any
	err := yaml.Unmarshal([]byte("- "+inYAML), &read)
	return err == nil && len(read) == 1 && read[0] == s
}

func sortedKeys(m map[string]any) []string { return slices.Sorted(maps.Keys(m)) }

// Side selects the value of one side of a difference.
type Side func(*report.Difference) report.Value

// The sides of a difference. A field without a value in the release record has the desired value there.
var (
	Bundle  Side = func(d *report.Difference) report.Value { return d.Desired }
	Cluster Side = func(d *report.Difference) report.Value { return d.Live }
	Release Side = func(d *report.Difference) report.Value {
		if d.Release.IsZero() {
			return d.Desired
		}
		return d.Release
	}
)

// Fields are the differences of an object as a tree of their paths.
type Fields struct {
	differences []report.Difference
	styles      []style
	root        node
}

// node is a field, a map key or an element of a list. It has a value or children.
type node struct {
	step     report.Step
	children []*node
	byStep   map[string]*node
	leaf     bool
	first    int // the first difference below it
}

// NewFields returns the tree of differences.
func NewFields(differences []report.Difference) *Fields {
	f := &Fields{differences: differences, styles: make([]style, len(differences)),
		root: node{byStep: map[string]*node{}}}
	for i := range differences {
		d := &differences[i]
		f.styles[i] = styleOf(d.Desired, d.Live, d.Release)
		if len(d.Steps) == 0 || !f.root.add(d.Steps, i) {
			f.root.add([]report.Step{{Name: d.Path}}, i) // the whole path as one key
		}
	}
	return f
}

// add adds a difference. It returns false if a field above or below it differs too, and the tree cannot show both.
func (n *node) add(steps []report.Step, difference int) bool {
	for _, s := range steps {
		if n.leaf {
			return false
		}
		id := identity(s)
		child := n.byStep[id]
		if child == nil {
			child = &node{step: s, byStep: map[string]*node{}, first: difference}
			n.byStep[id] = child
			n.children = append(n.children, child)
		}
		n = child
	}
	if n.leaf || len(n.children) > 0 {
		return false
	}
	n.leaf = true
	return true
}

// identity distinguishes the steps below one node.
func identity(s report.Step) string { return asJSON([]any{s.Key, s.Member, s.Index}) + s.Name }

func isElement(s report.Step) bool { return s.Key != nil || s.Member != nil || s.Index != nil }

// Document returns the YAML of one side. Fields that contain a difference are in the documents of both sides.
func (f *Fields) Document(side Side) Document {
	return Document(f.below(&f.root, side).body)
}

// below renders the children of a node.
func (f *Fields) below(n *node, side Side) block {
	out := block{kind: mapping}
	for _, child := range n.children {
		var r block
		if child.leaf {
			v := side(&f.differences[child.first])
			if v.IsZero() {
				continue
			}
			r = f.styles[child.first].value(v.Shown(), child.first)
		} else {
			r = f.below(child, side)
		}
		if isElement(child.step) {
			out.kind = sequence
			f.element(&out, child, r)
			continue
		}
		out.entry(child.step.Name, r, child.first)
	}
	return out
}

// element adds an element of a list. An element that contains a difference begins with the fields that identify it.
func (f *Fields) element(out *block, n *node, r block) {
	if !n.leaf {
		whole := block{kind: r.kind}
		for _, key := range sortedKeys(n.step.Key) {
			whole.entry(key, style{}.value(n.step.Key[key], n.first), n.first)
		}
		whole.body = append(whole.body, r.body...)
		r = whole
	}
	if n.step.Index != nil {
		out.body = append(out.body, DiffLine{fmt.Sprintf("# [%d]", *n.step.Index), n.first})
	}
	out.item(r, n.first)
}
