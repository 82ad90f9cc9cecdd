// SPDX-License-Identifier: Apache-2.0

package printers

import (
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
