// SPDX-License-Identifier: Apache-2.0

package check

import (
	"fmt"
	"maps"
	"slices"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/facts"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
)

// wrongOfRepo returns the wrong numbers of a GitRepo or HelmOp: its objects, on all clusters and on each, and its
// bundle deployments.
func (in *Input) wrongOfRepo(t *totals, f *Finding) []number {
	s := facts.StatusOf(t.Object)
	if s == nil || !written(t.Aggregate) {
		return nil
	}
	reported, actual := fleet.TotalsOfRepo(t.parts.reported), fleet.TotalsOfRepo(t.parts.actual)
	wrong := slices.Concat(wrongCounts(s.ResourceCounts, reported.Counts, actual.Counts, t.parts),
		wrongSummary(&s.Summary, reported.Summary, actual.Summary))
	clusters := wrongClusters(s, actual, t.parts)
	switch {
	case len(wrong) > 0 && len(actual.PerCluster) > 1:
		f.Evidence = clusters
	case len(wrong) == 0 && len(clusters) > 0 && s.ResourceCounts != nil:
		wrong = []number{t.parts.objects(shareOf(*s.ResourceCounts), share{-1, -1}, shareOf(actual.Counts))}
		wrong[0].actualText += ", but the counts of single clusters differ"
		f.Evidence = clusters
	}
	return wrong
}

// wrongClusters describes the clusters of which a GitRepo or HelmOp reports wrong counts.
func wrongClusters(s *v1alpha1.Status, actual fleet.RepoTotals, p *parts) []string {
	if s.PerCluster == nil || !p.countsKnown {
		return nil
	}
	all := maps.Clone(actual.PerCluster)
	for c := range s.PerCluster {
		all[c] = actual.PerCluster[c]
	}
	var out []string
	for _, c := range slices.Sorted(maps.Keys(all)) {
		if reported := s.PerCluster[c]; !facts.Alike(reported, all[c]) {
			out = append(out, fmt.Sprintf("on cluster %s, it reports %s objects ready%s, %s are%s", c,
				shareOf(reported), inWords(reported), shareOf(all[c]), inWords(all[c])))
		}
	}
	if most := 3; len(out) > most {
		out = append(out[:most], facts.Count(len(out)-most, "more cluster"))
	}
	return out
}

// wrongClustersOfRepo returns the wrong number of ready clusters of a GitRepo or HelmOp.
func (in *Input) wrongClustersOfRepo(t *totals, f *Finding) []number {
	s := facts.StatusOf(t.Object)
	if s == nil || s.DesiredReadyClusters == nil || !written(t.Aggregate) {
		return nil
	}
	n := of(clustersReady, share{s.ReadyClusters, *s.DesiredReadyClusters},
		readyClusters(t.parts.reported), readyClusters(t.parts.actual))
	t.bundles = in.Facts.BundlesOf(facts.RefOf(t.Aggregate))
	if x, known := in.expectedOf(t.Aggregate, t.parts.actual, t.bundles); known && x.differs() {
		t.of = "the clusters that its bundles target"
		if n.reported == n.expected && n.expected == n.actual {
			t.why = x.why()
		} else {
			f.Evidence = []string{x.why().Words}
		}
		n = of(n.what, n.reported, n.expected, readyClusters(x.members))
	}
	if n.reported == n.actual {
		return nil
	}
	n.bugs = []*fleet.Bug{&fleet.BugReadyClusters}
	return []number{n}
}

func readyClusters(members []fleet.Member) share {
	totals := fleet.TotalsOfRepo(members)
	return share{totals.ReadyClusters, totals.DesiredReadyClusters}
}

// stickyList reports the list of objects of a GitRepo or HelmOp in which Fleet calls objects Unknown, because
// incompleteState of a bundle deployment is never reset.
func (in *Input) stickyList(out *found, a *evaluate.Aggregate) {
	if _, ok := in.partsOf(a); !ok || !written(a) {
		return
	}
	unknown := 0
	for _, r := range facts.StatusOf(a.Object).Resources {
		if r.State == string(evaluate.Unknown) {
			unknown++
		}
	}
	sticky, incomplete := "", false
	for _, d := range a.BundleDeployments {
		switch status := &d.BD.Status; {
		case !status.IncompleteState:
		case full(status):
			incomplete = true
		default:
			sticky = d.Key()
		}
	}
	if unknown == 0 || sticky == "" || incomplete {
		return
	}
	f := Finding{Object: facts.RefOf(a), AsOf: a.Object.Reported().AsOf, Cause: facts.StickyIncomplete, Aspect: "list"}
	f.Message = fmt.Sprintf("%s lists %s as Unknown: incompleteState of %s is still set, although its lists are "+
		"complete", noun(a), facts.Count(unknown, "object"), sticky)
	out.report(f, in.Steps.Commands.Describe(f.Object))
}
