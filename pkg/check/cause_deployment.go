// SPDX-License-Identifier: Apache-2.0

package check

import (
	"fmt"
	"slices"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/codes"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/facts"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/directory"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/release"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

// ready returns the cause of a deployment whose objects are ready: its release, its Content or its values can have a
// problem all the same, or Fleet reports them as not ready for good. It notes a status that says something else.
func (c *Causes) ready(e *evaluate.BundleDeployment) Cause {
	d := &e.Deployment
	if problems := c.in.recordProblems(e); len(problems) > 0 {
		return notReady(c.recordStep(e, problems[0]))
	}
	if steps := c.noContent(d); len(steps) > 0 {
		return notReady(steps...)
	}
	out := Cause{State: evaluate.Ready}
	if d.BD == nil {
		return out
	}
	if steps := c.wrongValues(d); len(steps) > 0 {
		return notReady(steps...)
	}
	if shown(d.BD) == string(fleet.Ready) {
		return out
	}
	out.Note = "Fleet reports " + bundleName(d) + " on " + d.Cluster + " as " + shown(d.BD) +
		asOf(d.BD.Reported().AsOf) + ", and its objects are ready"
	if f, ok := c.staysWrong(e); ok {
		s := quote(StepStatusWrong, f)
		s.Deployment, s.Object, s.Findings = d, d.Ref(), []Origin{{Code: f.Code, BundleDeployment: d.Key()}}
		s.Evidence = append([]string{out.Note}, f.Evidence...)
		return notReady(s)
	}
	return out
}

// staysWrong returns the finding that Fleet reports a deployment as not ready whose objects are, for a reason that does
// not pass.
func (c *Causes) staysWrong(e *evaluate.BundleDeployment) (Finding, bool) {
	for i := range e.Objects {
		if f, ok := c.in.scaled(e, &e.Objects[i]); ok {
			return f, true
		}
	}
	for _, f := range c.in.contradictions(e) {
		if f.Aspect == listed {
			return f, true
		}
	}
	return Finding{}, false
}

// unexplained returns the cause of a deployment that is not applied and that nothing blocks.
func (c *Causes) unexplained(d *directory.Deployment) Cause {
	s := c.stepOn(StepNotApplied, d, "its agent has not applied the current deployment, and nothing that was read "+
		"shows why")
	e := c.evaluated[d.ID()]
	var problems []directory.RecordProblem
	if e != nil {
		problems = c.in.recordProblems(e)
	}
	pending, hasHooks := hooked(d)
	switch {
	case hasHooks && len(problems) == 0: // its deploy is in progress
		s.Message = fmt.Sprintf("its agent has not applied the current deployment: revision %d of its release is %s, "+
			"in which Helm runs hooks", pending.Record.Revision, pending.Status)
		s.Evidence = []string{waitsForHooks(pending)}
	case len(problems) > 0: // the revision that failed may be one of an earlier deployment
		f := c.in.recordProblem(e, problems[0])
		s.Message = "its agent has not applied the current deployment, and its release has a problem"
		s.Evidence, s.Quoted = []string{f.Message}, codes.ReleaseRecord
		if hasHooks {
			s.Evidence = append(s.Evidence, waitsForHooks(pending))
		}
	case facts.SaysItWaits(d.BD):
		s.Message = "its agent reported that it waits for a dependency, but no dependency that was read blocks it " +
			"now: the agent tries again"
		s.Evidence = c.in.Facts.Errors(d.BD, "Deployed")
	}
	s.Since = state.LastChange(d.BD.ManagedFields)
	if a, known := c.in.Facts.AgentOf(d.Namespace); known {
		if when := a.Heartbeat.LastSeen; !when.IsZero() {
			s.Evidence = append(s.Evidence, "its agent last reported at "+facts.Time(when))
		}
		if idle := facts.IdleOf(a); idle != "" {
			s.Evidence = append(s.Evidence, idle)
		}
		s.Next = only(c.in.Steps.LogsOfAgent(a))
	}
	if len(problems) > 0 {
		s.Next = c.in.recordProblem(e, problems[0]).Remedies
	} else if hasHooks {
		s.Next = append(c.in.showHooks(d, pending), s.Next...)
	}
	return notReady(s)
}

// recordStep returns the step about a problem of the release of a bundle deployment.
func (c *Causes) recordStep(e *evaluate.BundleDeployment, t directory.RecordProblem) Step {
	f := c.in.recordProblem(e, t)
	s := c.stepOn(StepRecord, &e.Deployment, f.Message)
	if t.Status == release.StatusFailed {
		s.Kind = StepFailed
	}
	s.Evidence, s.Quoted, s.Next = f.Evidence, codes.ReleaseRecord, f.Remedies
	return s
}

// FailedRevision returns the finding about the last revision, if that is a failed correction of drift, or a failed
// deploy that the agent tries again without a condition about it.
func (in *Input) FailedRevision(e *evaluate.BundleDeployment) (Finding, bool) {
	failure, failed := lastFailure(e)
	waits := e.BD != nil && e.BD.Spec.DeploymentID != e.BD.Status.AppliedDeploymentID
	known := failed && failure.Reported != ""
	if !known || !waits && !failedCorrections(e) {
		return Finding{}, false
	}
	return in.recordProblem(e, failure), true
}

// failedCorrection returns the cause of a deployment whose drift its agent fails to correct.
func (c *Causes) failedCorrection(e *evaluate.BundleDeployment) Cause {
	failure, _ := lastFailure(e)
	return notReady(c.recordStep(e, failure))
}

// notRead returns the cause of a deployment on a cluster that was read, if its objects could not be read.
func (c *Causes) notRead(d *directory.Deployment, e *evaluate.BundleDeployment) Cause {
	s := c.stepOn(StepUnread, d, "its objects could not be read: "+d.Detail)
	var first *evaluate.Object
	if e != nil && d.Problem == "" {
		if i := slices.IndexFunc(e.Objects, func(o evaluate.Object) bool {
			return o.State == evaluate.Unknown
		}); i >= 0 {
			first = &e.Objects[i]
			s.Message = unreadObject(first)
		}
	}
	if e != nil && failedCorrections(e) {
		return c.failedCorrection(e)
	}
	if i := slices.IndexFunc(d.RecordProblems, func(t directory.RecordProblem) bool {
		return namespaceEnds(d, t)
	}); e != nil && i >= 0 {
		return notReady(c.recordStep(e, d.RecordProblems[i]))
	}
	if d.BD != nil && fleet.ReportedState(d.BD) != fleet.Ready {
		out := c.byStatus(d)
		out.Steps[0].Evidence = append(out.Steps[0].Evidence, s.Message)
		return out
	}
	if d.BD != nil {
		s.Evidence = append(s.Evidence, "Fleet reports "+shown(d.BD)+asOf(s.AsOf))
	}
	s = c.notReadAgain(s)
	if first != nil && first.Reason != evaluate.Unconfirmed {
		s.Next = only(c.readObject(first))
	}
	return unknown(s)
}

// reported returns the cause of a deployment on a cluster that was not read.
func (c *Causes) reported(d *directory.Deployment) Cause {
	a, known := c.in.Facts.AgentOf(d.Namespace)
	silent := known && facts.IsSilent(a)
	switch is := fleet.ReportedState(d.BD); {
	case is == fleet.WaitApplied || is == fleet.ErrApplied:
		return c.unexplained(d)
	case is == fleet.Ready && len(c.noContent(d)) > 0:
		return notReady(c.noContent(d)...)
	case is == fleet.Ready && silent:
		s := c.stepOn(StepAgent, d, "Fleet reports it as Ready, and the agent of its cluster has not reported")
		s.Since, s.Next, s.Findings = a.Heartbeat.LastSeen, only(c.in.Steps.LogsOfAgent(a)), silentOrigins(a.Cluster)
		return unknown(s)
	case is == fleet.Ready:
		return Cause{State: evaluate.Ready, FromStatus: true}
	}
	out := c.byStatus(d)
	if silent {
		out.Steps[0].Evidence = append(out.Steps[0].Evidence, "the agent of its cluster has not reported since "+
			facts.Time(a.Heartbeat.LastSeen)+": the status is old")
	}
	return out
}

// codesOf are the codes of the findings about an object in a state.
var codesOf = map[evaluate.State][]string{
	evaluate.Missing:  {codes.Missing, codes.ExpiredJob},
	evaluate.Unowned:  {codes.Unowned},
	evaluate.Modified: {codes.Modified},
	evaluate.NotReady: {codes.NotReady},
	Orphaned:          {codes.Orphaned},
}

// Objects returns why a deployment is not ready, by its live objects.
func (c *Causes) Objects(e *evaluate.BundleDeployment) Cause {
	var all []Resource
	for i := range e.Objects {
		o := &e.Objects[i]
		is := o.State
		if o.NotReady {
			is = evaluate.NotReady
		}
		if slices.Contains(order, is) {
			all = append(all, resource(o.Ref, is, o.Condition))
			all[len(all)-1].Reason, all[len(all)-1].Owner = o.Reason, o.Owner
		}
	}
	for _, u := range e.Orphans {
		all = append(all, resource(u.Ref, Orphaned, ""))
	}
	if len(all) == 0 {
		return c.byStatus(&e.Deployment)
	}
	slices.SortStableFunc(all, worstFirst)
	s := c.stepOn(StepObjects, &e.Deployment, all[0].Message+more(len(all)-1))
	s.AsOf, s.Resources = facts.Time(c.in.Facts.ReadAt(e.ClusterID)), all
	for _, r := range all {
		for _, code := range codesOf[r.State] {
			s.Findings = append(s.Findings, Origin{code, e.Cluster, e.Key(), r.Ref})
		}
	}
	for i := range e.Objects {
		if f, ok := c.in.refusedPods(e, &e.Objects[i]); ok && e.Objects[i].Ref == all[0].Ref {
			c.in.addSteps(&f) // the verb repair is its only remedy
			namespace := quote(StepNamespace, f)
			namespace.Message = "it does not have the labels that the bundle states"
			return notReady(s, namespace)
		}
	}
	s.Next = only(c.in.Steps.Commands.ShowDifferences(&e.Deployment))
	return notReady(s)
}

// resource returns a deployed object with a sentence about its state.
func resource(r object.Ref, is evaluate.State, condition string) Resource {
	return Resource{Ref: r, State: is, Message: r.Key().String() + predicate(is, condition)}
}

// predicate is the state of an object as the end of a sentence.
func predicate(is evaluate.State, condition string) string {
	switch is {
	case evaluate.NotReady:
		if condition != "" {
			return " is not ready: " + condition
		}
		return " is not ready"
	case evaluate.Missing:
		return " is not on the cluster"
	case evaluate.Unowned:
		return " exists, and is not owned by the bundle"
	case Orphaned:
		return " is left over from an earlier revision"
	default:
		return " is modified"
	}
}

// more is the number of further objects as the end of a sentence.
func more(n int) string {
	switch n {
	case 0:
		return ""
	case 1:
		return ", and 1 more object has a problem"
	}
	return fmt.Sprintf(", and %d more objects have problems", n)
}

// mostSaid is the number of objects of which the reason that Fleet reports is shown.
const mostSaid = 3

// byStatus returns why a deployment is not ready, by the objects that its status lists.
func (c *Causes) byStatus(d *directory.Deployment) Cause {
	all := c.in.listed(d)
	s := c.stepOn(StepReportedState, d, "Fleet reports it as "+shown(d.BD)+", and its status lists no object")
	if len(all) == 0 {
		return notReady(s)
	}
	s.Kind, s.Message, s.Resources = StepObjects, all[0].Message+more(len(all)-1), all
	for _, o := range all {
		if o.Said != "" && len(s.Evidence) < mostSaid {
			s.Evidence = append(s.Evidence, o.Key().String()+o.Said)
		}
	}
	s.Evidence = append(s.Evidence, "its cluster was not read: this is the status that its agent wrote")
	if d.BD.Status.IncompleteState {
		s.Evidence = append(s.Evidence, "the status lists ten objects of each kind at most")
	}
	return notReady(s)
}

// OfObject returns why one object is not ready. It gets the cause of its bundle deployment, whose objects are all.
func (c *Causes) OfObject(e *evaluate.BundleDeployment, o *evaluate.Object, cause Cause) Cause {
	switch {
	case o.State == evaluate.Unknown:
		s := c.stepOn(StepUnread, &e.Deployment, unreadObject(o))
		if o.Reason == evaluate.Unconfirmed {
			return unknown(c.notReadAgain(s))
		}
		s.Next = only(c.readObject(o))
		return unknown(s)
	case refused(e, o), wronglyReported(cause, e, o):
		return cause
	case o.State == evaluate.Ready && !o.NotReady:
		out := Cause{State: evaluate.Ready}
		if root := cause.Root(); root != nil {
			out.Note = "bundle deployment " + e.Key() + ", which desires it, is not ready for another reason: " +
				root.Message + root.Said
		}
		return out
	case len(cause.Steps) > 0 && cause.Steps[0].Kind != StepObjects:
		return cause // the bundle deployment is not applied
	}
	alone := *e
	alone.Objects, alone.Orphans = []evaluate.Object{*o}, nil
	return c.Objects(&alone)
}

// wronglyReported reports whether Fleet reports an object as not ready that is ready, for a reason that does not pass.
func wronglyReported(cause Cause, e *evaluate.BundleDeployment, o *evaluate.Object) bool {
	if root := cause.Root(); root == nil || root.Kind != StepStatusWrong {
		return false
	}
	ids := func(kind, namespace, name string) bool {
		return o.Kind == kind && o.Namespace == namespace && o.Name == name
	}
	s := &e.BD.Status
	return slices.ContainsFunc(s.ModifiedStatus, func(m v1alpha1.ModifiedStatus) bool {
		return ids(m.Kind, m.Namespace, m.Name)
	}) || slices.ContainsFunc(s.NonReadyStatus, func(n v1alpha1.NonReadyStatus) bool {
		return ids(n.Kind, n.Namespace, n.Name)
	})
}

// NotRead returns the cause for the objects of a bundle deployment that were not read. The message has the state that
// Fleet reports, because deployments with the same message have one cause.
func (c *Causes) NotRead(d *directory.Deployment) Cause {
	s := c.stepOn(StepUnread, d, "its objects were not read: "+d.Detail)
	if d.BD != nil {
		s.Message += "; Fleet reports it as " + shown(d.BD)
	}
	return unknown(c.notReadAgain(s))
}
