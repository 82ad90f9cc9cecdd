// SPDX-License-Identifier: Apache-2.0

package check

import (
	"cmp"
	"fmt"
	"maps"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/codes"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/facts"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/directory"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/targeting"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

// path are the bundle deployments of the steps so far.
type path map[object.DeploymentID]bool

// Of returns why a bundle deployment is not ready.
func (c *Causes) Of(d *directory.Deployment) Cause { return c.of(d, path{}) }

func (c *Causes) of(d *directory.Deployment, seen path) Cause {
	if seen[d.ID()] {
		return notReady(c.stepOn(StepCycle, d, "its dependencies lead back to itself"))
	}
	seen[d.ID()] = true
	if d.BD != nil && facts.Deleting(d.BD) {
		s := c.stepOn(StepDeleting, d, "")
		s.Message, s.Evidence = c.stuckBy(state.BundleDeployment, d.Key())
		s.Since, s.Findings = d.BD.DeletionTimestamp.Time, originsAt(d, codes.StuckDeletion)
		return notReady(s)
	}
	if steps := c.blocked(d, seen); len(steps) > 0 {
		return notReady(steps...)
	}
	actual := evaluate.Unknown
	e := c.evaluated[d.ID()]
	if e != nil {
		actual = e.State
	}
	switch {
	case actual == evaluate.Unknown && d.BD != nil && d.Problem == directory.ClusterNotRead:
		return c.reported(d)
	case actual == evaluate.Ready:
		return c.ready(e)
	case actual == evaluate.WaitApplied, actual == evaluate.ErrApplied:
		return c.unexplained(d)
	case actual == evaluate.Modified && failedCorrections(e):
		return c.failedCorrection(e)
	case actual == evaluate.Modified && e.Counts.Missing > 0:
		if t, ok := removedByHand(e); ok {
			return notReady(c.recordStep(e, t))
		}
		return c.Objects(e)
	case actual == evaluate.NotReady, actual == evaluate.Modified:
		return c.Objects(e)
	}
	if d.BD != nil {
		if is := fleet.ReportedState(d.BD); is == fleet.WaitApplied || is == fleet.ErrApplied {
			return c.unexplained(d) // its objects do not matter
		}
	}
	return c.notRead(d, e)
}

// Blocked returns why a bundle deployment is not applied, or why a staged deployment is not. It returns nothing if
// there is no such deployment, or if the data does not show the cause.
func (c *Causes) Blocked(d *directory.Deployment) []Step { return c.blocked(d, path{d.ID(): true}) }

// blocked is Blocked, with the bundle deployments of the steps so far.
func (c *Causes) blocked(d *directory.Deployment, seen path) []Step {
	switch {
	case d.BD == nil || d.FromFiles(), facts.Deleting(d.BD):
		return nil
	case waits(d):
		return c.notApplied(d, seen)
	case d.BD.Spec.DeploymentID == "", fleet.StateOf(d.BD) == fleet.OutOfSync:
		return c.outOfSync(d, seen)
	}
	return nil
}

// notApplied returns why a bundle deployment is not applied.
func (c *Causes) notApplied(d *directory.Deployment, seen path) []Step {
	spec := &d.BD.Spec
	switch {
	case spec.DeploymentID == d.BD.Status.AppliedDeploymentID:
		return c.failed(d, "Installed", "its installation was refused") // the agent has tried it
	case spec.Paused:
		return append([]Step{c.stepOn(StepPaused, d, "it is paused")}, c.paused(d)...)
	case spec.OffSchedule:
		s := c.stepOn(StepSchedule, d, "it is outside of the schedule of its cluster")
		s.Next = c.in.list("schedules", d.BD.Labels[fleet.ClusterNamespaceLabel])
		return []Step{s}
	}
	if steps := c.NoAgent(d); len(steps) > 0 {
		if said := c.in.Facts.SaidOf(d, "Deployed"); said != "" {
			old := "the last status of " + d.Key() + " has an error" + said
			steps[0].Evidence = append([]string{old}, steps[0].Evidence...)
		}
		return steps
	}
	if steps := c.wrongValues(d); len(steps) > 0 {
		return steps
	}
	if steps := c.dependency(d, seen); len(steps) > 0 {
		return steps
	}
	if steps := c.noContent(d); len(steps) > 0 {
		return steps
	}
	for _, t := range d.RecordProblems {
		if c.in.Facts.BlocksHelm(d, t) {
			s := c.stepOn(StepRecord, d, fmt.Sprintf("revision %d of its release is %s: Helm refuses to deploy",
				t.Record.Revision, t.Status))
			s.Since, s.Findings = t.Since, originsAt(d, codes.ReleaseRecord)
			return []Step{s}
		}
	}
	if steps := c.failed(d, "Installed", "its installation was refused"); steps != nil {
		return steps
	}
	if facts.SaysItWaits(d.BD) {
		return nil
	}
	return c.failed(d, "Deployed", "its agent could not deploy it")
}

// dependency returns why the first dependency of a bundle deployment that blocks it is not ready; nil if nothing shows
// one.
func (c *Causes) dependency(d *directory.Deployment, seen path) []Step {
	for _, ref := range d.BD.Spec.DependsOn {
		found, known := c.dependencies.Matching(d, ref)
		if !known {
			continue
		}
		if len(found) == 0 {
			s := c.stepOn(StepAbsent, d, "no bundle deployment of its cluster matches its dependency "+
				cmp.Or(ref.Name, metav1.FormatLabelSelector(ref.Selector)))
			s.Said = c.in.Facts.SaidOf(d, "Deployed")
			return append([]Step{s}, c.absentDependency(d, ref.Name, seen)...)
		}
		for _, b := range found {
			if !facts.Blocks(d, b, ref) {
				continue
			}
			s := c.stepOn(StepDependency, d, "it waits for its dependency "+b.Name+", which is "+shown(b.BD))
			cause := c.of(b, seen)
			if cause.State != evaluate.NotReady {
				return []Step{s, c.readyDependency(b, cause)}
			}
			return append([]Step{s}, cause.Steps...)
		}
	}
	return nil
}

// readyDependency returns the step about a dependency that the agent does not accept, although it is ready as far as
// the data shows.
func (c *Causes) readyDependency(d *directory.Deployment, cause Cause) Step {
	s := c.stepOn(StepStatusWrong, d, "Fleet reports it as "+shown(d.BD)+", and its objects are ready")
	switch {
	case fleet.StateOf(d.BD) == fleet.Ready:
		s.Kind, s.Message = StepReportedState, "it is Ready, which the dependency does not accept"
	case cause.State == evaluate.Unknown:
		return cause.Steps[0]
	}
	if cause.Note != "" {
		s.Evidence = []string{cause.Note}
	}
	s.Findings = originsAt(d, codes.DeploymentCounts)
	return s
}

// absentDependency returns why nothing on the cluster of a bundle deployment matches a dependency, by the name of its
// bundle; nil if that is not known.
func (c *Causes) absentDependency(d *directory.Deployment, name string, seen path) []Step {
	workspace := d.BD.Labels[fleet.BundleNamespaceLabel]
	if name == "" || workspace == "" {
		return nil
	}
	s := Step{Object: facts.Ref(state.Bundle, workspace, name)}
	bundle, cluster := c.in.Facts.Bundle(workspace+"/"+name), c.in.Facts.ClusterIn(d.Namespace)
	switch {
	case bundle == nil && c.in.Facts.Read(state.Bundle, workspace):
		s.Kind, s.Message, s.Next = StepNoBundle, "the Bundle does not exist", c.in.list("bundles", workspace)
		return []Step{s}
	case bundle == nil || cluster == nil:
		return nil
	}
	s.AsOf = bundle.Reported().AsOf
	if stop := c.stop(bundle); len(stop) > 0 {
		return stop
	}
	switch r, ok := c.in.Facts.Targets(bundle).On(cluster.Namespace, cluster.Name); {
	case ok && r.Outcome == targeting.Excluded:
		s.Kind, s.Message, s.Cluster = StepExcluded, "its targets do not select the cluster ("+string(r.Reason)+")",
			d.Cluster
		s.Next = only(c.in.Steps.Commands.ExplainTargets(bundle))
		return []Step{s}
	case ok && r.Outcome != targeting.Unknown:
		return c.notCreated(bundle, r, seen).Steps
	}
	return nil
}

// NotCreated returns why a target of a Bundle has no BundleDeployment.
func (c *Causes) NotCreated(b *v1alpha1.Bundle, t targeting.Result) Cause {
	return c.notCreated(b, t, path{})
}

func (c *Causes) notCreated(b *v1alpha1.Bundle, t targeting.Result, seen path) Cause {
	cluster := t.Cluster
	s := Step{Object: facts.RefTo(b), Cluster: cluster.Key(), AsOf: b.Reported().AsOf}
	switch {
	case t.Outcome == targeting.Blocked:
		s.Kind, s.Object = StepNoNamespace, facts.Ref(state.ClusterKind, cluster.Namespace, cluster.Name)
		s.Message = "it has no namespace for BundleDeployments yet"
		return notReady(c.because(s.Object, s)...)
	case !c.in.Facts.Read(state.BundleDeployment, cluster.Status.Namespace):
		s.Kind, s.Message, s.Next = StepUnread, "the BundleDeployments of its cluster could not be read",
			only(c.in.Steps.ShowRole())
		return unknown(s)
	}
	if stop := c.stop(b); len(stop) > 0 {
		return notReady(stop...)
	}
	if !c.in.rolloutPending(b) && c.in.lacks(b, cluster.Cluster) {
		q := quote(StepNotCreated, c.in.absentDeployment(b, t))
		q.Message = "it has no BundleDeployment, although a target matches its cluster"
		return notReady(q)
	}
	s.Kind = StepRollout
	r := c.rollout(b)
	switch {
	case offSchedule(cluster.Cluster):
		s.Kind, s.Message = StepSchedule, "it is not created yet, and its cluster is outside of its schedule"
		s.Next = c.in.list("schedules", cluster.Namespace)
		return notReady(s)
	case !r.known:
		s.Message = "it is not created yet, and the limits of the rollout are not known"
		return notReady(s)
	}
	return notReady(c.held(s, b, r.Hold(cluster, nil), seen)...)
}

// outOfSync returns why the staged deployment of a bundle deployment is not the current one.
func (c *Causes) outOfSync(d *directory.Deployment, seen path) []Step {
	if d.BD.Spec.Paused {
		return append([]Step{c.stepOn(StepPaused, d, "it is paused, and a newer deployment is staged")}, c.paused(d)...)
	}
	s := c.stepOn(StepRollout, d, "")
	b := c.in.Facts.Bundle(d.Bundle)
	if b == nil {
		s.Message = "a newer deployment is staged, and its Bundle, with the limits, was not read"
		return []Step{s}
	}
	if stop := c.stop(b); len(stop) > 0 {
		return stop
	}
	h, known := c.rollout(b).holdOf(d.BD)
	if !known {
		s.Message = "a newer deployment is staged, and the limits of the rollout are not known"
		s.Next = only(c.in.Steps.Commands.Describe(facts.RefTo(b)))
		return []Step{s}
	}
	return c.held(s, b, h, seen)
}

// held returns why a rollout holds back the bundle deployment of a step, or a target without one, and follows the first
// cluster that uses up the limit.
func (c *Causes) held(s Step, b *v1alpha1.Bundle, h targeting.Hold, seen path) []Step {
	var bd *v1alpha1.BundleDeployment
	if s.Deployment != nil {
		bd = s.Deployment.BD
	}
	s.Message, s.Limit = c.rollout(b).held(bd, h), h.Reason
	for _, by := range h.By {
		s.Clusters = append(s.Clusters, by.Key())
	}
	inspect := only(c.in.Steps.Commands.Describe(facts.RefTo(b)))
	if h.Reason == targeting.NotHeld || h.Reason == targeting.NoPartition {
		s.Next = inspect
		return []Step{s}
	}
	if h.Reason == targeting.BundleLimit && bd != nil {
		s.Next = only(c.in.Steps.Release(facts.Key(b), len(h.By)+1))
	}
	if behind := c.firstBehind(b, h, seen); len(behind) > 0 {
		return append([]Step{s}, behind...)
	}
	if s.Next == nil {
		s.Next = inspect
	}
	return []Step{s}
}

// firstBehind returns why the first cluster that uses up a limit is not ready. Those that are unavailable come before
// those that the rollout itself holds back.
func (c *Causes) firstBehind(b *v1alpha1.Bundle, h targeting.Hold, seen path) []Step {
	for _, unavailable := range []bool{true, false} {
		for _, by := range h.By {
			d := c.byKey[by.Status.Namespace+"/"+b.Name]
			if d == nil || d.BD == nil || seen[d.ID()] {
				continue
			}
			if held := fleet.StateOf(d.BD) == fleet.OutOfSync; held == unavailable {
				continue
			}
			if cause := c.of(d, maps.Clone(seen)); len(cause.Steps) > 0 {
				return cause.Steps
			}
		}
	}
	return nil
}

// NotReached returns why the rollout does not update a bundle deployment of earlier contents; ok is false for any
// other.
func (c *Causes) NotReached(d *directory.Deployment) (cause Cause, ok bool) {
	b := c.in.Facts.Bundle(d.Bundle)
	if b == nil || d.BD == nil || facts.Contents(b, d.BD) {
		return Cause{}, false
	}
	if d.BD.Spec.Paused || facts.Deleting(d.BD) {
		return Cause{}, false
	}
	h, known := c.rollout(b).holdOf(d.BD)
	if !known {
		return Cause{}, false
	}
	if h.Reason != targeting.EarlierPartition && h.Reason != targeting.NoPartition {
		return Cause{}, false
	}
	return notReady(c.held(c.stepOn(StepRollout, d, ""), b, h, path{d.ID(): true})...), true
}
