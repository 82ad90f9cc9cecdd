// SPDX-License-Identifier: Apache-2.0

package check

import (
	"fmt"
	"strings"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/codes"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/facts"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
)

// contradictions are the findings about what is mutually exclusive in the status of a bundle deployment.
func (in *Input) contradictions(d *evaluate.BundleDeployment) []Finding {
	var out []Finding
	for _, x := range contradictions(d) {
		f := onDeployment(d, "the status of %s: %s", d.Key(), x.message)
		f.Code, f.Aspect, f.Remedies = codes.Contradiction, x.aspect, only(in.Steps.Commands.Describe(f.Object))
		if x.aspect == listed {
			o := &d.BD.Status.NonReadyStatus[0]
			f.say("%s %s/%s%s", strings.ToLower(o.Kind), o.Namespace, o.Name, in.Facts.ReportedOf(&d.Deployment, o))
		}
		out = append(out, f)
	}
	return out
}

// listed is the aspect of a list of objects that contradicts the counts. Its first object is shown.
const listed = "listed"

// contradictionAbove reports what is mutually exclusive in the status of an aggregate, or in those of a GitRepo or
// HelmOp and one of its Bundles.
func (in *Input) contradictionAbove(out *found, a *evaluate.Aggregate) {
	found := contradictionsOf(a)
	ready := facts.ConditionOf(facts.ConditionsOf(a.Object), "Ready").Status == "True"
	if b := in.failingBundle(a); b != nil && ready {
		found.add("bundle", "condition Ready is True, but its bundle %s has not been ready since %s", b.Name,
			facts.ConditionOf(b.Status.Conditions, "Ready").LastUpdateTime)
	}
	for _, x := range found {
		f := Finding{Object: facts.RefOf(a), AsOf: a.Object.Reported().AsOf, Aspect: x.aspect,
			Message: "the status of " + a.Key() + ": " + x.message}
		out.report(f, in.Steps.Commands.Describe(f.Object))
	}
}

// exclusive are facts of one status that are mutually exclusive.
type exclusive struct{ aspect, message string }

// exclusives are those of one object, each with another aspect.
type exclusives []exclusive

func (x *exclusives) add(aspect, format string, args ...any) {
	*x = append(*x, exclusive{aspect, fmt.Sprintf(format, args...)})
}

// contradictions returns what is mutually exclusive in the status of a bundle deployment. The agent writes these fields
// together, but not while the deployment is paused, or before it has applied the current deployment id.
func contradictions(d *evaluate.BundleDeployment) exclusives {
	if d.BD == nil {
		return nil
	}
	s, c := &d.BD.Status, d.BD.Status.ResourceCounts
	var out exclusives
	if c != nil && c.DesiredReady != c.Ready+c.NotReady+c.Modified+c.Missing+c.WaitApplied+c.Unknown {
		out.add("counts", "its counts do not add up: %d objects are desired, but the states of the objects are %s",
			c.DesiredReady, detailed(*c))
	}
	if whyFrozen(d) != "" || facts.ConditionOf(s.Conditions, "Installed").Status == "False" {
		return out
	}
	notReady, modified := len(s.NonReadyStatus), len(s.ModifiedStatus)
	if c != nil {
		notReady, modified = max(notReady, c.NotReady), max(modified, c.Modified+c.Missing+c.Orphaned)
	}
	lists := c != nil && !full(s) && len(s.NonReadyStatus) > c.NotReady
	switch {
	case s.Ready && notReady > 0:
		out.add("ready", "ready is true, but it counts or lists %s as not ready", facts.Count(notReady, "object"))
	case lists && c.Ready == c.DesiredReady:
		out.add(listed, "it lists %s as not ready, but it counts all of its %s as ready",
			facts.Count(len(s.NonReadyStatus), "object"), facts.Count(c.Ready, "object"))
	case s.NonModified && modified > 0:
		out.add("nonModified", "nonModified is true, but it counts or lists %s as modified, missing or extra",
			facts.Count(modified, "object"))
	}
	return out
}

// contradictionsOf returns what is mutually exclusive in the status of an aggregate.
func contradictionsOf(a *evaluate.Aggregate) exclusives {
	r, ready := a.Object.Reported(), facts.ConditionOf(facts.ConditionsOf(a.Object), "Ready")
	var out exclusives
	all := true
	if s := r.Summary; s != nil {
		all = s.Ready == s.DesiredReady
		if s.Ready > s.DesiredReady || s.Sum() > s.DesiredReady {
			out.add("summary", "its summary counts %d bundle deployments in all states, but only %d are desired",
				max(s.Ready, s.Sum()), s.DesiredReady)
		} else if ready.Status == "True" && !all {
			out.add("ready", "condition Ready is True, but only %s bundle deployments are ready", shareOfSummary(*s))
		}
	}
	if bad := fleet.BundleState(r.State).Rank() > fleet.Ready.Rank(); bad && all && ready.Status == "True" {
		out.add("state", "condition Ready is True, but the state is %s", r.State)
	}
	someReady := r.Summary != nil && r.Summary.Ready > 0
	unsaid := ready.Status == "False" && ready.Message == ""
	if unsaid && all && someReady {
		out.add("notReady", "condition Ready is False without a message, but all bundle deployments are ready")
	}
	if s := facts.StatusOf(a.Object); s != nil && s.DesiredReadyClusters != nil &&
		s.ReadyClusters > *s.DesiredReadyClusters {
		out.add("clusters", "%d clusters are ready, but only %d are desired", s.ReadyClusters, *s.DesiredReadyClusters)
	}
	if c := r.Counts; c != nil && c.Ready > c.DesiredReady {
		out.add("objects", "%d objects are ready, but only %d are desired", c.Ready, c.DesiredReady)
	}
	return out
}

// failingBundle returns the first Bundle of a GitRepo or HelmOp that has not been ready for some time; nil without one.
func (in *Input) failingBundle(a *evaluate.Aggregate) *v1alpha1.Bundle {
	for _, b := range in.Facts.BundlesOf(facts.RefOf(a)) {
		c := facts.ConditionOf(b.Status.Conditions, "Ready")
		if c.Status == "False" && !facts.Deleting(b) && in.Facts.LongAgo(facts.Parsed(c.LastUpdateTime)) {
			return b
		}
	}
	return nil
}
