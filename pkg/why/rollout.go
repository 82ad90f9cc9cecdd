// SPDX-License-Identifier: Apache-2.0

package why

import (
	"fmt"
	"maps"
	"slices"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/blocker"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/facts"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/remedy"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/directory"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/targeting"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

// rollout is the rollout of a bundle.
type rollout struct {
	targeting.Progress
	// known is false if it could not be computed. err is why Fleet can update no cluster.
	known    bool
	err      error
	clusters map[string]*targeting.Cluster // by the namespace of their BundleDeployments
}

// rollout returns the rollout of a bundle. It is computed once.
func (x *explainer) rollout(b *v1alpha1.Bundle) *rollout {
	key := b.Namespace + "/" + b.Name
	if r := x.rollouts[key]; r != nil {
		return r
	}
	r := &rollout{clusters: map[string]*targeting.Cluster{}}
	x.rollouts[key] = r
	plan, known, err := x.in.Targets(b).Rollout()
	r.known, r.err = known && x.deploymentsRead(plan), err
	if !r.known || err != nil {
		return r
	}
	r.Progress = plan.Progress(func(c *targeting.Cluster) *v1alpha1.BundleDeployment {
		return x.in.BundleDeployment(c.Status.Namespace + "/" + b.Name)
	}, func(bd *v1alpha1.BundleDeployment) bool { return facts.Contents(b, bd) })
	for _, c := range clustersOf(plan) {
		r.clusters[c.Status.Namespace] = c
	}
	return r
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
func (x *explainer) deploymentsRead(r targeting.Rollout) bool {
	return !slices.ContainsFunc(clustersOf(r), func(c *targeting.Cluster) bool {
		return c.Status.Namespace != "" && !x.in.Desired.Read(state.BundleDeployment, c.Status.Namespace)
	})
}

// outOfSync explains a bundle deployment with a staged deployment that is not the current one.
func (x *explainer) outOfSync(d *directory.Deployment, seen path) verdict {
	if d.BD.Spec.Paused {
		s := stepOf(blocker.Paused, d, "it is paused, and a newer deployment is staged")
		return x.paused(d).after(s)
	}
	b := x.in.Bundle(d.Bundle)
	if b == nil {
		return notReady(x.inspect(d.Ref()), nil,
			stepOf(Rollout, d, "a newer deployment is staged, and its Bundle, which limits the rollout, was not read"))
	}
	if v, stopped := x.stop(b); stopped {
		return v
	}
	r := x.rollout(b)
	c := r.clusters[d.Namespace]
	if !r.known || c == nil {
		return notReady(x.inspectBundle(b), nil,
			stepOf(Rollout, d, "a newer deployment is staged, and the limits of the rollout are not known"))
	}
	return x.held(d.BD, stepOf(Rollout, d, ""), b, r.Hold(c, d.BD), seen)
}

func (x *explainer) inspectBundle(b *v1alpha1.Bundle) []remedy.Remedy {
	return x.inspect(facts.Ref(state.Bundle, b.Namespace, b.Name))
}

// held explains a deployment that a rollout holds back, and follows the first cluster that uses up the limit. bd is nil
// if it does not exist yet.
func (x *explainer) held(bd *v1alpha1.BundleDeployment, s report.WhyStep, b *v1alpha1.Bundle, h targeting.Hold,
	seen path) verdict {
	what := "a newer deployment is staged"
	if bd == nil {
		what = "it is not created yet"
	} else if bd.Spec.DeploymentID == bd.Spec.StagedDeploymentID {
		what = "its deployment is of earlier contents"
	}
	for _, c := range h.By {
		s.Clusters = append(s.Clusters, c.Key())
	}
	next := x.inspectBundle(b)
	switch h.Reason {
	case targeting.NotHeld:
		s.Message = what + ", and no limit of the rollout holds it back: the controller updates it with its next run"
		if bd == nil {
			s.Message = fmt.Sprintf("it is not created yet: the controller creates at most %d BundleDeployments in "+
				"one run", x.rollout(b).MaxNew)
		}
		return notReady(next, nil, s)
	case targeting.NoPartition:
		s.Message = what + ", and no partition of the rollout selects its cluster: Fleet never updates it"
		return notReady(next, nil, s)
	case targeting.EarlierPartition:
		s.Message = fmt.Sprintf("%s, and the rollout has not reached partition %q: in partition %q, %s", what,
			h.Partition, h.Before, usedUp(h))
	case targeting.PartitionLimit:
		s.Message = fmt.Sprintf("%s, and the limit of the rollout is used up: in partition %q, %s", what, h.Partition,
			usedUp(h))
	default:
		s.Message = fmt.Sprintf("%s, and the limit of the rollout is used up: of the bundle, %s", what, usedUp(h))
	}
	if v, ok := x.firstBehind(b, h, seen); ok {
		return v.after(s)
	}
	return notReady(next, nil, s)
}

// usedUp describes a limit that is used up.
func usedUp(h targeting.Hold) string {
	verb := "are"
	if len(h.By) == 1 {
		verb = "is"
	}
	out := report.Plural(h.Max, "cluster") + " may be unavailable"
	if h.Reason == targeting.EarlierPartition {
		out += " or not updated"
	}
	return fmt.Sprintf("%s, and %d %s", out, len(h.By), verb)
}

// firstBehind explains the first cluster that uses up a limit. Those that are unavailable come before those that the
// rollout itself holds back.
func (x *explainer) firstBehind(b *v1alpha1.Bundle, h targeting.Hold, seen path) (verdict, bool) {
	for _, unavailable := range []bool{true, false} {
		for _, c := range h.By {
			d := x.byKey[c.Status.Namespace+"/"+b.Name]
			if d == nil || d.BD == nil || seen[d.ID()] {
				continue
			}
			if held := fleet.StateOf(d.BD) == fleet.OutOfSync; held == unavailable {
				continue
			}
			branch := maps.Clone(seen)
			if v := x.deployment(d, branch); len(v.steps) > 0 {
				return v, true
			}
		}
	}
	return verdict{}, false
}

// notReached explains a deployment of earlier contents that the rollout does not update; ok is false for any other.
func (x *explainer) notReached(d *directory.Deployment) (v verdict, ok bool) {
	b := x.in.Bundle(d.Bundle)
	if b == nil || d.BD == nil || facts.Contents(b, d.BD) {
		return verdict{}, false
	}
	if d.BD.Spec.Paused || d.BD.DeletionTimestamp != nil {
		return verdict{}, false
	}
	r := x.rollout(b)
	c := r.clusters[d.Namespace]
	if !r.known || c == nil {
		return verdict{}, false
	}
	h := r.Hold(c, d.BD)
	if h.Reason != targeting.EarlierPartition && h.Reason != targeting.NoPartition {
		return verdict{}, false
	}
	return x.held(d.BD, stepOf(Rollout, d, ""), b, h, path{d.ID(): true}), true
}

// absent explains a target without a BundleDeployment.
func (x *explainer) absent(b *v1alpha1.Bundle, t targeting.Result, seen path) verdict {
	c := t.Cluster
	s := report.WhyStep{Object: facts.Ref(state.Bundle, b.Namespace, b.Name), Name: b.Name, Cluster: c.Key(),
		AsOf: b.Reported().AsOf}
	cluster := facts.Ref(state.ClusterKind, c.Namespace, c.Name)
	offSchedule := c.Status.Scheduled && !c.Status.ActiveSchedule
	switch {
	case t.Outcome == targeting.Blocked:
		s.Kind, s.Object, s.Message = NoNamespace, cluster, "its cluster has no namespace for BundleDeployments yet"
		return x.because(cluster, s)
	case !x.in.Desired.Read(state.BundleDeployment, c.Status.Namespace):
		s.Kind, s.Message = Unread, "the BundleDeployments of its cluster could not be read"
		return unknown(only(x.in.ShowRole()), s)
	}
	if v, stopped := x.stop(b); stopped {
		return v
	}
	for _, f := range x.others[facts.Ref(state.Bundle, b.Namespace, b.Name)] {
		if f.Code == "FD302" && f.Cluster == c.Key() {
			s.Kind, s.Message, s.Evidence = Absent, "it has no BundleDeployment, although a target matches its cluster",
				f.Evidence
			return notReady(f.Remedies, codes(f), s)
		}
	}
	s.Kind = Rollout
	r := x.rollout(b)
	switch {
	case offSchedule:
		s.Kind, s.Message = blocker.Schedule, "it is not created yet, and its cluster is outside of its schedule"
		return notReady(x.list("schedules", c.Namespace), nil, s)
	case !r.known:
		s.Message = "it is not created yet, and the limits of the rollout are not known"
		return notReady(x.inspectBundle(b), nil, s)
	}
	return x.held(nil, s, b, r.Hold(c, nil), seen)
}
