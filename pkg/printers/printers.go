// SPDX-License-Identifier: Apache-2.0

// Package printers lays out the documents of pkg/report for people. A printer computes nothing. The formats for
// programs need no layout: pkg/cmd/output encodes Content and Rows.
package printers

import (
	"bytes"
	"io"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/escape"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
)

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
