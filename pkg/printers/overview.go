// SPDX-License-Identifier: Apache-2.0

package printers

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/printers/digest"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

const (
	// maxDetailed is the number of bundle deployments up to which an audit is shown in detail.
	maxDetailed = 20
	// screenful is the number of lines of an overview, minProblems the least number of them for problems, and
	// maxSpreads the most rows of its table.
	screenful, minProblems, maxSpreads = 40, 8, 12
)

// By are the names by which an overview can count bundle deployments.
var By = []string{"bundle", "cluster", "gitrepo"}

// overviewOf reports whether an audit is shown as an overview: it is about many bundle deployments, or the user wants
// to see them counted.
func (t text) overviewOf(a *report.Audit) bool {
	many := len(a.BundleDeployments) > maxDetailed
	return t.By != "" || many && t.limits() && !t.Diff
}

// overview lays out an audit of many bundle deployments in a screenful: the problems with a line each, the widest
// first, and a table of the bundles, clusters or GitRepos that are not well.
func (t text) overview(a *report.Audit) {
	t.gapLines(a.Gaps)
	t.emptyLine()
	rest := t.aside(func(t text) {
		if t.By == "" && clustersOf(a.BundleDeployments) == 1 {
			rows := t.aside(func(t text) { t.deployments(a) })
			t.line(page(strings.TrimRight(rows, "\n"), t.columns(), maxSpreads+1, "more line"))
		} else {
			t.spreads(a)
			t.elsewhere(a)
		}
		t.hints(a)
	})
	left := screenful - t.height(t.out.String()) - t.height(rest)
	t.problemLines(a, max(left, minProblems))
	t.out.WriteString(rest)
}

// problemLines shows the problems, and what follows from each, in at most so many lines.
func (t text) problemLines(a *report.Audit, most int) {
	problems := digest.Problems(t.visible(a), 0)
	if len(problems) == 0 {
		return
	}
	for i, p := range problems {
		if i > 0 && i >= most-3 && len(problems)-i > 1 && t.limits() {
			t.line(t.faint(fmt.Sprintf("… and %s (--all shows them)", plural(len(problems)-i, "more problem"))))
			break
		}
		most -= t.problemLine(a, p) - 1
	}
	t.line("")
}

// problemLine shows a problem in one line, and what follows from it in another one. It returns their number.
func (t text) problemLine(a *report.Audit, p *digest.Problem) int {
	f := p.First()
	before := fmt.Sprintf("%-7s %s  ", f.Severity, printable(f.Code))
	message := cut(printable(digest.Headline(a, p)), t.columns()-span(before))
	t.linef("%s%s", t.colour(colours[string(f.Severity)], before), message)
	so := digest.Consequences(p)
	if so == "" {
		return 1
	}
	indent := strings.Repeat(" ", span(before))
	t.line(indent + t.faint(cut(so, t.columns()-span(indent))))
	return 2
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

// spreads is the table of the bundles, clusters or GitRepos that are not well.
func (t text) spreads(a *report.Audit) {
	by := levelOf(t.By)
	all := digest.Spreads(a, by.of)
	notReady := slices.DeleteFunc(slices.Clone(all), func(s *digest.Spread) bool { return s.Ready() == s.All })
	well := 0
	for _, s := range all {
		if s.Ready() == s.All {
			well += s.All
		}
	}
	shown := notReady
	if t.limits() {
		shown = notReady[:min(len(notReady), maxSpreads)]
	}
	if len(shown) > 0 {
		t.table(t.spreadGrid(by.kind, shown))
	}
	if n := len(notReady) - len(shown); n > 0 {
		t.replaceEmptyLine(t.faint(fmt.Sprintf("… and %s (--all shows them)", plural(n, "more "+by.kind))))
	}
	if n := len(all) - len(notReady); n > 0 {
		t.replaceEmptyLine(fmt.Sprintf("Ready: %s with %s.", plural(n, by.kind), plural(well, "bundle deployment")))
	}
	t.emptyLine()
}

// replaceEmptyLine writes a line after the last one that is not empty.
func (t text) replaceEmptyLine(s string) {
	for strings.HasSuffix(t.out.String(), "\n\n") {
		t.out.Truncate(t.out.Len() - 1)
	}
	t.line(s)
}

// spreadStates are the states of a table of spreads in their order.
var spreadStates = []report.State{report.ErrApplied, report.WaitApplied, report.OutOfSync, report.Missing,
	report.Unowned, report.Modified, report.NotReady, report.Unknown}

// spreadGrid is the table of spreads. A state that none has is no column.
func (t text) spreadGrid(kind string, all []*digest.Spread) grid {
	columns := []column{{header: strings.ToUpper(kind)}, {header: "DEPLOYMENTS", short: "ALL", right: true},
		{header: "READY", right: true}}
	states := slices.DeleteFunc(slices.Clone(spreadStates), func(state report.State) bool {
		return !slices.ContainsFunc(all, func(s *digest.Spread) bool { return s.States[state] > 0 })
	})
	for _, s := range states {
		columns = append(columns, column{header: strings.ToUpper(string(s)), right: true})
	}
	g := t.grid(columns)
	name := namesOf(all)
	for _, s := range all {
		row := []string{printable(name(s)), strconv.Itoa(s.All), strconv.Itoa(s.Ready())}
		for _, state := range states {
			n := none
			if s.States[state] > 0 {
				n = t.colour(yellow, strconv.Itoa(s.States[state]))
			}
			row = append(row, n)
		}
		g.rows = append(g.rows, row)
	}
	if g.narrow() {
		g.columns = shortHeaders(g.columns)
	}
	if g.narrow() {
		g = t.narrowSpreads(g, all, states)
	}
	g.cutNames()
	return g
}

// narrowSpreads has one column for all states, for a narrow terminal.
func (t text) narrowSpreads(g grid, all []*digest.Spread, states []report.State) grid {
	out := t.grid(append(g.columns[:3:3], column{header: "NOT READY"}))
	for i, s := range all {
		row := g.rows[i][:3:3]
		left := g.width - minName - len("  ALL  READY  ")
		words := texts(states, func(state report.State) string { return tally(s.States[state], string(state)) })
		out.rows = append(out.rows, append(row, begin(strings.Join(nonEmpty(words...), ", "), left)))
	}
	return out
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

// levelOf returns the level with this name, by default that of bundles.
func levelOf(by string) level {
	for _, l := range []level{clusters, gitRepos} {
		if l.kind == by {
			return l
		}
	}
	return bundles
}

// elsewhere says which states are those that Fleet reports, because the clusters were not read, and how old they are.
func (t text) elsewhere(a *report.Audit) {
	unread := map[string]bool{}
	for i := range a.BundleDeployments {
		if bd := &a.BundleDeployments[i]; digest.Unread(bd) {
			unread[bd.Cluster] = true
		}
	}
	if len(unread) == 0 {
		return
	}
	age := ""
	oldest, name := time.Time{}, ""
	for _, c := range a.Clusters {
		if key := c.Namespace + "/" + c.Name; unread[key] && c.Reported != nil {
			seen, err := time.Parse(time.RFC3339, c.Reported.AsOf)
			if err == nil && (oldest.IsZero() || seen.Before(oldest)) {
				oldest, name = seen, c.Name
			}
		}
	}
	if taken, err := time.Parse(time.RFC3339, a.TakenAt); err == nil && !oldest.IsZero() {
		age = fmt.Sprintf(" The oldest heartbeat is that of %s, %s before.", name, ageOf(taken.Sub(oldest)))
	}
	t.wrapped("", fmt.Sprintf("%s not read: their states are those that Fleet reports.%s",
		pluralWere(len(unread), "cluster"), age))
	t.suggest(t.ReadClusters)
	t.emptyLine()
}

// pluralWere is a number of things with the verb.
func pluralWere(n int, what string) string {
	if n == 1 {
		return "1 " + what + " was"
	}
	return plural(n, what) + " were"
}

// ageOf writes a duration in its largest unit.
func ageOf(d time.Duration) string {
	const day = 24 * time.Hour
	switch {
	case d >= 2*day:
		return plural(int(d/day), "day")
	case d >= 2*time.Hour:
		return plural(int(d/time.Hour), "hour")
	}
	return plural(max(0, int(d/time.Minute)), "minute")
}

// hints say how to see more of an overview.
func (t text) hints(a *report.Audit) {
	if t.Details != "" {
		t.line(t.faint("→") + " " + printable(t.Details))
	}
	t.explain(a)
}
