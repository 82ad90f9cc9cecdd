// SPDX-License-Identifier: Apache-2.0

package check

import (
	"fmt"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/facts"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
)

var repoClusters = Check{
	Code: "FD204", Name: "RepoClusters", Severity: Warning,
	Title: "a GitRepo or HelmOp reports another number of ready clusters than it has",
	run: func(in *Input, report func(Finding)) {
		bundles := in.bundlesOfRepos()
		in.eachRepo(func(a *evaluate.Aggregate, t totals, s *v1alpha1.Status, reported, actual fleet.RepoTotals) {
			if s.DesiredReadyClusters == nil {
				return
			}
			t.bugs = func(number) []*fleet.Bug { return []*fleet.Bug{&fleet.BugReadyClusters} }
			n := of(clustersReady, share{s.ReadyClusters, *s.DesiredReadyClusters}, share{reported.ReadyClusters, reported.DesiredReadyClusters},
				share{actual.ReadyClusters, actual.DesiredReadyClusters})
			f := Finding{Remedies: in.describe(a)}
			t.bundles = bundles[facts.RefOf(a)]
			if x, known := in.expectedOf(a, t.parts.actual, t.bundles); known && x.differs() {
				targeted := fleet.TotalsOfRepo(x.members)
				t.partsAs = "the clusters that its bundles target"
				if n.reported == n.expected && n.expected == n.actual {
					t.why = x.why()
				} else {
					f.Evidence = []string{x.why().Words}
				}
				n = of(n.what, n.reported, n.expected, share{targeted.ReadyClusters, targeted.DesiredReadyClusters})
			}
			if n.reported != n.actual {
				in.reportWrong(t, []number{n}, f, report)
			}
		})
	},
}

// bundlesOfRepos returns the Bundles of each GitRepo and HelmOp.
func (in *Input) bundlesOfRepos() map[object.Ref][]*v1alpha1.Bundle {
	out := map[object.Ref][]*v1alpha1.Bundle{}
	for _, b := range in.Desired.Bundles {
		if repo, ok := repoOf(b); ok {
			out[repo] = append(out[repo], b)
		}
	}
	return out
}

// expectedClusters compares the deployments of a GitRepo or HelmOp with those that the targets of its bundles expect.
type expectedClusters struct {
	// members are the deployments that are expected. Those that do not exist are Pending.
	members []fleet.Member
	// pending, absent and leftover count the deployments that differ; first describes the first of each.
	pending, absent, leftover int
	first                     struct{ pending, absent, leftover string }
}

func (x *expectedClusters) differs() bool { return x.pending+x.absent+x.leftover > 0 }

// why explains why Fleet counts other clusters than those that are targeted.
func (x *expectedClusters) why() facts.Explanation {
	switch {
	case x.absent > 0:
		return facts.Explanation{Cause: facts.Unexplained, Words: fmt.Sprintf("%s not exist, such as that of %s (FD302)", doNot(x.absent, "targeted bundle deployment"), x.first.absent)}
	case x.leftover > 0:
		return facts.Explanation{Cause: facts.Unexplained, Words: fmt.Sprintf("it counts %s, such as %s (FD301)", facts.Count(x.leftover, "leftover bundle deployment"), x.first.leftover)}
	}
	return facts.Explanation{Cause: facts.PendingRollout, Words: fmt.Sprintf("the rollout of %s has not reached %s", x.first.pending, facts.Count(x.pending, "targeted bundle deployment"))}
}

func doNot(n int, what string) string {
	if n == 1 {
		return facts.Count(n, what) + " does"
	}
	return facts.Count(n, what) + " do"
}
