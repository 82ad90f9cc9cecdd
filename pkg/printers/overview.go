// SPDX-License-Identifier: Apache-2.0

package printers

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/escape"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/printers/digest"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

// overviewOf reports whether an audit is shown as its first screen. Details are shown with -o wide, --all or --diff,
// and of what the user named, unless that is many bundle deployments of several bundles.
func (t text) overviewOf(a *report.Audit) bool {
	switch {
	case t.Redrawn || t.By != "":
		return true
	case t.Diff || !t.limits():
		return false
	case len(a.Scope.Targets) == 0:
		return true
	case len(a.BundleDeployments) <= digest.MaxDetailed:
		return false
	}
	of := a.BundleDeployments[0].Bundle
	return slices.ContainsFunc(a.BundleDeployments, func(bd report.BundleDeployment) bool { return bd.Bundle != of })
}

// overview is the first screen of an audit: the result, the causes, the most urgent one first, and a table of what is
// not well. On a screen, the two share the lines that the others leave, and the last line of each counts what does not
// fit.
func (t text) overview(a *report.Audit) {
	t.readFrom("Audit of ", a.Source, a.TakenAt)
	problems := digest.Problems(t.visible(a), 0)
	t.summary(a, countsOf(problems))
	t.gapLines(a.Gaps)
	t.noteLines(a.Notes)
	t.emptyLine()
	rows, well, noun := t.rowsOf(a)
	well += t.aside(func(t text) { t.wrapped("", digest.Heartbeats(a)) })
	hints := t.aside(func(t text) { t.hints(a, problems) })
	left := t.screen() - t.height(t.out.String()+well+hints) - 2 // the empty lines before the rows and the hints
	blocks := t.headlines(a, problems, left-min(t.height(rows), left/2))
	forRows := min(t.height(rows), max(left-t.height(strings.Join(blocks, "")), left/2))
	if shown := t.someProblems(blocks, len(problems), left-forRows); shown != "" {
		t.out.WriteString(shown)
		t.emptyLine()
		left -= t.height(shown)
	}
	if rows != "" && left > 0 {
		t.out.WriteString(page(rows, t.columns(), left, noun))
	}
	t.out.WriteString(well)
	if hints != "" {
		t.emptyLine()
	}
	t.out.WriteString(hints)
}

// countsOf counts problems by the severities that they are shown with.
func countsOf(problems []*digest.Problem) report.FindingCounts {
	of := map[report.Severity]int{}
	for _, p := range problems {
		of[p.First().Severity]++
	}
	return report.FindingCounts{Error: of[report.Error], Warning: of[report.Warning], Info: of[report.Info]}
}

// rowsOf is the table of what is not well, the line that counts the others, and what a line of the table is called: the
// table of the bundle deployments or, on several clusters, of their bundles.
func (t text) rowsOf(a *report.Audit) (rows, well, noun string) {
	if t.By == "" && clustersOf(a.BundleDeployments) <= 1 {
		rows = strings.TrimRight(t.aside(func(t text) { t.deployments(a) }), "\n")
		return strings.TrimPrefix(rows+"\n", "\n"), "", "more line"
	}
	by := levelOf(t.By)
	rows, well = t.spreads(a, by)
	return rows, well, "more " + by.kind
}

// headlines lays out problems, each in at most maxProblem lines. On a screen, the last ones have one line if there is
// no room for more, and those that cannot fit are left out.
func (t text) headlines(a *report.Audit, problems []*digest.Problem, room int) []string {
	names := digest.NewHeadlines(a)
	shown := problems[:min(len(problems), t.screen())]
	blocks := texts(shown, func(p *digest.Problem) string { return t.headline(names, p, maxProblem) })
	for i := len(blocks) - 1; i >= 0 && t.height(strings.Join(blocks, "")) > room; i-- {
		blocks[i] = t.headline(names, shown[i], 1)
	}
	return blocks
}

// headline is a problem: its severity and code, what is wrong where, and the verb with which to proceed. It also says
// what follows from it and since when it is so, if there is room; in one line, it does not say since when.
func (t text) headline(names digest.Headlines, p *digest.Problem, most int) string {
	before := fmt.Sprintf("%-7s %s  ", p.First().Severity, printable(p.First().Code))
	about, message := names.Parts(p)
	since, step := digest.Since(p), digest.Step(p.First())
	if t.onScreen() {
		message, since = names.Brief(message, since)
	}
	if most == 1 {
		since, step = "", strings.Fields(step)[0]
	}
	last := t.faint("→") + " " + printable(step)
	whole := strings.Join(nonEmpty(about, message), " ")
	lines := t.shortened(about, message, span(before), most, last)
	for _, longer := range []string{whole, strings.Join(nonEmpty(whole, digest.Consequences(p)), "; ")} {
		with := t.withEnd(longer, span(before), nonEmpty(since, last))
		if !t.onScreen() || len(with) <= most {
			lines = with
		}
	}
	return t.colour(colours[string(p.First().Severity)], before) +
		strings.Join(lines, "\n"+strings.Repeat(" ", span(before))) + "\n"
}

// someProblems are the first problems that fit in so many lines, with a line that counts the others of all.
func (t text) someProblems(blocks []string, all, most int) string {
	var out strings.Builder
	for i, block := range blocks {
		reserved := min(1, all-i-1) // a line for those after it
		if most -= t.height(block); most < reserved {
			out.WriteString(t.faint("… and "+plural(all-i, "more problem")) + "\n")
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

// hints say how to proceed: each is a command with its effect.
func (t text) hints(a *report.Audit, problems []*digest.Problem) {
	repairable := func(p *digest.Problem) bool { return slices.ContainsFunc(p.Findings, digest.Repairable) }
	if t.Repair != "" && slices.ContainsFunc(problems, repairable) {
		t.hint(t.Repair, "repairs what can be repaired")
	}
	if t.ReadClusters != "" && slices.ContainsFunc(a.BundleDeployments, onOtherCluster) {
		t.hint(t.ReadClusters, "also reads the other clusters")
	}
	if t.PrintRole != "" && slices.ContainsFunc(a.Gaps, func(g report.Gap) bool { return g.Reason == "Forbidden" }) {
		t.hint(t.PrintRole, "prints a role that permits reading it")
	}
	if len(problems) > 0 && t.Again != "" {
		t.hint(t.details(a, problems), "shows details")
	}
}

// details is the command that shows details: those of the bundle with the first problem if there are many bundle
// deployments, otherwise of all.
func (t text) details(a *report.Audit, problems []*digest.Problem) string {
	of := slices.IndexFunc(problems, func(p *digest.Problem) bool { return strings.Contains(p.First().Bundle, "/") })
	if of < 0 || len(a.BundleDeployments) <= digest.MaxDetailed {
		return t.Again + " --all"
	}
	namespace, name, _ := strings.Cut(problems[of].First().Bundle, "/")
	return t.Details + " " + escape.Shell("bundle/"+name) + " -n " + escape.Shell(namespace)
}

// hint shows a command, and its effect if there is room for it.
func (t text) hint(command, effect string) {
	line := t.faint("→") + " " + printable(command)
	if span(line)+len(gap)+span(effect) <= t.columns() {
		line += gap + t.faint(effect)
	}
	t.line(line)
}
