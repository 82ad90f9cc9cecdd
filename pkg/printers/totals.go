// SPDX-License-Identifier: Apache-2.0

package printers

import (
	"slices"
	"strconv"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

// totals shows the numbers of a report: of objects by state, of findings by code, and of what could not be read.
func (t text) totals(a *report.Audit) {
	if n := len(a.Gaps); n > 0 {
		t.painted("", yellow, plural(n, "gap")+" in what was read: run the audit without --summary to list "+
			them(n)+".")
		t.line("")
	}
	all := report.BundleDeployment{Name: "objects", Counts: a.Summary.Counts, State: report.Ready}
	if all.Counts.Desired > 0 {
		objects := t.grid([]column{{header: "TOTAL"}})
		row := []string{all.Name}
		for _, c := range columns {
			if c.count || c.header == "READY" {
				objects.columns = append(objects.columns, c)
				row = append(row, c.cell(t, &all))
			}
		}
		objects.rows = [][]string{row}
		objects.fit()
		t.table(objects)
	}
	if codes := t.codes(a.Findings); len(codes.rows) > 0 {
		t.table(codes)
		t.explain(a)
	}
}

// codes is the table of the findings by code, the most severe ones first.
func (t text) codes(findings []report.Finding) grid {
	codes := grouped(findings, func(f report.Finding) string { return f.Code })
	slices.SortStableFunc(codes, func(x, y []report.Finding) int { return x[0].Severity.Compare(y[0].Severity) })
	g := t.grid([]column{{header: "CODE"}, {header: "SEVERITY"}, {header: "FINDINGS", right: true},
		{header: "MEANING"}})
	for _, list := range codes {
		g.rows = append(g.rows, []string{printable(list[0].Code), t.word(string(list[0].Severity)),
			strconv.Itoa(len(list)), ""})
	}
	left := t.columns() - g.span() + span("MEANING")
	for i, list := range codes {
		g.rows[i][3] = printable(list[0].Title)
		if t.fits() {
			g.rows[i][3] = cut(g.rows[i][3], left)
		}
	}
	return g
}
