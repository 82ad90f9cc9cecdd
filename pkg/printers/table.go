// SPDX-License-Identifier: Apache-2.0

package printers

import (
	"cmp"
	"slices"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/printers/digest"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

// deployments shows one line per bundle deployment. If there are several clusters, each is named on a line of its own:
// a column would take more width. In an order of the user, it is a column, and for one bundle the first one. Clusters
// that were read come first. Bundle deployments on other clusters are only counted, unless Fleet reports a problem of
// them; those that are well are only counted if there are many.
func (t text) deployments(a *report.Audit) {
	r := rows{shown: a.BundleDeployments}
	if !t.wide {
		r = t.ordered(a)
	}
	if len(r.shown) == 0 {
		t.notShown(r, false)
		return
	}
	shown := r.shown
	first := shown[0].Cluster
	elsewhere := func(bd report.BundleDeployment) bool { return bd.Cluster != first }
	several := !t.wide && (slices.ContainsFunc(shown, elsewhere) || slices.ContainsFunc(r.well, elsewhere))
	named := several && !t.Sorted && !sameName(shown)
	g := t.fitting(shown, several && !named)
	for i := range g.rows {
		if named {
			g.rows[i][0] = gap + g.rows[i][0]
		}
	}
	g.cutNames()
	lines := t.rows(g)
	if g.headed {
		t.line(lines[0])
		lines = lines[1:]
	}
	for i, bd := range shown {
		if named && (i == 0 || bd.Cluster != shown[i-1].Cluster) {
			t.line(t.clusterLine(&bd))
		}
		t.line(lines[i])
	}
	t.notShown(r, named)
}

// clusterLine names a cluster, and says if it was not read.
func (t text) clusterLine(bd *report.BundleDeployment) string {
	suffix := ""
	if onOtherCluster(*bd) {
		suffix = " (not read)"
	}
	return t.atMost(cmp.Or(bd.Cluster, "unknown cluster"), t.columns()-len(suffix)) + t.faint(suffix)
}

// aggregates shows the aggregates with other reported counts than the evaluated ones or, if not all of their bundle
// deployments were evaluated, than the totals of the statuses. Aggregates of which no deployment has a result, and that
// were read completely, are left out.
func (t text) aggregates(a *report.Audit) {
	g := t.grid([]column{{header: "AGGREGATE"}, {header: "READY", right: true}, {header: "STATUSES", right: true},
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
			row, differs := t.aggregate(name, &s, known)
			if row != nil && (differs || !t.limits()) {
				g.rows = append(g.rows, row)
			}
		}
	}
	if len(g.rows) == 0 {
		return
	}
	g.removeEmpty("STATE")
	g.removeEmpty("STATUSES")
	g.cutNames()
	t.table(g)
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
