// SPDX-License-Identifier: Apache-2.0

package printers

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/printers/digest"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

// rows are the bundle deployments of a table, in its order, and those that it only counts: unread ones on clusters that
// were not read, of which Fleet reports Ready, and well ones.
type rows struct{ shown, unread, well []report.BundleDeployment }

// ordered returns the rows of the table. With --all, it shows all bundle deployments.
func ordered(l *layout, a *report.Audit) rows {
	var r rows
	problem := withProblems(a.Findings)
	rank := map[string]int{} // of clusters
	for _, bd := range a.BundleDeployments {
		switch {
		case !l.All && wellElsewhere(&bd) && !problem(bd):
			r.unread = append(r.unread, bd)
			continue
		case !onOtherCluster(bd) && (problem(bd) || bd.State != report.Ready):
			rank[bd.Cluster] = min(rank[bd.Cluster], -2)
		case !onOtherCluster(bd):
			rank[bd.Cluster] = min(rank[bd.Cluster], -1)
		}
		r.shown = append(r.shown, bd)
	}
	well := func(bd report.BundleDeployment) bool { return asReported(&bd) && !problem(bd) }
	if count(r.shown, well) > maxShown && !l.All {
		all := r.shown
		r.shown = slices.DeleteFunc(slices.Clone(all), well)
		r.well = slices.DeleteFunc(all, func(bd report.BundleDeployment) bool { return !well(bd) })
	}
	if l.Sorted {
		return r
	}
	place := map[string]int{} // of clusters that have the same rank
	for _, bd := range r.shown {
		if _, known := place[bd.Cluster]; !known {
			place[bd.Cluster] = len(place)
		}
	}
	r.shown = problemsFirst(l, r.shown, func(bd report.BundleDeployment) int {
		if bd.State == report.Ready && !problem(bd) {
			return 0
		}
		return 1
	})
	slices.SortStableFunc(r.shown, func(x, y report.BundleDeployment) int {
		return cmp.Or(cmp.Compare(rank[x.Cluster], rank[y.Cluster]), cmp.Compare(place[x.Cluster], place[y.Cluster]))
	})
	return r
}

// wellElsewhere reports whether Fleet reports Ready for a bundle deployment on a cluster that was not read.
func wellElsewhere(bd *report.BundleDeployment) bool {
	return onOtherCluster(*bd) && bd.Reported != nil && bd.Reported.State == string(report.Ready)
}

// withProblems returns a function that reports whether a bundle deployment has an error or a warning among these
// findings.
func withProblems(findings []report.Finding) func(report.BundleDeployment) bool {
	// by bundle deployment; by bundle, if it has the same finding on several clusters
	found, onClusters := map[bundleKey]bool{}, map[bundleKey]bool{}
	for _, f := range findings {
		if f.Severity == report.Info {
			continue
		}
		found[bundleKey{f.Cluster, f.BundleDeployment}] = true
		for _, cluster := range f.Clusters {
			onClusters[bundleKey{cluster, f.Bundle}] = true
		}
	}
	return func(bd report.BundleDeployment) bool {
		return found[keyOf(&bd)] || onClusters[bundleKey{bd.Cluster, bd.Bundle}]
	}
}

// asReported reports whether all objects of a bundle deployment are ready, and Fleet reports so, in a status that is
// not old. On a downstream cluster, there is no status.
func asReported(bd *report.BundleDeployment) bool {
	c, r := bd.Counts, bd.Reported
	if bd.State != report.Ready || bd.Reason != "" {
		return false
	}
	if c.Ready != c.Desired || c.Orphaned > 0 {
		return false
	}
	if r == nil {
		return true
	}
	return r.State == string(report.Ready) && !r.Stale && digest.ReportedFraction(r) == fraction(c.Ready, c.Desired)
}

// notShown ends the table. It explains why bundle deployments have no result, and counts those that the table does not
// show. named is true if the lines of clusters say which of these were not read.
func notShown(l *layout, r rows, named bool) {
	reasons := reasonsOf(r.shown)
	stale := count(r.unread, func(bd report.BundleDeployment) bool { return bd.Reported.Stale })
	unread := reasons[digest.ClusterNotRead] > 0
	delete(reasons, digest.ClusterNotRead)
	noResult(l, reasons)
	if unread && !named {
		l.say("", "?: the cluster of the bundle deployment was not read.")
	}
	if len(r.well) > 0 {
		wellLine(l, r)
	}
	if len(r.unread) > 0 {
		other := ""
		if unread {
			other = "other "
		}
		old := ""
		if stale > 0 {
			old = fmt.Sprintf(", for %d in a status that is old", stale)
		}
		l.say("", fmt.Sprintf("Not read: %s on %s. Fleet reports Ready for all of them%s (--all shows them).",
			plural(len(r.unread), other+"bundle deployment"), plural(clustersOf(r.unread), "cluster"), old))
	}
	if unread || len(r.unread) > 0 {
		l.suggest(l.ReadClusters)
	}
	l.end()
}

// reasonsOf counts the reasons for which bundle deployments have no result.
func reasonsOf(all []report.BundleDeployment) map[string]int {
	out := map[string]int{}
	for _, bd := range all {
		if bd.Reason != "" {
			out[bd.Reason]++
		}
	}
	return out
}

func noResult(l *layout, reasons map[string]int) {
	for _, reason := range slices.Sorted(maps.Keys(reasons)) {
		l.say("", fmt.Sprintf("?: no result for %s: %s.", plural(reasons[reason], "bundle deployment"), reason))
	}
}

// wellLine counts the bundle deployments that the table does not show because they are well.
func wellLine(l *layout, r rows) {
	other, on := "other ", ""
	if len(r.shown) == 0 {
		other = ""
	}
	if n := clustersOf(r.well); n > 1 {
		on = " on " + plural(n, "cluster")
	}
	reported := ", as Fleet reports"
	if slices.ContainsFunc(r.well, func(bd report.BundleDeployment) bool { return bd.Reported == nil }) {
		reported = ""
	}
	l.say("", fmt.Sprintf("Ready%s: %s%s (--all shows them).", reported,
		plural(len(r.well), other+"bundle deployment"), on))
}

// clustersOf is the number of clusters of bundle deployments.
func clustersOf(all []report.BundleDeployment) int {
	return len(grouped(all, func(bd report.BundleDeployment) string { return bd.Cluster }))
}

func onOtherCluster(bd report.BundleDeployment) bool { return digest.Unread(&bd) }

// bundleKey identifies a bundle deployment. The bundle deployments of several clusters may have the same name if they
// are known by their releases alone.
type bundleKey struct{ cluster, bundleDeployment string }

func keyOf(bd *report.BundleDeployment) bundleKey {
	return bundleKey{bd.Cluster, bd.Key()}
}
