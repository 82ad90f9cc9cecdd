// SPDX-License-Identifier: Apache-2.0

package printers

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/escape"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/printers/digest"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

// Audit lays out the report of an audit. Its names are the bundle deployments that are not well: those that are not
// ready or have no result, and those with an error or a warning. On a cluster that was not read, that is what Fleet
// reports.
func Audit(a *report.Audit, o Options) Document {
	problem := withProblems(a.Findings)
	return Document{o, a, a.BundleDeployments, func(l *layout) { audit(l, a) }, arguments(a.BundleDeployments,
		func(bd report.BundleDeployment) bool { return notWell(&bd) || problem(bd) },
		func(bd report.BundleDeployment) string { return argument(bd.Namespace, bundleDeployment, bd.Name) })}
}

// audit adds the report. A screen that is redrawn has at most l.Rows lines of it.
func audit(l *layout, a *report.Audit) {
	if !l.Redrawn {
		auditParts(l, a)
		return
	}
	all := l.aside(func(l *layout) { auditParts(l, a) })
	l.add(excerpt{sections: all, most: l.Rows, noun: "more line"})
}

// auditParts adds the parts of the report: the result first, then causes, then the table of what is not well.
func auditParts(l *layout, a *report.Audit) {
	if !l.Summary && overviewOf(l, a) {
		overview(l, a)
		return
	}
	head(l, "Audit of ", a.Source, a.TakenAt)
	summary(l, a, a.Summary.Findings)
	if l.Summary {
		gapLines(l, a.Gaps)
		return
	}
	l.end()
	clustersRead(l, a.Source.Clusters)
	notRead(l, a.Gaps, a.Notes)
	findings(l, a)
	if len(a.BundleDeployments) > 0 {
		deployments(l, a)
	}
	aggregates(l, a)
	ignored(l, a.Ignored)
}

// ignored lists the findings that the ignore file excludes, with the reasons.
func ignored(l *layout, all []report.Ignored) {
	if len(all) == 0 || !l.wide {
		return
	}
	l.title("IGNORED")
	for _, f := range all {
		l.say("  ", fmt.Sprintf("%s %s: %s", f.Code, f.Object.Key(), f.Why()))
	}
	l.end()
}

// aggregates adds the aggregates with other reported counts than the evaluated ones or, if not all of their bundle
// deployments were evaluated, than the totals of the statuses. Aggregates of which no deployment has a result, and that
// were read completely, are left out.
func aggregates(l *layout, a *report.Audit) {
	t := newTable(l, []column{{header: "AGGREGATE"}, {header: "READY", right: true}, {header: "STATUSES", right: true},
		{header: "FLEET REPORTS", right: true}, {header: "STATE"}})
	evaluated := map[string]bool{}
	for _, bd := range a.BundleDeployments {
		for _, above := range []string{"gitrepo " + bd.GitRepo, "helmop " + bd.HelmOp, "cluster " + bd.Cluster} {
			evaluated[above] = evaluated[above] || bd.State != report.Unknown
		}
	}
	for _, level := range []struct {
		kind string
		list []report.Aggregate
	}{{"gitrepo", a.GitRepos}, {"helmop", a.HelmOps}, {"cluster", a.Clusters}, {"clustergroup", a.ClusterGroups}} {
		for _, s := range level.list {
			name := level.kind + " " + s.Namespace + "/" + s.Name
			known := evaluated[name]
			if level.kind == "clustergroup" && s.Actual != nil {
				known = s.Actual.Counts.Desired > 0
			}
			row, differs := aggregateRow(l, name, &s, known)
			if row != nil && (differs || !l.limits()) {
				t.add(row...)
			}
		}
	}
	if len(t.rows) == 0 {
		return
	}
	t.removeEmpty("STATE")
	t.removeEmpty("STATUSES")
	t.cutNames()
	l.add(t)
	l.end()
}

// aggregateRow returns the row of an aggregate, and whether Fleet reports other numbers; nil if there is nothing to
// compare. known is true if a bundle deployment of it has a result.
func aggregateRow(l *layout, name string, s *report.Aggregate, known bool) (row []phrase, differs bool) {
	reported := digest.ReportedFraction(s.Reported)
	if reported == "" || s.OutOfScope {
		return nil, false
	}
	row = []phrase{join(name), styled(yellow, "?"), nil, join(reportedFraction(s.Reported)),
		join(l.bounded(s.Reported.State))}
	if s.Actual == nil {
		total := digest.ReportedFraction(s.Statuses)
		row[2] = join(cmp.Or(total, none))
		return row, total != "" && total != reported
	}
	if !known && s.Actual.BundleDeployments > 0 {
		return nil, false
	}
	actual := fraction(s.Actual.Counts.Ready, s.Actual.Counts.Desired)
	row[1] = join(actual)
	return row, actual != reported
}

// Ownership lays out an owner report. Its names are the objects.
func Ownership(d *report.Ownership, o Options) Document {
	return Document{o, d, d.Objects, func(l *layout) { ownership(l, d) }, func() []string {
		return report.Texts(d.Objects, func(o report.OwnedObject) string { return argumentOf(o.Ref) })
	}}
}

func ownership(l *layout, d *report.Ownership) {
	notRead(l, d.Gaps, nil)
	for _, o := range d.Objects {
		verdict(l, &o)
		owner(l, o.Owner)
		for _, c := range o.DesiredBy {
			role := "the owner"
			if c.Reason != "" {
				role = "not the owner: " + c.Reason
			}
			fact(l, "desired by", c.BundleDeployment+" ("+role+")")
		}
		fact(l, "controlled by", o.Controller)
		for _, m := range o.Metadata {
			l.line("  ", faint(fmt.Sprintf("%-10s", m.Field)), " ", m.Key, "=", strconv.Quote(escape.Line(m.Value)))
			l.say("             ", m.Means)
			l.say("             ", m.Who)
		}
		if len(o.Metadata) == 0 {
			l.line("  ", faint("no ownership metadata"))
		}
		if o.Next != nil {
			remedies(l, "  ", []report.Remedy{o.Next.Remedy})
		}
		l.end()
	}
}

// verdict adds who owns an object, and the verb of the next step.
func verdict(l *layout, o *report.OwnedObject) {
	answer := o.Verdict
	if o.Next != nil {
		answer += " → " + o.Next.Verb
	}
	l.hang(2, answer, bold(o.Key().String()+":"), " ")
}

// owner adds the bundle that owns an object, and its parents.
func owner(l *layout, h *report.BundleOwner) {
	if h == nil {
		return
	}
	fact(l, "release", h.Release)
	fact(l, "bundle", h.Bundle)
	fact(l, "gitrepo", h.GitRepo)
	fact(l, "commit", h.Commit)
	fact(l, "helmop", h.HelmOp)
	fact(l, "cluster", h.Cluster)
}

// fact adds one value, if it is known.
func fact(l *layout, name, value string) {
	if value != "" {
		l.line("  ", faint(fmt.Sprintf("%-14s", name)), " ", value)
	}
}

// Wrapped returns a text in lines of this width.
func Wrapped(s string, columns int) string {
	p := paragraph{words: wordsOf(s), rest: len(gap)}
	return renderer{columns: max(columns, minWidth)}.text([]block{p})
}

// Cut returns the beginning of a line that fits in columns.
func Cut(s string, columns int) string { return cut(s, columns) }

// Page returns the first lines of a text that fit on a terminal. If not all fit, the last line of the page counts the
// others.
func Page(s string, columns, rows int) string {
	return strings.Join(page(linesOf(s), columns, rows, "more line"), "\n") + "\n"
}

// Marked returns a text in which the lines that are not in the text before begin with a mark, and the others with as
// many blanks. The width of columns and the lines of a tree may differ.
func Marked(before, s string) string {
	known := map[string]bool{}
	for line := range strings.Lines(before) {
		known[content(line)] = true
	}
	var out strings.Builder
	for line := range strings.Lines(s) {
		switch is := content(line); {
		case is == "":
		case known[is], before == "", strings.HasPrefix(is, "…"), is == strings.ToUpper(is): // a header
			line = gap + line
		default:
			line = Mark + line
		}
		out.WriteString(line)
	}
	return out.String()
}

// Mark begins a line that has changed.
const Mark = "* "

// content is a line without what only lays it out.
func content(line string) string {
	return strings.Join(strings.Fields(strings.TrimLeft(line, " │├└─")), " ")
}
