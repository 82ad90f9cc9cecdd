// SPDX-License-Identifier: Apache-2.0

// Package printers lays out the documents of pkg/report for people. A printer computes nothing. The formats for
// programs need no layout: pkg/cmd/output encodes Content and Rows.
package printers

import (
	"bytes"
	"io"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/escape"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

// Options configure how a document is shown to people.
type Options struct {
	Colour bool
	// Diff shows each field that differs, with both values.
	Diff bool
	// Full shows long values in full.
	Full bool
	// ExternalDiff is called instead of showing the values of an object's fields that differ. The cluster is empty if
	// the document is about one cluster.
	ExternalDiff func(cluster string, of object.Ref, differences []report.Difference)
	// Width is the number of columns of the terminal; 0 if the output is no terminal.
	Width int
	// Rows is the number of lines of a screen that is redrawn, which the document must fit; 0 without one.
	Rows int
	// NoHeaders omits the first line, which names the source, and the headers of tables.
	NoHeaders bool
	// All also shows ready bundle deployments, correct totals and informational findings, and lists in full. Summary
	// shows only totals.
	All, Summary bool
	// Sorted is true if the user chose the order of the rows.
	Sorted bool
	// PrintRole is the command that prints a role which may read what could not be read; empty if it is not suggested.
	PrintRole string
	// ReadClusters is the command that also reads other clusters; empty if it is not suggested.
	ReadClusters string
	// Explain is the command that explains the code of a finding; empty if it is not suggested.
	Explain string
	// Undo is the command that undoes an adoption, without the file of the receipt.
	Undo string
}

// Document is a document of pkg/report with its layout.
type Document struct {
	options       Options
	content, rows any
	table         func(text, *bytes.Buffer) error
	names         func(*bytes.Buffer)
}

// Content is the document of pkg/report.
func (d Document) Content() any { return d.content }

// Rows is the list in the document that has one row per element.
func (d Document) Rows() any { return d.rows }

// Table writes the document for people.
func (d Document) Table(w io.Writer, wide bool) error {
	return written(w, func(b *bytes.Buffer) error { return d.table(text{d.options, wide, map[string]bool{}}, b) })
}

// Names writes the objects of the document that need attention as arguments of kubectl, one object per line.
func (d Document) Names(w io.Writer) error {
	return written(w, func(b *bytes.Buffer) error { d.names(b); return nil })
}

func written(w io.Writer, show func(*bytes.Buffer) error) error {
	var b bytes.Buffer
	if err := show(&b); err != nil {
		return err
	}
	_, err := w.Write(b.Bytes())
	return err
}

// Audit lays out the report of an audit. Its names are the bundle deployments that are not ready, or that have no
// result.
func Audit(a *report.Audit, o Options) Document {
	return Document{o, a, a.BundleDeployments, func(t text, b *bytes.Buffer) error {
		return t.audit(b, a)
	}, func(b *bytes.Buffer) {
		for _, bd := range a.BundleDeployments {
			if bd.State != report.Ready {
				printName(b, bd.Namespace, bundleDeployment, bd.Name)
			}
		}
	}}
}

// Preflight lays out a preflight report. Its names are the bundle deployments with a verdict other than OK.
func Preflight(p *report.Preflight, o Options) Document {
	return Document{o, p, p.BundleDeployments, func(t text, b *bytes.Buffer) error { t.preflight(b, p); return nil },
		func(b *bytes.Buffer) {
			for _, r := range p.BundleDeployments {
				if r.Verdict != report.VerdictOK {
					printName(b, r.Namespace, bundleDeployment, r.Name)
				}
			}
		}}
}

// Adoption lays out the plan of an adoption, or its result. Its names are the objects that the plan changes.
func Adoption(a *report.Adoption, o Options) Document {
	return Document{o, a, a.Objects, func(t text, b *bytes.Buffer) error { t.adoption(b, a); return nil },
		func(b *bytes.Buffer) {
			for _, o := range a.Objects {
				if o.Action != report.ActionRefuse && o.Action != report.ActionNone {
					objectName(b, o.Ref)
				}
			}
		}}
}

// Ownership lays out an owner report. Its names are the objects.
func Ownership(d *report.Ownership, o Options) Document {
	return Document{o, d, d.Objects, func(t text, b *bytes.Buffer) error { t.ownership(b, d); return nil },
		func(b *bytes.Buffer) {
			for _, o := range d.Objects {
				objectName(b, o.Ref)
			}
		}}
}

// Agents is the document of a report of agents. -o name lists the Clusters with findings.
func Agents(a *report.Agents, o Options) Document {
	return Document{o, a, a.Agents, func(t text, b *bytes.Buffer) error {
		return t.agents(b, a)
	}, func(b *bytes.Buffer) {
		for _, x := range a.Agents {
			if len(x.Findings) > 0 {
				printName(b, x.Namespace, "cluster.fleet.cattle.io", x.Name)
			}
		}
	}}
}

const bundleDeployment = "bundledeployment.fleet.cattle.io"

func objectName(b *bytes.Buffer, r object.Ref) { printName(b, r.Namespace, r.Key().Type(), r.Name) }

// printName prints a name as kubectl does, KIND.GROUP/NAME, after the flag for its namespace: the objects are of many
// namespaces. A bundle deployment of which only the release is known (on a downstream cluster) has no namespace.
func printName(b *bytes.Buffer, namespace, kind, name string) {
	if namespace != "" {
		b.WriteString(printable("-n " + escape.Shell(namespace) + " "))
	}
	b.WriteString(printable(escape.Shell(kind+"/"+name)) + "\n")
}
