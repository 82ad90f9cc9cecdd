// SPDX-License-Identifier: Apache-2.0

package printers_test

import (
	"bytes"
	"encoding/json"
	"io"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/output"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/printers"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/printers/export"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
	"github.com/fleetdoctor/kubectl-fleetdoctor/test/golden"
)

// formats are the formats that every document has. The templates print the whole document. custom-columns has a column
// for each field of the rows.
var (
	formats   = []string{"table", "wide", "json", "yaml", "name"}
	templates = []string{"jsonpath={}", "jsonpath-as-json={}", "go-template={{.}}", "custom-columns"}
)

// printIn writes a document in a format of -o.
func printIn(w io.Writer, format string, d output.Document) error {
	f := output.NewPrintFlags()
	f.Format = format
	if format == "custom-columns" {
		f.Format += "=NAME:.name" + allColumns(d)
	}
	show, err := f.ToPrinter()
	if err != nil {
		return err
	}
	return show(w, d)
}

// allColumns returns a column for each field that a row of a document has.
func allColumns(d output.Document) string {
	raw, err := json.Marshal(d.Rows())
	var rows []map[string]any
	if err != nil || json.Unmarshal(raw, &rows) != nil {
		return ""
	}
	fields := map[string]bool{}
	for _, row := range rows {
		for name := range row {
			fields[name] = true
		}
	}
	out := ""
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		out += "," + name + ":." + name
	}
	return out
}

func shown(t *testing.T, format string, d output.Document) string {
	t.Helper()
	var b bytes.Buffer
	if err := printIn(&b, format, d); err != nil {
		t.Fatalf("printing -o %s: %v", format, err)
	}
	return b.String()
}

// people are the outputs for people in one golden file.
type people struct{ golden.Sections }

// addDocument adds the tables and the names of a document, and returns its JSON. Its YAML must have the same values.
func (p *people) addDocument(t *testing.T, title string, d output.Document) string {
	t.Helper()
	table, wide := shown(t, "table", d), shown(t, "wide", d)
	if wide == table {
		p.Add(title+": table, wide", table)
	} else {
		p.Add(title+": table", table)
		p.Add(title+": wide", wide)
	}
	p.Add(title+": name", shown(t, "name", d))
	content := shown(t, "json", d)
	if diff := cmp.Diff(decode(t, content), decode(t, shown(t, "yaml", d))); diff != "" {
		t.Errorf("%s: YAML and JSON have different values (-json +yaml):\n%s", title, diff)
	}
	return content
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
var ofAudits = map[string]func(io.Writer, *report.Audit) error{"compare-patches": export.WriteComparePatches,
	"junit": export.WriteJUnit, "sarif": export.WriteSARIF, "html": export.WriteHTML, "markdown": export.WriteMarkdown}
