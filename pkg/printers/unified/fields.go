// SPDX-License-Identifier: Apache-2.0

// Package unified writes the fields of an object that differ as YAML, one document for each side, and compares the
// documents line by line. The documents have only printable characters, tabs and line ends. Values of Secrets are
// masked in them, as in the report.
package unified

import (
	"fmt"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

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
		out.body = append(out.body, Line{fmt.Sprintf("# [%d]", *n.step.Index), n.first})
	}
	out.item(r, n.first)
}
