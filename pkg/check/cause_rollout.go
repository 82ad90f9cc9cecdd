// SPDX-License-Identifier: Apache-2.0

package check

import (
	"fmt"
	"slices"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/facts"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/targeting"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

// progress is the rollout of a bundle.
type progress struct {
	targeting.Progress
	// known is false if it could not be computed.
	known    bool
	clusters map[string]*targeting.Cluster // by the namespace of their BundleDeployments
}

// rollouts returns a function that computes the rollout of a Bundle, once.
func rollouts(f *facts.Facts) func(*v1alpha1.Bundle) *progress {
	computed := map[string]*progress{}
	return func(b *v1alpha1.Bundle) *progress {
		key := facts.Key(b)
		if computed[key] == nil {
			computed[key] = progressOf(f, b)
		}
		return computed[key]
	}
}

func progressOf(f *facts.Facts, b *v1alpha1.Bundle) *progress {
	out := &progress{clusters: map[string]*targeting.Cluster{}}
	plan, known, err := f.Targets(b).Rollout()
	out.known = known && deploymentsRead(f, plan)
	if !out.known || err != nil {
		return out
	}
	out.Progress = plan.Progress(func(c *targeting.Cluster) *v1alpha1.BundleDeployment {
		return f.BundleDeployment(c.Status.Namespace + "/" + b.Name)
	}, func(bd *v1alpha1.BundleDeployment) bool { return facts.Contents(b, bd) })
	for _, c := range clustersOf(plan) {
		out.clusters[c.Status.Namespace] = c
	}
	return out
}

// clustersOf returns all clusters of a rollout.
func clustersOf(r targeting.Rollout) []*targeting.Cluster {
	out := slices.Clone(r.Left)
	for _, p := range r.Partitions {
		out = append(out, p.Clusters...)
	}
	return out
}

// deploymentsRead reports whether the BundleDeployments of all clusters of a rollout were read.
func deploymentsRead(f *facts.Facts, r targeting.Rollout) bool {
	return !slices.ContainsFunc(clustersOf(r), func(c *targeting.Cluster) bool {
		return c.Status.Namespace != "" && !f.Result.Desired.Read(state.BundleDeployment, c.Status.Namespace)
	})
}

// holdOf returns why the rollout does not update a BundleDeployment; ok is false if that is not known.
func (p *progress) holdOf(bd *v1alpha1.BundleDeployment) (h targeting.Hold, ok bool) {
	c := p.clusters[bd.Namespace]
	if !p.known || c == nil {
		return h, false
	}
	return p.Hold(c, bd), true
}

// held describes a hold of a BundleDeployment, which is nil if it does not exist yet.
func (p *progress) held(bd *v1alpha1.BundleDeployment, h targeting.Hold) string {
	what := "a newer deployment is staged"
	if bd == nil {
		what = "it is not created yet"
	} else if bd.Spec.DeploymentID == bd.Spec.StagedDeploymentID {
		what = "its deployment is of earlier contents"
	}
	switch h.Reason {
	case targeting.NotHeld:
		if bd == nil {
			return what + ", and no limit of the rollout holds it back"
		}
		return what + ", and no limit of the rollout holds it back: the controller updates it with its next run"
	case targeting.NoPartition:
		return what + ", and no partition of the rollout selects its cluster: Fleet never updates it"
	case targeting.EarlierPartition:
		return fmt.Sprintf("%s, and the rollout has not reached partition %q: in partition %q, %s", what, h.Partition,
			h.Before, usedUp(h))
	case targeting.PartitionLimit:
		return fmt.Sprintf("%s, and the limit of the rollout is used up: in partition %q, %s", what, h.Partition,
			usedUp(h))
	default:
		return fmt.Sprintf("%s, and the limit of the rollout is used up: of the bundle, %s", what, usedUp(h))
	}
}

// usedUp describes a limit that is used up.
func usedUp(h targeting.Hold) string {
	verb := "are"
	if len(h.By) == 1 {
		verb = "is"
	}
	out := facts.Count(h.Max, "cluster") + " may be unavailable"
	if h.Reason == targeting.EarlierPartition {
		out += " or not updated"
	}
	return fmt.Sprintf("%s, and %d %s", out, len(h.By), verb)
}
