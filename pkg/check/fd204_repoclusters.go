// SPDX-License-Identifier: Apache-2.0

package check

import (
	"fmt"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
)

var repoClusters = Check{
	Code: "FD204", Name: "RepoClusters", Severity: Warning,
	Title: "a GitRepo or HelmOp reports another number of ready clusters than it has",
	Explain: "A cluster is ready if all its deployments of the GitRepo are. Fleet counts only clusters that have a deployment: targets that a rollout has not reached " +
		"are missing. Fleet 0.10 reports the clusters of one bundle.",
	run: func(in *Input, report func(Finding)) {
		pending := in.pendingTargets()
		in.eachRepo(func(a *evaluate.Aggregate, t totals, s *v1alpha1.Status, reported, actual fleet.RepoTotals) {
			if s.DesiredReadyClusters == nil {
				return
			}
			t.bugs = func(number) []*fleet.Bug { return []*fleet.Bug{&fleet.BugReadyClusters} }
			n := of(clustersReady, share{s.ReadyClusters, *s.DesiredReadyClusters}, share{reported.ReadyClusters, reported.DesiredReadyClusters},
				share{actual.ReadyClusters, actual.DesiredReadyClusters})
			if n.reported != n.actual {
				in.reportWrong(t, []number{n}, Finding{Remediation: in.describe(a)}, report)
				return
			}
			if b := pending[[2]string{a.Kind, a.Key()}]; b != nil && b.Status.Summary.DesiredReady > n.reported.desired {
				f := Finding{Object: Ref(a.Kind, a.Object.GetNamespace(), a.Object.GetName()), AsOf: b.Reported().AsOf, Cause: PendingRollout, Remediation: in.describe(a)}
				f.Message = fmt.Sprintf("%s%s reports %s clusters ready, its bundle %s has %d targets: the rollout has not reached %d of them", t.kind, a.Key(), n.reported,
					b.Name, b.Status.Summary.DesiredReady, b.Status.Summary.Pending)
				report(f)
			}
		})
	},
}

// pendingTargets returns, for each GitRepo and HelmOp by kind and "namespace/name", the Bundle with the most targets among those of which a target has
// no bundle deployment yet. The number of targets is the one that the Bundle reports; the matcher of targets can replace it.
func (in *Input) pendingTargets() map[[2]string]*v1alpha1.Bundle {
	out := map[[2]string]*v1alpha1.Bundle{}
	for _, b := range in.Desired.Bundles {
		s := b.Status.Summary
		repo, ok := repoOf(b)
		if last := out[repo]; ok && s.Pending > 0 && (last == nil || last.Status.Summary.DesiredReady < s.DesiredReady) {
			out[repo] = b
		}
	}
	return out
}
