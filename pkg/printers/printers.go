// SPDX-License-Identifier: Apache-2.0

// Package printers lays out the documents of pkg/report for people. A printer computes nothing. The formats for programs need no layout:
// pkg/cmd/output encodes Content and Rows.
package printers

// Options say how a document is shown to people.
type Options struct {
	Colour bool
	// Diff shows each field that differs, with both values.
	Diff bool
	// PrintRole is the command that prints a role which may read what could not be read. Empty, it is not suggested.
	PrintRole string
	// Undo is the command that undoes an adoption; the receipt's file is appended.
	Undo string
}
