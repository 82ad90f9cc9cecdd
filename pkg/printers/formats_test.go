// SPDX-License-Identifier: Apache-2.0

package printers_test

import (
	"bytes"
	"io"
	"slices"
	"testing"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/output"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/printers"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/printers/comparepatches"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/printers/junit"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/printers/openreports"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/printers/prometheus"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/printers/sarif"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

// formats are the formats with golden files. The templates print the whole document, or a column of it.
var (
	formats   = []string{"table", "wide", "json", "yaml", "name"}
	templates = []string{"jsonpath={}", "jsonpath-as-json={}", "go-template={{.}}", "custom-columns=A:.name,B:.resources,C:.objects,D:.overwrites"}
)

// printIn writes a document in a format of -o.
func printIn(w io.Writer, format string, d output.Document) error {
	f := output.NewPrintFlags()
	f.Format = format
	show, err := f.ToPrinter()
	if err != nil {
		return err
	}
	return show(w, d)
}

func shown(t *testing.T, format string, d output.Document) string {
	t.Helper()
	var b bytes.Buffer
	if err := printIn(&b, format, d); err != nil {
		t.Fatalf("printing -o %s: %v", format, err)
	}
	return b.String()
}

// printed is the report in every format.
func printed(t *testing.T, a *report.Audit) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, format := range slices.Concat(formats, templates) {
		out[format] = shown(t, format, printers.Audit(a, printers.Options{Diff: true}))
	}
	for format, write := range ofAudits {
		var b bytes.Buffer
		if err := write(&b, a); err != nil {
			t.Fatalf("printing -o %s: %v", format, err)
		}
		out[format] = b.String()
	}
	return out
}

// ofAudits are formats that only an audit has.
var ofAudits = map[string]func(io.Writer, *report.Audit) error{"compare-patches": comparepatches.Write, "junit": junit.Write, "openreports": openreports.Write,
	"prometheus": prometheus.Write, "sarif": sarif.Write}
