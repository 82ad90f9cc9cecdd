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
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

var repoResources = Check{
	Code: "FD203", Name: "RepoResources", Severity: Warning,
	Title: "the counts of a GitRepo or HelmOp are not the total of its bundle deployments",
	run: func(in *Input, report func(Finding)) {
		in.eachRepo(func(a *evaluate.Aggregate, t totals, s *v1alpha1.Status, reported, actual fleet.RepoTotals) {
			t.bugs = t.parts.truncatedCounts
			wrong := slices.Concat(wrongCounts(s.ResourceCounts, reported.Counts, actual.Counts, t.parts), wrongSummary(&s.Summary, reported.Summary, actual.Summary))
			f := Finding{Remedies: in.describe(a)}
			clusters := wrongClusters(s, actual, t.parts)
			if len(wrong) > 0 && len(actual.PerCluster) > 1 {
				f.Evidence = clusters
			} else if len(wrong) == 0 && len(clusters) > 0 && s.ResourceCounts != nil {
				wrong = []number{of(objectsReady, shareOf(*s.ResourceCounts), share{-1, -1}, shareOf(actual.Counts))}
				wrong[0].actualText += ", but the counts of single clusters differ"
				f.Evidence = clusters
			}
			in.reportWrong(t, wrong, f, report)
			in.checkListed(t, s, report)
		})
	},
}

// checkListed reports a list of objects in which Fleet calls objects Unknown, because incompleteState of a bundle deployment is never reset.
func (in *Input) checkListed(t totals, s *v1alpha1.Status, report func(Finding)) {
	unknown := 0
	for _, r := range s.Resources {
		if r.State == string(evaluate.Unknown) {
			unknown++
		}
	}
	sticky, incomplete := "", false
	for _, d := range t.BundleDeployments {
		status := &d.BD.Status
		if status.IncompleteState && len(status.ModifiedStatus) < fleet.MaxListed && len(status.NonReadyStatus) < fleet.MaxListed {
			sticky = d.Key()
		} else if status.IncompleteState {
			incomplete = true
		}
	}
	if unknown == 0 || sticky == "" || incomplete {
		return
	}
	f := Finding{Object: facts.RefOf(t.Aggregate), AsOf: t.Object.Reported().AsOf, Cause: facts.StickyIncomplete, Aspect: "list", Remedies: in.describe(t.Aggregate)}
	f.Message = fmt.Sprintf("%s%s lists %s as Unknown: incompleteState of %s is still set, although its lists are complete", t.kind, t.Key(), facts.Count(unknown, "object"), sticky)
	report(f)
}

// truncatedCounts returns the bug of versions that count the entries of truncated lists, if it can make the total of the parts wrong.
func (p *parts) truncatedCounts(n number) []*fleet.Bug {
	if n.what != objectsReady || !p.truncated && !p.bulk {
		return nil
	}
	return []*fleet.Bug{&fleet.BugTruncatedCounts}
}

// eachRepo calls f for each GitRepo and HelmOp of which all bundle deployments are known.
func (in *Input) eachRepo(f func(a *evaluate.Aggregate, t totals, s *v1alpha1.Status, reported, actual fleet.RepoTotals)) {
	for _, kind := range []string{state.GitRepo, state.HelmOp} {
		for _, a := range in.Tree[kind] {
			s := facts.StatusOf(a.Object)
			if p, ok := in.partsOf(a); ok && s != nil && written(a) {
				f(a, newTotals(a, map[string]string{state.GitRepo: "gitrepo ", state.HelmOp: "helmop "}[kind], &p), s, fleet.TotalsOfRepo(p.reported), fleet.TotalsOfRepo(p.actual))
			}
		}
	}
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
			out = append(out, fmt.Sprintf("on cluster %s, it reports %s objects ready%s, %s are%s", c, shareOf(reported), inWords(reported), shareOf(all[c]), inWords(all[c])))
		}
	}
	if most := 3; len(out) > most {
		out = append(out[:most], facts.Count(len(out)-most, "more cluster"))
	}
	return out
}
