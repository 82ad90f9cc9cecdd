// SPDX-License-Identifier: Apache-2.0

package why

import (
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

// outOfSync explains a bundle deployment with a staged deployment that is not the current one.
func (x *explainer) outOfSync(d *directory.Deployment, seen path) verdict {
	if d.BD.Spec.Paused {
		s := stepOf(blocker.Paused, d, "it is paused, and a newer deployment is staged")
		return x.paused(d).after(s)
	}
	b := x.in.Bundle(d.Bundle)
	if b == nil {
		return notReady(x.inspect(d.Ref()), nil,
			stepOf(blocker.Rollout, d, "a newer deployment is staged, and its Bundle, with the limits, was not read"))
	}
	if v, stopped := x.stop(b); stopped {
		return v
	}
	h, known := x.rollout(b).HoldOf(d.BD)
	if !known {
		return notReady(x.inspectBundle(b), nil,
			stepOf(blocker.Rollout, d, "a newer deployment is staged, and the limits of the rollout are not known"))
	}
	return x.held(d.BD, stepOf(blocker.Rollout, d, ""), b, h, seen)
}

func (x *explainer) inspectBundle(b *v1alpha1.Bundle) []remedy.Remedy {
	return x.inspect(facts.Ref(state.Bundle, b.Namespace, b.Name))
}

// held explains a deployment that a rollout holds back, and follows the first cluster that uses up the limit. bd is nil
// if it does not exist yet.
func (x *explainer) held(bd *v1alpha1.BundleDeployment, s report.WhyStep, b *v1alpha1.Bundle, h targeting.Hold,
	seen path) verdict {
	s.Message = x.rollout(b).Held(bd, h)
	for _, c := range h.By {
		s.Clusters = append(s.Clusters, c.Key())
	}
	next := x.inspectBundle(b)
	if h.Reason == targeting.NotHeld || h.Reason == targeting.NoPartition {
		return notReady(next, nil, s)
	}
	if h.Reason == targeting.BundleLimit && bd != nil {
		next = only(x.in.Release(b.Namespace+"/"+b.Name, len(h.By)+1))
	}
	if v, ok := x.firstBehind(b, h, seen); ok {
		if h.Reason == targeting.BundleLimit && bd != nil {
			v.next = slices.Concat(next, v.next)
		}
		return v.after(s)
	}
	return notReady(next, nil, s)
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
	h, known := x.rollout(b).HoldOf(d.BD)
	if !known {
		return verdict{}, false
	}
	if h.Reason != targeting.EarlierPartition && h.Reason != targeting.NoPartition {
		return verdict{}, false
	}
	return x.held(d.BD, stepOf(blocker.Rollout, d, ""), b, h, path{d.ID(): true}), true
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
	s.Kind = blocker.Rollout
	r := x.rollout(b)
	switch {
	case offSchedule:
		s.Kind, s.Message = blocker.Schedule, "it is not created yet, and its cluster is outside of its schedule"
		return notReady(x.list("schedules", c.Namespace), nil, s)
	case !r.Known:
		s.Message = "it is not created yet, and the limits of the rollout are not known"
		return notReady(x.inspectBundle(b), nil, s)
	}
	return x.held(nil, s, b, r.Hold(c, nil), seen)
}
