// SPDX-License-Identifier: Apache-2.0

package printers

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/olekukonko/tablewriter"
	"github.com/olekukonko/tablewriter/renderer"
	"github.com/olekukonko/tablewriter/tw"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

// column is one column of the table of bundle deployments.
type column struct {
	header string
	right  bool
	wide   bool // only in the wide table
	cell   func(t text, bd *report.BundleDeployment) string
}

var columns = []column{
	{header: "BUNDLE DEPLOYMENT", cell: func(t text, bd *report.BundleDeployment) string { return t.name(bd) }},
	{header: "CLUSTER", wide: true, cell: func(_ text, bd *report.BundleDeployment) string { return printable(bd.Cluster) }},
	{header: "STATE", wide: true, cell: func(_ text, bd *report.BundleDeployment) string { return string(bd.State) }},
	{header: "READY", right: true, cell: ready},
	{header: "FLEET SAYS", right: true, cell: fleetSays},
	{header: "MISSING", right: true, cell: number(red, func(c report.Counts) int { return c.Missing })},
	{header: "UNOWNED", right: true, cell: number(red, func(c report.Counts) int { return c.Unowned })},
	{header: "MODIFIED", right: true, cell: number(yellow, func(c report.Counts) int { return c.Modified })},
	{header: "ORPHANED", right: true, cell: number(yellow, func(c report.Counts) int { return c.Orphaned })},
	{header: "NOT READY", right: true, cell: number(yellow, func(c report.Counts) int { return c.NotReady })},
	{header: "UNKNOWN", right: true, cell: number(yellow, func(c report.Counts) int { return c.Unknown })},
	{header: "FLEET STATE", wide: true, cell: func(_ text, bd *report.BundleDeployment) string {
		if bd.Reported == nil {
			return ""
		}
		return printable(bd.Reported.State)
	}},
	{header: "RELEASE", wide: true, cell: func(_ text, bd *report.BundleDeployment) string { return printable(bd.Release) }},
	{header: "SET ID", wide: true, cell: func(_ text, bd *report.BundleDeployment) string { return printable(bd.SetID) }},
}

// maxName is how much of a name the narrow table shows; the findings below it, and the wide table, show it whole.
const maxName = 23

func (t text) name(bd *report.BundleDeployment) string {
	if t.wide {
		return printable(strings.TrimPrefix(bd.Namespace+"/"+bd.Name, "/"))
	}
	return short(bd.Name, maxName)
}

// short cuts a name down to n columns.
func short(s string, n int) string {
	s = printable(s)
	if span(s) <= n {
		return s
	}
	name := []rune(s)
	for name = name[:min(len(name), n-1)]; span(string(name)) > n-1; {
		name = name[:len(name)-1]
	}
	return string(name) + "…"
}

func ready(t text, bd *report.BundleDeployment) string {
	switch {
	case bd.Counts.Desired == 0 && bd.State == report.Unknown || bd.Reason != "":
		return t.colour(yellow, "?")
	case bd.Counts.Ready < bd.Counts.Desired:
		return t.colour(red, fraction(bd.Counts.Ready, bd.Counts.Desired))
	}
	return t.colour(green, fraction(bd.Counts.Ready, bd.Counts.Desired))
}

func fleetSays(_ text, bd *report.BundleDeployment) string {
	switch {
	case bd.Reported == nil:
		return "-"
	case bd.Reported.Ready == nil:
		return printable(bd.Reported.State)
	}
	return fraction(*bd.Reported.Ready, *bd.Reported.DesiredReady)
}

func number(code string, of func(report.Counts) int) func(text, *report.BundleDeployment) string {
	return func(t text, bd *report.BundleDeployment) string {
		n := of(bd.Counts)
		if n == 0 {
			return "-"
		}
		return t.colour(code, strconv.Itoa(n))
	}
}

func fraction(a, b int) string { return fmt.Sprintf("%d/%d", a, b) }

// deployments is one line a bundle deployment.
func (t text) deployments(b *bytes.Buffer, a *report.Audit) error {
	var header []string
	var right []bool
	var shown []column
	for _, c := range columns {
		if c.wide && !t.wide {
			continue
		}
		header, right, shown = append(header, c.header), append(right, c.right), append(shown, c)
	}
	many := !t.wide && slices.ContainsFunc(a.BundleDeployments, func(bd report.BundleDeployment) bool { return bd.Cluster != a.BundleDeployments[0].Cluster })
	var rows [][]string
	for i := range a.BundleDeployments {
		bd := &a.BundleDeployments[i]
		if many && (i == 0 || bd.Cluster != a.BundleDeployments[i-1].Cluster) { // a line of its own takes less width than a column
			rows = append(rows, append([]string{short(cmp.Or(bd.Cluster, "cluster not known"), maxName)}, make([]string, len(shown)-1)...))
		}
		var row []string
		for _, c := range shown {
			row = append(row, c.cell(t, bd))
		}
		if many {
			row[0] = "  " + short(bd.Name, maxName-2)
		}
		rows = append(rows, row)
	}
	return table(b, header, right, rows)
}

// claims are the aggregates whose own numbers are not the true ones.
func (t text) claims(b *bytes.Buffer, a *report.Audit) error {
	var rows [][]string
	for _, level := range []struct {
		kind string
		list []report.Aggregate
	}{{"gitrepo", a.GitRepos}, {"helmop", a.HelmOps}, {"cluster", a.Clusters}} {
		for _, g := range level.list {
			r := g.Reported
			if r == nil || r.Ready == nil || *r.Ready == g.Actual.Counts.Ready && *r.DesiredReady == g.Actual.Counts.Desired && !t.wide {
				continue
			}
			rows = append(rows, []string{level.kind + " " + printable(g.Namespace+"/"+g.Name),
				fraction(g.Actual.Counts.Ready, g.Actual.Counts.Desired), fraction(*r.Ready, *r.DesiredReady), printable(r.State)})
		}
	}
	if len(rows) == 0 {
		return nil
	}
	return table(b, []string{"SUMMED UP", "READY", "FLEET SAYS", "STATE"}, []bool{false, true, true, false}, rows)
}

// table writes rows as kubectl does: no lines, columns apart by two spaces, none behind the last; a blank line at the end.
func table(b *bytes.Buffer, header []string, right []bool, rows [][]string) error {
	var padded bytes.Buffer
	if err := render(&padded, header, right, rows); err != nil {
		return err
	}
	for line := range strings.Lines(padded.String()) {
		b.WriteString(strings.TrimRight(line, " \n") + "\n")
	}
	b.WriteByte('\n')
	return nil
}

func render(b *bytes.Buffer, header []string, right []bool, rows [][]string) error {
	align := make([]tw.Align, len(right))
	for i := range right {
		align[i] = tw.AlignLeft
		if right[i] {
			align[i] = tw.AlignRight
		}
	}
	cells := func(format tw.State) tw.CellConfig {
		return tw.CellConfig{
			Formatting: tw.CellFormatting{AutoWrap: tw.WrapNone, AutoFormat: format},
			Alignment:  tw.CellAlignment{PerColumn: align},
			Padding:    tw.CellPadding{Global: tw.Padding{Left: tw.Empty, Right: "  ", Overwrite: true}},
		}
	}
	out := tablewriter.NewTable(b,
		tablewriter.WithRenderer(renderer.NewBlueprint(tw.Rendition{
			Borders: tw.BorderNone,
			Settings: tw.Settings{
				Separators: tw.Separators{BetweenColumns: tw.Off, BetweenRows: tw.Off, ShowHeader: tw.Off},
				Lines:      tw.Lines{ShowHeaderLine: tw.Off, ShowTop: tw.Off, ShowBottom: tw.Off},
			},
		})),
		tablewriter.WithConfig(tablewriter.Config{Header: cells(tw.Off), Row: cells(tw.Off)}),
	)
	out.Header(header)
	if err := out.Bulk(rows); err != nil {
		return err
	}
	return out.Render()
}
