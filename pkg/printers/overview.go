// SPDX-License-Identifier: Apache-2.0

package printers

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/escape"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/printers/digest"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

// overviewOf reports whether an audit is shown as its first screen. Details are shown with -o wide, --all or --diff,
// and of what the user named, unless that is many bundle deployments of several bundles.
func overviewOf(l *layout, a *report.Audit) bool {
	switch {
	case l.Redrawn || l.By != "":
		return true
	case l.Diff || !l.limits():
		return false
	case len(a.Scope.Targets) == 0:
		return true
	case len(a.BundleDeployments) <= digest.MaxDetailed:
		return false
	}
	bundle := a.BundleDeployments[0].Bundle
	return slices.ContainsFunc(a.BundleDeployments, func(bd report.BundleDeployment) bool {
		return bd.Bundle != bundle
	})
}

// overview is the first screen of an audit: the result, the causes, the most urgent one first, and a table of what is
// not well. On a screen, the two share the lines that the others leave, and the last line of each counts what does not
// fit.
func overview(l *layout, a *report.Audit) {
	readFrom(l, "Audit of ", a.Source, a.TakenAt)
	problems := digest.Problems(visibleIn(l, a), 0)
	summary(l, a, countsOf(problems))
	gapLines(l, a.Gaps)
	shortLines(l, plain, "note", report.Texts(a.Notes, func(note string) string { return "Note: " + note }))
	l.end()
	rows, ready, noun := rowsOf(l, a)
	well := l.aside(func(l *layout) {
		wellSpreads(l, ready)
		l.say("", digest.Heartbeats(a))
	})
	hinted := l.aside(func(l *layout) { hints(l, a, problems) })
	r := l.renderer()
	fixed := r.height(l.sections...) + r.height(well...) + r.height(hinted...)
	left := l.screen() - fixed - 3 // the empty lines before the problems, the rows and the hints
	rowLines := r.height(rows...)
	blocks := headlines(l, a, problems, left-min(rowLines, left/2))
	forRows := min(rowLines, max(left-r.height(blocks), left/2))
	if shown := someProblems(r, blocks, len(problems), left-forRows); len(shown) > 0 {
		l.addAll(shown)
		l.end()
		left -= r.height(shown)
	}
	if len(rows) > 0 && left > 0 {
		l.add(excerpt{sections: rows, most: left, noun: noun})
	}
	l.addAll(well...)
	l.end()
	l.addAll(hinted...)
}

// countsOf counts problems by the severities that they are shown with.
func countsOf(problems []*digest.Problem) report.FindingCounts {
	counts := map[report.Severity]int{}
	for _, p := range problems {
		counts[p.First().Severity]++
	}
	return report.FindingCounts{Error: counts[report.Error], Warning: counts[report.Warning], Info: counts[report.Info]}
}

// rowsOf is the table of what is not well, what is only counted, and what a line of the table is called: the table of
// the bundle deployments or, on several clusters, of their bundles.
func rowsOf(l *layout, a *report.Audit) (rows [][]block, ready []*digest.Spread, noun string) {
	if l.By == "" && clustersOf(a.BundleDeployments) <= 1 {
		return l.aside(func(l *layout) { deployments(l, a) }), nil, "more line"
	}
	by := levelOf(l.By)
	shown, ready := splitSpreads(l, digest.Spreads(a, by.name))
	if len(shown) > 0 {
		rows = l.aside(func(l *layout) { l.add(spreadTable(l, a, by, shown)) })
	}
	return rows, ready, "more " + by.kind
}

// headlines lays out problems, each in at most maxProblem lines. On a screen, the last ones have one line if there is
// no room for more, and those that cannot fit are left out.
func headlines(l *layout, a *report.Audit, problems []*digest.Problem, room int) []block {
	names := digest.NewHeadlines(a)
	shown := problems[:min(len(problems), l.screen())]
	blocks := make([]block, len(shown))
	for i, p := range shown {
		blocks[i] = headline(l, names, p, maxProblem)
	}
	for i := len(blocks) - 1; i >= 0 && l.renderer().height(blocks) > room; i-- {
		blocks[i] = headline(l, names, shown[i], 1)
	}
	return blocks
}

// headline is a problem: its severity and code, what is wrong where, and the verb with which to proceed. It also says
// what follows from it and since when it is so, if there is room; in one line, it does not say since when.
func headline(l *layout, names digest.Headlines, p *digest.Problem, most int) block {
	f := p.First()
	before := styled(styles[string(f.Severity)], fmt.Sprintf("%-7s %s  ", f.Severity, f.Code))
	about, message := names.Parts(p)
	since, step := digest.Since(p), digest.Step(f)
	if l.onScreen() {
		message, since = names.Brief(message, since)
	}
	if most == 1 {
		since, step = "", strings.Fields(step)[0]
	}
	end := []phrase{join(arrow, step)}
	out := paragraph{before: before, rest: before.width()}
	out.words = shortened(l, about, message, out.rest, most, end...)
	if since != "" {
		end = []phrase{join(since), end[0]}
	}
	whole := strings.Join(nonEmpty(about, message), " ")
	for _, longer := range []string{whole, strings.Join(nonEmpty(whole, digest.Consequences(p)), "; ")} {
		words := append(wordsOf(longer), end...)
		if !l.onScreen() || len(l.renderer().wrapped(words, out.rest, out.rest)) <= most {
			out.words = words
		}
	}
	return out
}

// someProblems are the first problems that fit in so many lines, with a line that counts the others of all.
func someProblems(r renderer, blocks []block, all, most int) []block {
	for i := range blocks {
		reserved := min(1, all-i-1) // a line for those after it
		if most -= r.height(blocks[i : i+1]); most < reserved {
			return append(blocks[:i:i], paragraph{before: faint("… and " + plural(all-i, "more problem"))})
		}
	}
	return blocks
}

// hints say how to proceed: each is a command with its effect.
func hints(l *layout, a *report.Audit, problems []*digest.Problem) {
	repairable := func(p *digest.Problem) bool { return slices.ContainsFunc(p.Findings, digest.Repairable) }
	if l.Repair != "" && slices.ContainsFunc(problems, repairable) {
		hint(l, l.Repair, "repairs what can be repaired")
	}
	if l.ReadClusters != "" && slices.ContainsFunc(a.BundleDeployments, onOtherCluster) {
		hint(l, l.ReadClusters, "also reads the other clusters")
	}
	if l.PrintRole != "" && slices.ContainsFunc(a.Gaps, forbidden) {
		hint(l, l.PrintRole, "prints a role that permits reading it")
	}
	if len(problems) > 0 && l.Again != "" {
		hint(l, details(l, a, problems), "shows details")
	}
}

// details is the command that shows details: those of the bundle with the first problem if there are many bundle
// deployments, otherwise of all.
func details(l *layout, a *report.Audit, problems []*digest.Problem) string {
	index := slices.IndexFunc(problems, func(p *digest.Problem) bool { return strings.Contains(p.First().Bundle, "/") })
	if index < 0 || len(a.BundleDeployments) <= digest.MaxDetailed {
		return l.Again + " --all"
	}
	namespace, name, _ := strings.Cut(problems[index].First().Bundle, "/")
	return l.Details + " " + escape.Shell("bundle/"+name) + " -n " + escape.Shell(namespace)
}

// hint adds a command, and its effect if there is room for it.
func hint(l *layout, command, effect string) {
	line := join(arrow, command)
	if long := join(line, gap, faint(effect)); long.width() <= l.columns() {
		line = long
	}
	l.line(line)
}

const (
	// maxGaps is the number of gaps, and of notes, that an overview names.
	maxGaps = 3
	// maxProblem is the number of lines that a problem, a gap or a note has in an overview.
	maxProblem = 2
)

// onScreen reports whether the document must fit a screen. Elsewhere a program such as grep reads it: nothing is cut.
func (l *layout) onScreen() bool { return l.Rows > 0 && (l.limits() || l.Redrawn) }

// screen is the number of lines that the document may have.
func (l *layout) screen() int {
	if l.onScreen() {
		return l.Rows
	}
	return math.MaxInt32
}

// gapLines names what could not be read, on a screen at most maxGaps of it.
func gapLines(l *layout, gaps []report.Gap) {
	shortLines(l, yellow, "gap", report.Texts(joined(gaps), func(g report.Gap) string {
		return "Not read: " + digest.What(&g) + ": " + g.Why()
	}))
}

// shortLines adds each text. On a screen, it adds each in at most maxProblem lines, and counts those after maxGaps.
func shortLines(l *layout, as style, noun string, all []string) {
	for i, s := range all {
		if i == maxGaps && l.onScreen() {
			l.line("… and ", plural(len(all)-i, "more "+noun), " (-o wide shows them)")
			return
		}
		l.add(paragraph{words: shortened(l, "", s, 0, maxProblem), style: as})
	}
}

// shortened returns the words of a sentence, with what stands at its end. On a screen, the sentence is shortened to so
// many lines that begin at a column.
func shortened(l *layout, about, message string, column, most int, end ...phrase) []phrase {
	words := append(wordsOf(about+" "+message), end...)
	if !l.onScreen() {
		return words
	}
	about, message = escape.Line(about), escape.Line(message)
	for n := most * l.columns(); n > 0 && len(l.renderer().wrapped(words, column, column)) > most; n-- {
		words = append(wordsOf(within(about, message, n)), end...)
	}
	return words
}

// By are the names by which an overview can count bundle deployments.
var By = []string{bundles.kind, clusters.kind, gitRepos.kind}

// levelOf returns the level with this name, by default that of bundles.
func levelOf(by string) level {
	for _, l := range []level{clusters, gitRepos} {
		if l.kind == by {
			return l
		}
	}
	return bundles
}

// splitSpreads returns the bundles, clusters or GitRepos that are shown, and those that are only counted.
func splitSpreads(l *layout, all []*digest.Spread) (shown, well []*digest.Spread) {
	for _, s := range all {
		if l.limits() && s.Ready() == s.All {
			well = append(well, s)
		} else {
			shown = append(shown, s)
		}
	}
	return shown, well
}

// wellSpreads adds the line that counts those that are well.
func wellSpreads(l *layout, well []*digest.Spread) {
	if len(well) == 0 {
		return
	}
	ready, reported := 0, ""
	for _, s := range well {
		ready += s.All
		if s.Read < s.All {
			reported = ", as Fleet reports"
		}
	}
	l.line(fmt.Sprintf("Ready%s: %s with %s.", reported, plural(len(well), levelOf(l.By).kind),
		plural(ready, "bundle deployment")))
}

// spreadTable is the table of spreads. Its last column names what is not ready: the clusters of a bundle, the bundles
// of a cluster or of a GitRepo.
func spreadTable(l *layout, a *report.Audit, by level, all []*digest.Spread) *table {
	t := newTable(l, []column{{header: strings.ToUpper(by.kind)}, {header: "READY", right: true},
		{header: problemsHeader}})
	name, below := namesOf(all), bundles.name
	if by.kind == bundles.kind {
		below = clusters.name
	}
	for _, s := range all {
		t.add(join(name(s)), part(s.Ready(), s.All), nil)
	}
	room, details := math.MaxInt32, digest.NewDetails(a)
	if t.width > 0 {
		room = t.width - t.names() - t.spans()[1] - 2*len(gap)
	}
	for i, s := range all {
		t.rows[i][2] = join(details.Of(s, room, func(bd *report.BundleDeployment) string {
			return digest.BaseName(below(bd))
		}, span))
	}
	t.cutNames()
	return t
}

// namesOf returns a function that names spreads: without their namespace if all have the same one.
func namesOf(all []*digest.Spread) func(*digest.Spread) string {
	namespaces := map[string]bool{}
	for _, s := range all {
		namespace, _, _ := strings.Cut(s.Name, "/")
		namespaces[namespace] = true
	}
	return func(s *digest.Spread) string {
		if len(namespaces) == 1 {
			return cmp.Or(digest.BaseName(s.Name), none)
		}
		return cmp.Or(s.Name, none)
	}
}
