// SPDX-License-Identifier: Apache-2.0

package printers

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/escape"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/printers/digest"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

// maxLines is the number of lines of an overview.
const maxLines = 40

// overviewOf reports whether an audit is shown as an overview: it is about many bundle deployments of several bundles,
// the user wants to see them counted, or it must fit a screen.
func (t text) overviewOf(a *report.Audit) bool {
	if t.Rows > 0 || t.By != "" {
		return true
	}
	if len(a.BundleDeployments) <= digest.MaxDetailed || t.Diff || !t.limits() {
		return false
	}
	of := a.BundleDeployments[0].Bundle
	return slices.ContainsFunc(a.BundleDeployments, func(bd report.BundleDeployment) bool { return bd.Bundle != of })
}

// overview lays out an audit in one screen: the problems, the widest first, and a table of what is not well. The two
// share the lines that the others leave, and the last line of each counts what does not fit.
func (t text) overview(a *report.Audit) {
	t.gapLines(a.Gaps)
	if t.Rows == 0 {
		t.noteLines(a.Notes)
	}
	t.emptyLine()
	problems := digest.Problems(t.visible(a), 0)
	blocks := t.problemBlocks(a, problems)
	rows, well, noun := t.rowsOf(a)
	end := t.aside(func(t text) {
		t.out.WriteString(well)
		if t.Rows == 0 {
			t.elsewhere(a)
			t.hints(a, problems)
		}
	})
	left := t.screen() - t.height(t.out.String()) - t.height(end) - 2 // the empty lines before rows and end
	forRows := min(t.height(rows), max(left-t.height(strings.Join(blocks, "")), left/2))
	if shown := t.someProblems(blocks, len(problems), left-forRows); shown != "" {
		t.out.WriteString(shown)
		t.emptyLine()
		left -= t.height(shown)
	}
	if rows != "" && left > 0 {
		t.out.WriteString(t.someRows(rows, left, noun))
		if well == "" {
			t.emptyLine()
		}
	}
	t.out.WriteString(end)
}

// screen is the number of lines that an overview may have.
func (t text) screen() int {
	switch {
	case t.Rows > 0:
		return t.Rows
	case t.limits():
		return maxLines
	}
	return math.MaxInt32
}

// rowsOf is the table of what is not well, the line that counts the others, and what a line of the table is called: the
// table of the bundle deployments or, if they are many on several clusters, of their bundles.
func (t text) rowsOf(a *report.Audit) (rows, well, noun string) {
	if t.By == "" && (len(a.BundleDeployments) <= digest.MaxDetailed || clustersOf(a.BundleDeployments) == 1) {
		return strings.TrimRight(t.aside(func(t text) { t.deployments(a) }), "\n") + "\n", "", "more line"
	}
	by := levelOf(t.By)
	rows, well = t.spreads(a, by)
	return rows, well, "more " + by.kind
}

// someRows are the first rows that fit in so many lines, with a line that counts the others.
func (t text) someRows(rows string, most int, noun string) string {
	shown := page(rows, t.columns(), most, noun)
	if shown != rows && t.Rows == 0 {
		shown = strings.TrimSuffix(shown, "\n") + " (--all shows them)\n"
	}
	return shown
}

// problemBlocks lays out problems, at most as many as fit the screen.
func (t text) problemBlocks(a *report.Audit, problems []*digest.Problem) []string {
	var out []string
	names := digest.NewHeadlines(a)
	for _, p := range problems[:min(len(problems), t.screen()+1)] {
		out = append(out, t.problemLines(names, p))
	}
	return out
}

// problemLines is a problem in at most maxProblem lines, on a screen in one, with what follows from it in another one.
func (t text) problemLines(names digest.Headlines, p *digest.Problem) string {
	f := p.First()
	before := fmt.Sprintf("%-7s %s  ", f.Severity, printable(f.Code))
	indent := strings.Repeat(" ", span(before))
	lines, most := t.lines(names.Of(p), len(indent), len(indent)), maxProblem
	if t.Rows > 0 {
		most = 1
	}
	lines = firstLines(lines, most)
	for i, line := range lines {
		lines[i] = cut(line, min(t.columns(), maxProse)-len(indent))
	}
	out := t.colour(colours[string(f.Severity)], before) + strings.Join(lines, "\n"+indent) + "\n"
	if so := digest.Consequences(p); so != "" {
		out += indent + t.faint(cut(so, t.columns()-len(indent))) + "\n"
	}
	return out
}

// someProblems are the first problems that fit in so many lines, with a line that counts the others of all.
func (t text) someProblems(blocks []string, all, most int) string {
	var out strings.Builder
	for i, block := range blocks {
		more := fmt.Sprintf("… and %s", plural(all-i, "more problem"))
		if t.Rows == 0 {
			more += " (--all shows them)"
		}
		reserved := min(1, all-i-1) // a line for those after it
		if most -= t.height(block); most < reserved {
			out.WriteString(t.faint(more) + "\n")
			break
		}
		out.WriteString(block)
	}
	return out.String()
}

// visible are the findings that are shown.
func (t text) visible(a *report.Audit) []*report.Finding {
	var out []*report.Finding
	for i := range a.Findings {
		if f := &a.Findings[i]; f.Severity != report.Info || t.informational(a) {
			out = append(out, f)
		}
	}
	return out
}

// elsewhere says which states are those that Fleet reports, because the clusters were not read, and how old they are.
func (t text) elsewhere(a *report.Audit) {
	if s := digest.Elsewhere(a); s != "" {
		t.wrapped("", s)
		t.emptyLine()
	}
}

// hints say how to see more of an overview: each is a command with its effect.
func (t text) hints(a *report.Audit, problems []*digest.Problem) {
	of := slices.IndexFunc(problems, func(p *digest.Problem) bool { return strings.Contains(p.First().Bundle, "/") })
	if of >= 0 && t.Details != "" {
		namespace, name, _ := strings.Cut(problems[of].First().Bundle, "/")
		t.hint(t.Details+" "+escape.Shell("bundle/"+name)+" -n "+escape.Shell(namespace), "shows one bundle in detail")
	}
	if t.ReadClusters != "" && slices.ContainsFunc(a.BundleDeployments, onOtherCluster) {
		t.hint(t.ReadClusters, "also reads the other clusters")
	}
	if t.PrintRole != "" && slices.ContainsFunc(a.Gaps, func(g report.Gap) bool { return g.Reason == "Forbidden" }) {
		t.hint(t.PrintRole, "prints a role that permits reading it")
	}
	if len(problems) > 0 && t.Explain != "" {
		code := printable(problems[0].First().Code)
		t.hint(t.Explain+" "+code, "shows what "+code+" means")
	}
}

// hint shows a command, and its effect if there is room for it.
func (t text) hint(command, effect string) {
	line := t.faint("→") + " " + printable(command)
	if span(line)+len(gap)+span(effect) <= t.columns() {
		line += gap + t.faint(effect)
	}
	t.line(line)
}
