// SPDX-License-Identifier: Apache-2.0

package check

import (
	"fmt"
	"slices"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/codes"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/facts"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/directory"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
)

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
func (c *Causes) OfObject(e *evaluate.BundleDeployment, o *evaluate.Object, of Cause) Cause {
	switch {
	case o.State == evaluate.Unknown:
		s := c.stepOn(StepUnread, &e.Deployment, unreadObject(o))
		if o.Reason == evaluate.Unconfirmed {
			return unknown(c.notReadAgain(s))
		}
		s.Next = only(c.readObject(o))
		return unknown(s)
	case refused(e, o), wronglyReported(of, e, o):
		return of
	case o.State == evaluate.Ready && !o.NotReady:
		out := Cause{State: evaluate.Ready}
		if root := of.Root(); root != nil {
			out.Note = "bundle deployment " + e.Key() + ", which desires it, is not ready for another reason: " +
				root.Message + root.Said
		}
		return out
	case len(of.Steps) > 0 && of.Steps[0].Kind != StepObjects:
		return of // the bundle deployment is not applied
	}
	alone := *e
	alone.Objects, alone.Orphans = []evaluate.Object{*o}, nil
	return c.Objects(&alone)
}

// wronglyReported reports whether Fleet reports an object as not ready that is ready, for a reason that does not pass.
func wronglyReported(of Cause, e *evaluate.BundleDeployment, o *evaluate.Object) bool {
	if root := of.Root(); root == nil || root.Kind != StepStatusWrong {
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
