// SPDX-License-Identifier: Apache-2.0

package check

import (
	"fmt"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/facts"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/targeting"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

// expectedClusters compares the deployments of a GitRepo or HelmOp with those that the targets of its bundles expect.
type expectedClusters struct {
	// members are the deployments that are expected. Those that do not exist are Pending.
	members []fleet.Member
	// pending, absent and leftover describe the deployments that differ.
	pending, absent, leftover []string
}

func (x *expectedClusters) differs() bool { return len(x.pending)+len(x.absent)+len(x.leftover) > 0 }

// why explains why Fleet counts other clusters than those that are targeted.
func (x *expectedClusters) why() facts.Explanation {
	switch {
	case len(x.absent) > 0:
		return facts.Explanation{Cause: facts.Unexplained,
			Words: fmt.Sprintf("%s not exist, such as that of %s (FD302)",
				doNot(len(x.absent), "targeted bundle deployment"), x.absent[0])}
	case len(x.leftover) > 0:
		return facts.Explanation{Cause: facts.Unexplained,
			Words: fmt.Sprintf("it counts %s, such as %s (FD301)",
				facts.Count(len(x.leftover), "leftover bundle deployment"), x.leftover[0])}
	}
	return facts.Explanation{Cause: facts.PendingRollout,
		Words: fmt.Sprintf("the rollout of %s has not reached %s", x.pending[0],
			facts.Count(len(x.pending), "targeted bundle deployment"))}
}

func doNot(n int, what string) string {
	if n == 1 {
		return facts.Count(n, what) + " does"
	}
	return facts.Count(n, what) + " do"
}

// expectedOf returns the deployments of a GitRepo or HelmOp that the targets of its bundles expect. actual are those
// that exist, in the order of the aggregate. known is false if a target, or the reason for which a deployment does not
// exist, is not certain.
func (in *Input) expectedOf(a *evaluate.Aggregate, actual []fleet.Member,
	bundles []*v1alpha1.Bundle) (out expectedClusters, known bool) {
	for i, d := range a.BundleDeployments {
		left, certain := in.Facts.LeftOver(d)
		if !certain {
			return out, false
		}
		if left {
			out.leftover = append(out.leftover, d.Key())
			continue
		}
		out.members = append(out.members, actual[i])
	}
	for _, b := range bundles {
		if facts.Deleting(b) || !in.addExpected(&out, b) {
			return out, false
		}
	}
	return out, true
}

// addExpected adds the targeted deployments of a bundle that do not exist. It returns false if the targets are not
// certain. If a BundleNamespaceMapping may add clusters, the number of targets that the Bundle reports must confirm
// that none does.
func (in *Input) addExpected(out *expectedClusters, b *v1alpha1.Bundle) bool {
	t, targeted, unmapped := in.Facts.Targets(b), 0, false
	for r := range t.Results() {
		c := r.Cluster.Cluster
		exists := in.Facts.BundleDeployment(c.Status.Namespace+"/"+b.Name) != nil
		switch r.Outcome {
		case targeting.Expected, targeting.Blocked:
			targeted++
		case targeting.Unknown:
			if exists {
				targeted++
			}
		}
		switch {
		case exists, facts.Deleting(c):
		case r.Outcome == targeting.Excluded, r.Outcome == targeting.Blocked:
		case r.Reason == targeting.MappingsUnread:
			unmapped = true
		case r.Outcome == targeting.Unknown || !in.addAbsent(out, b, c):
			return false
		}
	}
	if t.Complete() && !unmapped {
		return true
	}
	confirmed := targeted > 0 && b.Status.Summary.DesiredReady == targeted
	return confirmed && in.Facts.Read(state.ClusterKind, b.Namespace)
}

// addAbsent adds a targeted deployment that does not exist. It returns false if it is not certain why it does not.
func (in *Input) addAbsent(out *expectedClusters, b *v1alpha1.Bundle, c *v1alpha1.Cluster) bool {
	inRollout := facts.Observed(b) && b.Status.Summary.Pending > 0
	switch {
	case !in.lacks(b, c):
		return false
	case !in.rolloutPending(b):
		out.absent = append(out.absent, "bundle "+facts.Key(b)+" on cluster "+facts.Key(c))
	case inRollout && !facts.Failed(b) && !unresolvedChart(b):
		out.pending = append(out.pending, "bundle "+facts.Key(b))
	default:
		return false
	}
	out.members = append(out.members, fleet.Member{Name: c.Status.Namespace + "/" + b.Name, Cluster: facts.Key(c),
		State: fleet.Pending})
	return true
}
