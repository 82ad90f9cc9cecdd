// SPDX-License-Identifier: Apache-2.0

// Package printers lays out the documents of pkg/report for people. A layout turns a report into sections of paragraphs
// and tables, and a renderer writes these as text. A printer computes nothing. The formats for programs need no layout:
// pkg/cmd/output encodes Content and Rows.
package printers

import (
	"bytes"
	"io"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/escape"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

// Document is a document of pkg/report with its layout.
type Document struct {
	options       Options
	content, rows any
	// show is the layout, and names the objects that need attention as arguments of kubectl.
	show  func(*layout)
	names func() []string
}

// Content is the document of pkg/report.
func (d Document) Content() any { return d.content }

// Rows is the list in the document that has one row per element.
func (d Document) Rows() any { return d.rows }

// Table writes the document for people.
func (d Document) Table(w io.Writer, wide bool) error {
	l := &layout{Options: d.options, wide: wide, said: map[string]bool{}}
	d.show(l)
	_, err := io.WriteString(w, l.renderer().document(l.sections))
	return err
}

// Names writes the objects of the document that need attention, one object per line.
func (d Document) Names(w io.Writer) error {
	var b bytes.Buffer
	for _, name := range d.names() {
		b.WriteString(escape.Line(name) + "\n")
	}
	_, err := b.WriteTo(w)
	return err
}

const bundleDeployment = "bundledeployment.fleet.cattle.io"

// argument is a name as kubectl reads it, KIND.GROUP/NAME, after the flag for its namespace: the objects are of many
// namespaces. A bundle deployment of which only the release is known (on a downstream cluster) has no namespace.
func argument(namespace, kind, name string) string {
	flag := ""
	if namespace != "" {
		flag = "-n " + escape.Shell(namespace) + " "
	}
	return flag + escape.Shell(kind+"/"+name)
}

// arguments names the elements of a list that need attention.
func arguments[T any](list []T, needs func(T) bool, name func(T) string) func() []string {
	return func() []string {
		var out []string
		for _, x := range list {
			if needs(x) {
				out = append(out, name(x))
			}
		}
		return out
	}
}

func argumentOf(r object.Ref) string { return argument(r.Namespace, r.Key().Type(), r.Name) }

// layout collects the sections of a document for people.
type layout struct {
	Options
	wide     bool
	sections [][]block
	// said are the effects of commands that were shown.
	said map[string]bool
	// done is true if the next block begins a section.
	done bool
}

// add adds a block to the present section.
func (l *layout) add(b block) {
	if l.done || len(l.sections) == 0 {
		l.sections, l.done = append(l.sections, nil), false
	}
	last := len(l.sections) - 1
	l.sections[last] = append(l.sections[last], b)
}

// addAll adds the blocks of sections to the present section.
func (l *layout) addAll(sections ...[]block) {
	for _, s := range sections {
		for _, b := range s {
			l.add(b)
		}
	}
}

// end ends a section: an empty line separates it from the next one.
func (l *layout) end() { l.done = true }

// aside returns the sections that a function adds.
func (l *layout) aside(show func(*layout)) [][]block {
	other := *l
	other.sections, other.done = nil, false
	show(&other)
	return other.sections
}

// line adds a line that is not wrapped.
func (l *layout) line(parts ...any) { l.add(paragraph{before: join(parts...)}) }

// title adds a line that begins a section.
func (l *layout) title(s string) { l.line(bold(s)) }

// say adds a text in lines that begin with an indent.
func (l *layout) say(indent, s string) { l.paint(indent, plain, s) }

// paint adds a text as say does, in a style.
func (l *layout) paint(indent string, as style, s string) {
	if words := wordsOf(s); len(words) > 0 {
		l.add(paragraph{before: join(indent), words: words, rest: len(indent), style: as})
	}
}

// hang adds a text that continues a line. The lines after the first one are indented by rest.
func (l *layout) hang(rest int, s string, before ...any) {
	l.add(paragraph{before: join(before...), words: wordsOf(s), rest: rest})
}

// sentences adds sentences as say does. Empty ones are left out.
func (l *layout) sentences(indent string, all ...string) {
	for _, s := range all {
		if s != "" {
			l.say(indent, sentence(s)+".")
		}
	}
}

// suggest adds a command, if there is one.
func (l *layout) suggest(command string) {
	if command != "" {
		l.line(arrow, command)
	}
}

// arrow begins a command.
var arrow = join(faint("→"), " ")

// renderer returns the renderer for the output.
func (l *layout) renderer() renderer { return renderer{colour: l.Colour, columns: l.columns()} }

// fits reports whether tables are fitted to the width of a terminal. Elsewhere a program such as grep reads them:
// names are whole.
func (l *layout) fits() bool { return l.Width > 0 && !l.wide }

// columns is the width of the output.
func (l *layout) columns() int {
	if l.Width <= 0 {
		return width
	}
	return max(l.Width, minWidth)
}

// atMost shortens a name or a state on a terminal, so that a table keeps its width.
func (l *layout) atMost(s string, n int) string {
	if !l.fits() {
		return s
	}
	return short(s, n)
}

// inset is the indent of the lines below the first line of a finding.
const inset = "          "

// Options configure how a document is shown to people.
type Options struct {
	Colour bool
	// Diff shows each field that differs, with both values.
	Diff bool
	// Full shows long values in full.
	Full bool
	// ExternalDiff is called instead of showing the values of an object's fields that differ. The cluster is empty if
	// the document is about one cluster.
	ExternalDiff func(cluster string, ref object.Ref, differences []report.Difference)
	// Width is the number of columns of the terminal; 0 if the output is no terminal.
	Width int
	// Rows is the number of lines that the first screen of an audit may have; 0 if the output is no terminal.
	Rows int
	// Redrawn is true for a screen that is redrawn: every document must fit Rows.
	Redrawn bool
	// NoHeaders omits the first line, which names the source, and the headers of tables.
	NoHeaders bool
	// All also shows ready bundle deployments, correct totals and informational findings, and lists in full. Summary
	// shows only the result.
	All, Summary bool
	// By counts the bundle deployments by one of By: an audit then is an overview.
	By string
	// Details is the audit to which the name of a bundle is added, Again this audit, and Repair the repair of all that
	// was audited; empty if they are not suggested.
	Details, Again, Repair string
	// Sorted is true if the user chose the order of the rows.
	Sorted bool
	// PrintRole is the command that prints a role which may read what could not be read; empty if it is not suggested.
	PrintRole string
	// ReadClusters is the command that also reads other clusters; empty if it is not suggested.
	ReadClusters string
	// Undo is the command that undoes an adoption, without the file of the receipt.
	Undo string
}
