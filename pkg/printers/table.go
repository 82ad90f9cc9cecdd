// SPDX-License-Identifier: Apache-2.0

package printers

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/printers/digest"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

// column is one column of a table. cell is its content in the table of bundle deployments.
type column struct {
	header string
	short  string // the header if there is little room; "" for the same
	right  bool
	whole  bool // a text that is never shortened
	wide   bool // only in the wide table
	count  bool // a number of objects that are not ready
	cell   func(t text, bd *report.BundleDeployment) string
}

var columns = []column{
	{header: "BUNDLEDEPLOYMENT", cell: func(t text, bd *report.BundleDeployment) string {
		return t.name(bd)
	}}, // shortened to the remaining width
	{header: clusterHeader, wide: true, cell: func(t text, bd *report.BundleDeployment) string {
		if !t.fits() {
			return printable(bd.Cluster)
		}
		return short(bd.Cluster, maxCluster)
	}},
	{header: "STATE", wide: true, cell: func(_ text, bd *report.BundleDeployment) string { return string(bd.State) }},
	{header: "READY", right: true, cell: ready},
	{header: "FLEET REPORTS", short: "FLEET", right: true, cell: fleetReports},
	{header: "MISSING", short: "MISS", right: true, count: true, cell: number(red, func(c report.Counts) int {
		return c.Missing
	})},
	{header: "UNOWNED", short: "UNOWN", right: true, count: true, cell: number(red, func(c report.Counts) int {
		return c.Unowned
	})},
	{header: "MODIFIED", short: "MODIF", right: true, count: true, cell: number(yellow, func(c report.Counts) int {
		return c.Modified
	})},
	{header: "ORPHANED", short: "ORPH", right: true, count: true, cell: number(yellow, func(c report.Counts) int {
		return c.Orphaned
	})},
	{header: "NOTREADY", short: "NOTRDY", right: true, count: true, cell: number(yellow, func(c report.Counts) int {
		return c.NotReady
	})},
	{header: "UNKNOWN", short: "UNKN", right: true, count: true, cell: number(yellow, func(c report.Counts) int {
		return c.Unknown
	})},
	{header: "FLEET STATE", wide: true, cell: func(_ text, bd *report.BundleDeployment) string {
		if bd.Reported == nil {
			return ""
		}
		return printable(bd.Reported.State)
	}},
	{header: "RELEASE", wide: true, cell: func(_ text, bd *report.BundleDeployment) string {
		return printable(bd.Release)
	}},
	{header: "SET ID", wide: true, cell: func(_ text, bd *report.BundleDeployment) string {
		return printable(bd.SetID)
	}},
}

// clusterHeader is the header of the column of clusters. On a terminal, its names have at most maxCluster columns.
const clusterHeader, maxCluster = "CLUSTER", 24

// none is a cell without a number.
const none = "-"

// minName is the least width of names: that of their header.
const minName = len("BUNDLEDEPLOYMENT")

func (t text) name(bd *report.BundleDeployment) string {
	if t.wide {
		return printable(bd.Key())
	}
	return printable(bd.Name)
}

// short removes the middle of a name that is longer than n columns: names of bundles of one repository differ at the
// end.
func short(s string, n int) string {
	s = printable(s)
	if span(s) <= n {
		return s
	}
	name := []rune(s)
	begin, end := 0, len(name)
	for begin < end && span(string(name[:begin+1])) <= n/2 {
		begin++
	}
	for end > begin && span(string(name[end-1:])) <= (n-1)/2 {
		end--
	}
	for end < len(name) && span(string(name[end])) == 0 {
		end++ // a combining character without its letter
	}
	return string(name[:begin]) + "…" + string(name[end:])
}

func ready(t text, bd *report.BundleDeployment) string {
	switch c := bd.Counts; {
	case bd.WithoutResult():
		return t.colour(yellow, "?")
	case c.Ready+c.Unknown < c.Desired:
		return t.colour(red, fraction(c.Ready, c.Desired))
	case c.Unknown > 0:
		return t.colour(yellow, fraction(c.Ready, c.Desired))
	}
	return t.colour(green, fraction(bd.Counts.Ready, bd.Counts.Desired))
}

// fleetReports shows the numbers of the status, or its state if it has none. It also shows a state that the numbers do
// not: that of a deployment without a result, and one such as WaitApplied, in which all objects of the deployment
// before are ready.
func fleetReports(t text, bd *report.BundleDeployment) string {
	switch r := bd.Reported; {
	case r == nil || r.Ready == nil && r.State == "":
		return none
	case r.Ready == nil || r.DesiredReady == nil:
		return t.bounded(r.State)
	case !t.wide && showsState(bd):
		return t.bounded(r.State) + " " + reportedFraction(r)
	default:
		return reportedFraction(r)
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
func (t text) bounded(state string) string {
	if !t.fits() {
		return printable(state)
	}
	return short(state, len("WaitCheckIn"))
}

func number(code string, of func(report.Counts) int) func(text, *report.BundleDeployment) string {
	return func(t text, bd *report.BundleDeployment) string {
		n := of(bd.Counts)
		if n == 0 {
			return none
		}
		return t.colour(code, strconv.Itoa(n))
	}
}

// deployments shows one line per bundle deployment. If there are several clusters, each is named on a line of its own:
// a column would take more width. In an order of the user, it is a column. Clusters that were read come first. Bundle
// deployments on other clusters are only counted, unless Fleet reports a problem of them; those that are well are only
// counted if there are many.
func (t text) deployments(b *bytes.Buffer, a *report.Audit) error {
	r := rows{shown: a.BundleDeployments}
	if !t.wide {
		r = t.ordered(a)
	}
	if len(r.shown) == 0 {
		t.notShown(b, r, false)
		return nil
	}
	shown := r.shown
	first := shown[0].Cluster
	elsewhere := func(bd report.BundleDeployment) bool { return bd.Cluster != first }
	several := !t.wide && (slices.ContainsFunc(shown, elsewhere) || slices.ContainsFunc(r.well, elsewhere))
	named := several && !t.Sorted
	g := t.grid(t.fitting(shown, several && t.Sorted))
	for i := range shown {
		var row []string
		for _, c := range g.columns {
			row = append(row, c.cell(t, &shown[i]))
		}
		if named {
			row[0] = gap + row[0]
		}
		g.rows = append(g.rows, row)
	}
	g.cutNames()
	lines, err := g.lines()
	if err != nil {
		return err
	}
	if g.headed {
		fmt.Fprintln(b, lines[0])
		lines = lines[1:]
	}
	for i, bd := range shown {
		if named && (i == 0 || bd.Cluster != shown[i-1].Cluster) {
			fmt.Fprintln(b, t.clusterLine(&bd))
		}
		fmt.Fprintln(b, lines[i])
	}
	t.notShown(b, r, named)
	return nil
}

// clusterLine names a cluster, and says if it was not read.
func (t text) clusterLine(bd *report.BundleDeployment) string {
	suffix := ""
	if onOtherCluster(*bd) {
		suffix = " (not read)"
	}
	name := printable(cmp.Or(bd.Cluster, "unknown cluster"))
	if t.fits() {
		name = short(name, t.columns()-len(suffix))
	}
	return name + t.faint(suffix)
}

func onOtherCluster(bd report.BundleDeployment) bool { return bd.Reason == clusterNotRead }

// clusterNotRead is the reason of a bundle deployment on a cluster that was not read.
const clusterNotRead = "ClusterNotRead"

// aggregates shows the aggregates with other reported counts than the evaluated ones or, if not all of their bundle
// deployments were evaluated, than the totals of the statuses. Aggregates of which no deployment has a result, and that
// were read completely, are left out.
func (t text) aggregates(b *bytes.Buffer, a *report.Audit) error {
	g := t.grid([]column{{header: "AGGREGATE"}, {header: "READY", right: true}, {header: "STATUSES", right: true},
		{header: "FLEET REPORTS", right: true}, {header: "STATE"}})
	evaluated := map[string]bool{}
	for _, bd := range a.BundleDeployments {
		if bd.State != report.Unknown {
			evaluated["gitrepo "+bd.GitRepo], evaluated["helmop "+bd.HelmOp], evaluated["cluster "+bd.Cluster] = true,
				true, true
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
			row, differs := t.aggregate(name, &s, known)
			if row != nil && (differs || !t.limits()) {
				g.rows = append(g.rows, row)
			}
		}
	}
	if len(g.rows) == 0 {
		return nil
	}
	g.removeEmpty("STATE")
	g.removeEmpty("STATUSES")
	g.cutNames()
	return g.write(b)
}

// aggregate returns the row of an aggregate, and whether Fleet reports other numbers; nil if there is nothing to
// compare. known is true if a bundle deployment of it has a result.
func (t text) aggregate(name string, s *report.Aggregate, known bool) (row []string, differs bool) {
	reported := digest.ReportedFraction(s.Reported)
	if reported == "" || s.OutOfScope {
		return nil, false
	}
	row = []string{printable(name), t.colour(yellow, "?"), "", reportedFraction(s.Reported),
		t.bounded(s.Reported.State)}
	if s.Actual == nil {
		total := digest.ReportedFraction(s.Statuses)
		row[2] = cmp.Or(total, none)
		return row, total != "" && total != reported
	}
	if !known && s.Actual.BundleDeployments > 0 {
		return nil, false
	}
	row[1] = fraction(s.Actual.Counts.Ready, s.Actual.Counts.Desired)
	return row, row[1] != reported
}
