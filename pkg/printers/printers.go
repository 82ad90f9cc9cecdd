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
	table, names  func(text)
}

// Content is the document of pkg/report.
func (d Document) Content() any { return d.content }

// Rows is the list in the document that has one row per element.
func (d Document) Rows() any { return d.rows }

// Table writes the document for people.
func (d Document) Table(w io.Writer, wide bool) error {
	return d.write(w, wide, d.table)
}

// Names writes the objects of the document that need attention as arguments of kubectl, one object per line.
func (d Document) Names(w io.Writer) error {
	return d.write(w, false, d.names)
}

func (d Document) write(w io.Writer, wide bool, show func(text)) error {
	var b bytes.Buffer
	var failed error
	show(text{Options: d.options, wide: wide, said: map[string]bool{}, out: &b, failed: &failed})
	if failed != nil {
		return failed
	}
	if b.Len() == 0 {
		return nil
	}
	_, err := w.Write(append(bytes.TrimRight(b.Bytes(), "\n"), '\n')) // the last part ends with an empty line
	return err
}

const bundleDeployment = "bundledeployment.fleet.cattle.io"

func (t text) objectName(r object.Ref) { t.name(r.Namespace, r.Key().Type(), r.Name) }

// name prints a name as kubectl does, KIND.GROUP/NAME, after the flag for its namespace: the objects are of many
// namespaces. A bundle deployment of which only the release is known (on a downstream cluster) has no namespace.
func (t text) name(namespace, kind, name string) {
	flag := ""
	if namespace != "" {
		flag = "-n " + escape.Shell(namespace) + " "
	}
	t.line(printable(flag + escape.Shell(kind+"/"+name)))
}
