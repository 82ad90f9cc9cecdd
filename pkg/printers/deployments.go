// SPDX-License-Identifier: Apache-2.0

package printers

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/printers/digest"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

// deployments adds a table with one line per bundle deployment. If there are several clusters, each is named on a line
// of its own: a column would take more width. In an order of the user, it is a column, and for one bundle the first
// one. Clusters that were read come first. Bundle deployments on other clusters are only counted, unless Fleet reports
// a problem of them; those that are well are only counted if there are many.
func deployments(l *layout, a *report.Audit) {
	r := rows{shown: a.BundleDeployments}
	if !l.wide {
		r = ordered(l, a)
	}
	shown := r.shown
	if len(shown) == 0 {
		notShown(l, r, false)
		return
	}
	elsewhere := func(bd report.BundleDeployment) bool { return bd.Cluster != shown[0].Cluster }
	several := !l.wide && (slices.ContainsFunc(shown, elsewhere) || slices.ContainsFunc(r.well, elsewhere))
	named := several && !l.Sorted && !sameName(shown)
	t := fitting(l, shown, several && !named)
	if named {
		t.titles = map[int]phrase{}
		for i, bd := range shown {
			t.rows[i][0] = join(gap, t.rows[i][0])
			if i == 0 || bd.Cluster != shown[i-1].Cluster {
				t.titles[i] = clusterLine(l, &bd)
			}
		}
	}
	t.cutNames()
	l.add(t)
	notShown(l, r, named)
}

// clusterLine names a cluster, and says if it was not read.
func clusterLine(l *layout, bd *report.BundleDeployment) phrase {
	suffix := ""
	if digest.Unread(bd) {
		suffix = " (not read)"
	}
	return join(l.atMost(cmp.Or(bd.Cluster, "unknown cluster"), l.columns()-len(suffix)), faint(suffix))
}

// fitting returns the table of bundle deployments with the columns that have a number, otherwise with short headers,
// otherwise with one column for all numbers. No line is then longer than the terminal is wide. clusters adds a column
// of clusters, which replaces that of the names if these are equal.
func fitting(l *layout, shown []report.BundleDeployment, clusters bool) *table {
	all := columns
	if !l.wide {
		all = slices.DeleteFunc(slices.Clone(columns), func(c deploymentColumn) bool {
			return c.wide && (!clusters || c.header != clusterHeader)
		})
	}
	if clusters && sameName(shown) {
		all = all[1:]
		all[0].cell = func(_ *layout, bd *report.BundleDeployment) phrase { return join(cmp.Or(bd.Cluster, "unknown")) }
	}
	t := filled(l, shown, all)
	if l.wide {
		return t
	}
	for i := len(t.columns) - 1; i > 0; i-- {
		if t.columns[i].count && t.empty(i) {
			t.removeAt(i)
		}
	}
	if t.narrow() {
		t.shortHeaders()
	}
	if !t.narrow() {
		return t
	}
	few := filled(l, shown, slices.DeleteFunc(all, func(c deploymentColumn) bool { return c.count }))
	return orWords(t, few, report.Texts(shown, func(bd report.BundleDeployment) string {
		return cmp.Or(digest.NotReady(bd.Counts), none)
	}))
}

func filled(l *layout, shown []report.BundleDeployment, list []deploymentColumn) *table {
	t := newTable(l, nil)
	for _, c := range list {
		t.columns = append(t.columns, c.column)
	}
	for i := range shown {
		row := make([]phrase, 0, len(list))
		for _, c := range list {
			row = append(row, c.cell(l, &shown[i]))
		}
		t.add(row...)
	}
	return t
}

// orWords returns a narrow table with few of its columns, and one of words instead of the others, if that leaves more
// width for the names.
func orWords(t, few *table, words []string) *table {
	left, widest := few.left()-len(gap), span(problemsHeader)
	for _, s := range words {
		widest = max(widest, span(s))
	}
	if t.left() >= max(minName, left-widest) {
		return t
	}
	few.columns = append(few.columns, column{header: problemsHeader})
	for i := range few.rows {
		few.rows[i] = append(few.rows[i], join(begin(words[i], left-minName)))
	}
	return few
}

// problemsHeader is the header of the column that replaces the columns of counts on a narrow terminal.
const problemsHeader = "NOT READY"

// sameName reports whether bundle deployments have one name: they are those of one bundle.
func sameName(all []report.BundleDeployment) bool {
	return !slices.ContainsFunc(all, func(bd report.BundleDeployment) bool { return bd.Name != all[0].Name })
}

// deploymentColumn is a column of the table of bundle deployments.
type deploymentColumn struct {
	column
	wide bool // only in the wide table
	cell func(*layout, *report.BundleDeployment) phrase
}

var columns = []deploymentColumn{
	{column{header: "BUNDLEDEPLOYMENT"}, false, func(l *layout, bd *report.BundleDeployment) phrase {
		if l.wide {
			return join(bd.Key())
		}
		return join(bd.Name)
	}}, // shortened to the remaining width
	{column{header: clusterHeader}, true, func(l *layout, bd *report.BundleDeployment) phrase {
		return join(l.atMost(bd.Cluster, maxCluster))
	}},
	{column{header: "STATE"}, true, func(_ *layout, bd *report.BundleDeployment) phrase { return join(bd.State) }},
	{column{header: "READY", right: true}, false, func(_ *layout, bd *report.BundleDeployment) phrase {
		return ready(bd)
	}},
	{column{header: "FLEET REPORTS", short: "FLEET", right: true}, false, fleetReports},
	number("MISSING", "MISS", red, func(c report.Counts) int { return c.Missing }),
	number("UNOWNED", "UNOWN", red, func(c report.Counts) int { return c.Unowned }),
	number("MODIFIED", "MODIF", yellow, func(c report.Counts) int { return c.Modified }),
	number("ORPHANED", "ORPH", yellow, func(c report.Counts) int { return c.Orphaned }),
	number("NOTREADY", "NOTRDY", yellow, func(c report.Counts) int { return c.NotReady }),
	number("UNKNOWN", "UNKN", yellow, func(c report.Counts) int { return c.Unknown }),
	{column{header: "FLEET STATE"}, true, func(_ *layout, bd *report.BundleDeployment) phrase {
		return join(cmp.Or(bd.Reported, &report.Reported{}).State)
	}},
	{column{header: "RELEASE"}, true, func(_ *layout, bd *report.BundleDeployment) phrase { return join(bd.Release) }},
	{column{header: "SET ID"}, true, func(_ *layout, bd *report.BundleDeployment) phrase { return join(bd.SetID) }},
}

// clusterHeader is the header of the column of clusters. On a terminal, its names have at most maxCluster columns.
const clusterHeader, maxCluster = "CLUSTER", 24

// number is the column of a number of objects.
func number(header, short string, as style, count func(report.Counts) int) deploymentColumn {
	return deploymentColumn{column{header: header, short: short, right: true, count: true}, false,
		func(_ *layout, bd *report.BundleDeployment) phrase {
			n := count(bd.Counts)
			if n == 0 {
				return join(none)
			}
			return styled(as, strconv.Itoa(n))
		}}
}

func ready(bd *report.BundleDeployment) phrase {
	c := bd.Counts
	as := green
	switch {
	case bd.WithoutResult():
		return styled(yellow, "?")
	case c.Ready+c.Unknown < c.Desired:
		as = red
	case c.Unknown > 0:
		as = yellow
	}
	return styled(as, fraction(c.Ready, c.Desired))
}

// fleetReports shows the numbers of the status, or its state if it has none. It also shows a state that the numbers do
// not: that of a deployment without a result, and one such as WaitApplied, in which all objects of the deployment
// before are ready.
func fleetReports(l *layout, bd *report.BundleDeployment) phrase {
	switch r := bd.Reported; {
	case r == nil || r.Ready == nil && r.State == "":
		return join(none)
	case r.Ready == nil || r.DesiredReady == nil:
		return join(l.bounded(r.State))
	case !l.wide && showsState(bd):
		return join(l.bounded(r.State), " ", reportedFraction(r))
	default:
		return join(reportedFraction(r))
	}
}

// showsState reports whether Fleet reports a state that its numbers do not show.
func showsState(bd *report.BundleDeployment) bool {
	switch bd.Reported.State {
	case "", string(report.Ready):
		return false
	}
	allReady := bd.Counts.Ready == bd.Counts.Desired
	return bd.Reason != "" || allReady && bd.State != report.Ready
}

// reportedFraction writes the numbers that Fleet reports, and whether they are old.
func reportedFraction(r *report.Reported) string {
	out := digest.ReportedFraction(r)
	if r.Stale {
		out += " (old)"
	}
	return out
}

// bounded shortens a state, which may be any text, to the length of Fleet's states.
func (l *layout) bounded(state string) string { return l.atMost(state, len("WaitCheckIn")) }
