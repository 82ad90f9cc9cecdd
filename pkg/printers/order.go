// SPDX-License-Identifier: Apache-2.0

package printers

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
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
	byWell := map[bool][]report.BundleDeployment{}
	for _, bd := range r.shown {
		well := asReported(&bd) && !problem(bd)
		byWell[well] = append(byWell[well], bd)
	}
	if len(byWell[true]) > maxShown && !l.All {
		r.shown, r.well = byWell[false], byWell[true]
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
		return found[bundleKey{bd.Cluster, bd.Key()}] || onClusters[bundleKey{bd.Cluster, bd.Bundle}]
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
	stale := report.Count(r.unread, func(bd report.BundleDeployment) bool { return bd.Reported.Stale })
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
		other, old := "", ""
		if unread {
			other = "other "
		}
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
	other, where := "other ", ""
	if len(r.shown) == 0 {
		other = ""
	}
	if n := clustersOf(r.well); n > 1 {
		where = " on " + plural(n, "cluster")
	}
	reported := ", as Fleet reports"
	if slices.ContainsFunc(r.well, func(bd report.BundleDeployment) bool { return bd.Reported == nil }) {
		reported = ""
	}
	l.say("", fmt.Sprintf("Ready%s: %s%s (--all shows them).", reported,
		plural(len(r.well), other+"bundle deployment"), where))
}

// clustersOf is the number of clusters of bundle deployments.
func clustersOf(all []report.BundleDeployment) int {
	return len(grouped(all, func(bd report.BundleDeployment) string { return bd.Cluster }))
}

func onOtherCluster(bd report.BundleDeployment) bool { return digest.Unread(&bd) }

// bundleKey identifies a bundle deployment. The bundle deployments of several clusters may have the same name if they
// are known by their releases alone.
type bundleKey struct{ cluster, bundleDeployment string }

// findings adds the problems bundle by bundle, the most urgent bundle first. Those of several bundles, or of none,
// have parts of their own.
func findings(l *layout, a *report.Audit) {
	deployments := map[bundleKey]*report.BundleDeployment{}
	for i := range a.BundleDeployments {
		bd := &a.BundleDeployments[i]
		deployments[bundleKey{bd.Cluster, bd.Key()}] = bd
	}
	for _, part := range grouped(problems(l, a), func(p *digest.Problem) string { return titleOf(p, deployments) }) {
		title := titleOf(part[0], deployments)
		if l.Width > 0 { // in several lines if the terminal is too narrow
			l.add(paragraph{words: wordsOf(title), rest: len(gap), style: strong})
		} else {
			l.title(title)
		}
		f := part[0].First()
		group(l, part, differences(deployments[bundleKey{f.Cluster, f.BundleDeployment}]))
	}
}

// problems arranges the findings that are shown. Without limits, and with the
// values of fields, each finding is shown by itself.
func problems(l *layout, a *report.Audit) []*digest.Problem {
	visible := visibleIn(l, a)
	if l.limits() && !l.Diff {
		return digest.Problems(visible, maxRepeated)
	}
	out := make([]*digest.Problem, len(visible))
	for i, f := range visible {
		out[i] = &digest.Problem{Findings: []*report.Finding{f}}
	}
	digest.Sort(out)
	return out
}

// titleOf returns the title of the part in which a problem is shown.
func titleOf(p *digest.Problem, deployments map[bundleKey]*report.BundleDeployment) string {
	f := p.First()
	bd := deployments[bundleKey{f.Cluster, f.BundleDeployment}]
	several := slices.ContainsFunc(p.Findings, func(o *report.Finding) bool { return o.Bundle != f.Bundle })
	switch clusters := p.Clusters(); {
	case bd == nil:
		return "OTHER FINDINGS"
	case several:
		return "SEVERAL BUNDLES"
	case len(p.Findings) > 1 && len(clusters) > 1:
		return fmt.Sprintf("bundle %s on %d clusters (%s)", f.Bundle, len(clusters), first(clusters, maxJoined))
	case bd.Cluster != "":
		return "bundle " + bd.Bundle + " on cluster " + bd.Cluster
	}
	return "bundle deployment " + bd.Key()
}

// differences are the fields that differ by their object.
func differences(bd *report.BundleDeployment) map[object.Ref][]report.Difference {
	out := map[object.Ref][]report.Difference{}
	if bd == nil {
		return out
	}
	for _, r := range bd.Resources {
		out[r.Ref] = r.Differences
	}
	return out
}

// group shows the problems of one part, at most maxShown of each code.
func group(l *layout, list []*digest.Problem, diffs map[object.Ref][]report.Difference) {
	shown, total := map[string]int{}, map[string]int{}
	steps := make([][]report.Remedy, len(list))
	for i, p := range list {
		total[p.First().Code]++
		steps[i] = stepsOf(l, p.First())
	}
	var last []report.Remedy
	for i, p := range list {
		f := *p.First()
		shown[f.Code]++
		if n := shown[f.Code]; n > maxShown && l.limits() {
			if n == total[f.Code] {
				l.more("  ", n-maxShown, " of "+f.Code)
			}
			continue
		}
		own := steps[i]
		if i+1 < len(list) && shown[f.Code] != maxShown {
			own = ownRemedies(f.Code, own, list[i+1].First().Code, steps[i+1])
		}
		var fields []report.Difference // whose values are shown
		if l.Diff && digest.AboutFields(&f) && len(diffs[f.Object]) > 0 {
			fields = diffs[f.Object]
			f.Evidence = otherEvidence(f.Evidence, fields)
			own = slices.DeleteFunc(slices.Clone(own), func(r report.Remedy) bool {
				return strings.HasSuffix(r.Command, " --diff")
			})
		}
		finding(l, f)
		diff(l, f.Cluster, f.Object, fields)
		others(l, p)
		if len(own) > 0 && !sameRemedies(own, last) {
			remedies(l, inset, own)
			l.more(inset, len(f.NextSteps())-len(stepsOf(l, &f)), " steps")
			last = own
		}
	}
	l.end()
}

// ownRemedies returns the remedies of a finding that are shown before the next finding. The others are shown after it,
// because it has them too: all of them, or some of them if it has the same code.
func ownRemedies(code string, own []report.Remedy, nextCode string, next []report.Remedy) []report.Remedy {
	if code != nextCode && !sameRemedies(own, next) {
		return own
	}
	return slices.DeleteFunc(slices.Clone(own), func(r report.Remedy) bool {
		return slices.ContainsFunc(next, func(n report.Remedy) bool { return sameRemedy(r, n) })
	})
}

// others names the equal findings of a problem, and says what follows from it.
func others(l *layout, p *digest.Problem) {
	if n := len(p.Findings) - 1; n > 0 {
		names := report.Texts(p.Findings[1:], digest.Subject)
		l.paint(inset, dim, fmt.Sprintf("the same for %d more: %s", n, first(names, maxJoined)))
	}
	if so := digest.Consequences(p); so != "" {
		l.paint(inset, dim, so+" (-o wide shows them)")
	}
}

// stepsOf returns the ways to proceed that are shown. Without -o wide or --all, they are those of at most maxRepeated
// clusters.
func stepsOf(l *layout, f *report.Finding) []report.Remedy {
	short := *f
	if l.limits() {
		short.PerCluster = f.PerCluster[:min(len(f.PerCluster), maxRepeated)]
	}
	return short.NextSteps()
}

func finding(l *layout, f report.Finding) {
	problem(l, f.Severity, f.Code, f.Message)
	evidence := f.Described()
	if !l.wide {
		evidence = report.Brief(f.Code, evidence)
	}
	if n := len(f.Clusters); n > 0 {
		clusters := strings.Join(limited(l, f.Clusters), ", ")
		l.paint(inset, dim, fmt.Sprintf("the same on %d clusters: %s", n, clusters))
	}
	for _, e := range evidence {
		l.paint(inset, dim, e)
	}
}
