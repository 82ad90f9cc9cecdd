// SPDX-License-Identifier: Apache-2.0

package printers

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/printers/digest"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

// maxGaps is the number of gaps that a screen names.
const maxGaps = 3

// screen lays out an audit for a screen that is redrawn. It has at most t.Rows lines: the totals, what was not read,
// the bundle deployments, and the findings with one line each. Problems come first, and the last lines count what
// does not fit.
func (t text) screen(b *bytes.Buffer, a *report.Audit) error {
	t.head(b, "Audit of ", a.Source, "")
	t.summary(b, a)
	t.gapLines(b, a.Gaps)
	b.WriteByte('\n')
	var table, list bytes.Buffer
	if len(a.BundleDeployments) > 0 {
		if err := t.deployments(&table, a); err != nil {
			return err
		}
	}
	t.findingLines(&list, a)
	left := t.Rows - t.height(b.String())
	rows := strings.TrimRight(table.String(), "\n") + "\n"
	b.WriteString(page(rows, t.columns(), max(left-1-t.height(list.String()), left/2), "more line"))
	if left = t.Rows - t.height(b.String()) - 1; left > 0 && list.Len() > 0 {
		b.WriteByte('\n')
		b.WriteString(page(list.String(), t.columns(), left, "more finding"))
	}
	return nil
}

// height is the number of lines that a text has on the screen.
func (t text) height(s string) int {
	out := 0
	for line := range strings.Lines(s) {
		out += height(strings.TrimSuffix(line, "\n"), t.columns())
	}
	return out
}

// gapLines names what could not be read, one line each.
func (t text) gapLines(b *bytes.Buffer, gaps []report.Gap) {
	for i, g := range gaps {
		if i == maxGaps {
			fmt.Fprintf(b, "… and %s\n", plural(len(gaps)-i, "more gap"))
			return
		}
		fmt.Fprintln(b, t.colour(yellow, cut(printable("Not read: "+digest.What(&g)+": "+g.Why()), t.columns())))
	}
}

// findingLines shows the findings, the most severe ones first. Where there are several clusters, each line names its
// cluster.
func (t text) findingLines(b *bytes.Buffer, a *report.Audit) {
	findings := slices.Clone(a.Findings)
	slices.SortStableFunc(findings, func(x, y report.Finding) int { return x.Severity.Compare(y.Severity) })
	clusters := map[string]bool{}
	for _, f := range findings {
		if f.Cluster != "" {
			clusters[f.Cluster] = true
		}
	}
	for _, f := range findings {
		if f.Severity == report.Info && !t.informational(a) {
			continue
		}
		where := ""
		switch {
		case len(f.Clusters) > 0:
			where = fmt.Sprintf(" (%s)", plural(len(f.Clusters), "cluster"))
		case len(clusters) > 1 && f.Cluster != "":
			where = " (" + printable(f.Cluster) + ")"
		}
		before := fmt.Sprintf("%-7s %s  ", f.Severity, printable(f.Code))
		message := cut(printable(f.Message), t.columns()-span(before)-span(where))
		fmt.Fprintf(b, "%s%s%s\n", t.colour(severityColours[f.Severity], before), message, t.faint(where))
	}
}
