// SPDX-License-Identifier: Apache-2.0

package printers

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/printers/digest"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

// maxGaps is the number of gaps that a screen names.
const maxGaps = 3

// screen lays out an audit for a screen that is redrawn. It has at most t.Rows lines: the totals, what was not read,
// the bundle deployments, and the findings with one line each. Problems come first, and the last lines count what
// does not fit.
func (t text) screen(a *report.Audit) {
	t.head("Audit of ", a.Source, "")
	t.summary(a)
	t.gapLines(a.Gaps)
	t.line("")
	rows := t.aside(func(t text) {
		if len(a.BundleDeployments) > 0 {
			t.deployments(a)
		}
	})
	findings := t.aside(func(t text) { t.findingLines(a) })
	left := t.Rows - t.height(t.out.String())
	most := max(left-1-t.height(findings), left/2)
	t.out.WriteString(page(strings.TrimRight(rows, "\n")+"\n", t.columns(), most, "more line"))
	if left = t.Rows - t.height(t.out.String()) - 1; left > 0 && findings != "" {
		t.out.WriteString("\n" + page(findings, t.columns(), left, "more finding"))
	}
}

// aside returns what a function shows.
func (t text) aside(show func(text)) string {
	t.out = &bytes.Buffer{}
	show(t)
	return t.out.String()
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
func (t text) gapLines(gaps []report.Gap) {
	for i, g := range gaps {
		if i == maxGaps {
			t.linef("… and %s", plural(len(gaps)-i, "more gap"))
			return
		}
		t.line(t.colour(yellow, cut(printable("Not read: "+digest.What(&g)+": "+g.Why()), t.columns())))
	}
}

// findingLines shows the findings, the most severe ones first. Where there are several clusters, each line names its
// cluster.
func (t text) findingLines(a *report.Audit) {
	findings := bySeverity(a.Findings)
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
		t.linef("%s%s%s", t.colour(colours[string(f.Severity)], before), message, t.faint(where))
	}
}
