// SPDX-License-Identifier: Apache-2.0

// Package printers shows a report. There is one file a format; a printer is a function of the report and a writer, and computes nothing.
package printers

import (
	"fmt"
	"io"

	"al.essio.dev/pkg/shellescape"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/escape"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

// Options say how a report is shown; machine formats ignore them.
type Options struct {
	Colour bool
	// Diff shows each field that differs, with both values.
	Diff bool
	// PrintRole is the command that prints a role which may read what was not read. Empty, it is not suggested.
	PrintRole string
	// Undo is the command that takes back an adoption, but for the receipt.
	Undo string
}

// Printer shows a report.
type Printer func(io.Writer, *report.Audit) error

// Formats lists the formats, the default first.
var Formats = []string{"table", "wide", "json", "yaml", "name"}

// New returns the printer of a format.
func New(format string, o Options) (Printer, error) {
	switch format {
	case "table":
		return text{Options: o}.print, nil
	case "wide":
		return text{Options: o, wide: true}.print, nil
	case "json":
		return func(w io.Writer, a *report.Audit) error { return writeJSON(w, a) }, nil
	case "yaml":
		return func(w io.Writer, a *report.Audit) error { return writeYAML(w, a) }, nil
	case "name":
		return printNames, nil
	}
	return nil, noFormat(format)
}

func noFormat(format string) error {
	return fmt.Errorf("choosing a printer: there is no format %q", format)
}

func writeJSON(w io.Writer, document any) error { return escape.EncodeJSON(w, document, "  ") }

func writeYAML(w io.Writer, document any) error {
	b, err := escape.EncodeYAML(document)
	if err != nil {
		return err
	}
	_, err = w.Write(b)
	return err
}

// printNames prints the bundle deployments that are not ready as arguments of kubectl, one a line: "-n NAMESPACE KIND/NAME". On a downstream
// cluster, where only their releases are known, they have no namespace.
func printNames(w io.Writer, a *report.Audit) error {
	for _, bd := range a.BundleDeployments {
		if bd.State == report.Ready {
			continue
		}
		if err := printName(w, bd.Namespace, "bundledeployment.fleet.cattle.io", bd.Name); err != nil {
			return err
		}
	}
	return nil
}

func printName(w io.Writer, namespace, kind, name string) error {
	args := shellescape.Quote(kind + "/" + name)
	if namespace != "" {
		args = "-n " + shellescape.Quote(namespace) + " " + args
	}
	_, err := fmt.Fprintln(w, printable(args))
	return err
}
