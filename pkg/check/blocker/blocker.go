// SPDX-License-Identifier: Apache-2.0

// Package blocker follows a bundle deployment that is not applied to the root cause. The package is pure.
package blocker

import (
	"cmp"
	"fmt"
	"time"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/dependency"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/facts"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/directory"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/agentconfig"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/targeting"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/values"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/release"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/settle"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

// Kind is the kind of a step: why a bundle deployment is not applied, or a kind that package why adds.
// docs/verbs/why.md describes the kinds.
type Kind string

// The kinds, in the order in which they are considered: what comes first hides what comes later.
const (
	Paused     Kind = "Paused"
	Schedule   Kind = "OffSchedule"
	Agent      Kind = "AgentSilent"
	Values     Kind = "Values"
	Dependency Kind = "Dependency"
	// Absent is a dependency without a bundle deployment on the cluster.
	Absent  Kind = "DependencyAbsent"
	Content Kind = "ContentMissing"
	Record  Kind = "RecordPending"
	Failed  Kind = "DeployFailed"
	// Rollout is a limit of the rollout, a partition that it has not reached, or a run of the controller that is due.
	Rollout Kind = "Rollout"
	// State is the end of a chain: a dependency that is deployed and not ready.
	State Kind = "NotReady"
	// Cycle is the end of a chain of dependencies that leads back to itself.
	Cycle Kind = "DependencyCycle"
)

// Step is one step from a bundle deployment that is not applied to the root cause, which is the last step.
type Step struct {
	Kind Kind
	// Of is the bundle deployment that the step is about.
	Of *directory.Deployment
	// Message is a sentence about it. It has no name of an object that differs between clusters.
	Message string
	// Said is the error that Fleet or Helm reported, as the end of the sentence; empty without one.
	Said string
	// Since is when that began; zero if it is not known.
	Since time.Time
	// Limit is the limit of a Rollout, and Clusters are those that use it up ("namespace/name").
	Limit    targeting.HoldReason
	Clusters []string
	// Dependency is the name of the bundle that it waits for; empty for a selector that selects nothing, and for other
	// kinds.
	Dependency string
	// Record is the release record of BlockerRecord.
	Record release.Name
	// Settle are the questions whose answers decide whether the blocker is certain, after some Pauses.
	Settle []settle.Question
	Pauses int
	// Refused is true for a BlockerFailed whose installation Helm refused: the agent does not try it again.
	Refused bool
}

// blockers finds the blockers of bundle deployments.
type blockers struct {
	facts        *facts.Facts
	dependencies *dependency.Index
	rollout      func(*v1alpha1.Bundle) *Progress
	byKey        map[string]*directory.Deployment
}

// values returns why the values of a bundle deployment keep its agent from deploying it, as a sentence with its time;
// empty if they do not, or if it is not known.
func (c *blockers) values(d *directory.Deployment) (why string, since time.Time) {
	if !c.facts.Holds(c.sameValues(d)) {
		return "", time.Time{}
	}
	switch _, result := c.facts.ValuesOf(d); result.State {
	case values.Missing:
		return "its values Secret is missing", result.Since
	case values.Mismatch:
		return "its values Secret has other values than its BundleDeployment states", result.Since
	}
	return "", time.Time{}
}

func (c *blockers) sameValues(d *directory.Deployment) []settle.Question {
	return c.facts.SameValues(state.DeploymentKey(d.BD), d.Ref())
}

// New returns a function that follows a bundle deployment to the root cause for which it is not applied. It returns
// nothing if it is applied, or if the data does not show the cause.
func New(f *facts.Facts) func(*directory.Deployment) []Step {
	c := blockers{facts: f, dependencies: dependency.New(f.Desired.Directory), rollout: Rollouts(f),
		byKey: map[string]*directory.Deployment{}}
	for _, d := range f.Desired.Deployments {
		c.byKey[d.Key()] = &d.Deployment
	}
	return func(d *directory.Deployment) []Step { return c.of(d, map[string]bool{}) }
}

// waits reports whether a bundle deployment is not applied.
func waits(d *directory.Deployment) bool {
	if d.BD == nil || d.FromFiles() {
		return false
	}
	if facts.Deleting(d.BD) || d.BD.Spec.DeploymentID == "" {
		return false
	}
	refused := facts.ConditionOf(d.BD.Status.Conditions, "Installed").Status == "False"
	return refused || d.BD.Spec.DeploymentID != d.BD.Status.AppliedDeploymentID
}

// heldBack returns the chain from a bundle deployment that a rollout does not update to why the first cluster that
// uses up the limit is not ready; nil if the rollout does not hold it back, or if that is not known.
func (c *blockers) heldBack(d *directory.Deployment, seen map[string]bool) []Step {
	if d.BD == nil || d.FromFiles() || facts.Deleting(d.BD) {
		return nil
	}
	b := c.facts.Bundle(d.Bundle)
	if b == nil || fleet.StateOf(d.BD) != fleet.OutOfSync {
		return nil
	}
	switch spec := &d.BD.Spec; {
	case spec.DeploymentID == "":
		return nil
	case spec.Paused:
		return []Step{{Kind: Paused, Of: d, Message: "it is paused, and a newer deployment is staged"}}
	}
	p := c.rollout(b)
	h, known := p.HoldOf(d.BD)
	if !known || h.Reason == targeting.NotHeld {
		return nil
	}
	step := Step{Kind: Rollout, Of: d, Message: p.Held(d.BD, h), Limit: h.Reason}
	for _, by := range h.By {
		step.Clusters = append(step.Clusters, by.Key())
	}
	for _, by := range h.By {
		other := c.byKey[by.Status.Namespace+"/"+b.Name]
		if other == nil || other.BD == nil || fleet.StateOf(other.BD) == fleet.OutOfSync {
			continue
		}
		if deeper := c.of(other, seen); len(deeper) > 0 {
			return append([]Step{step}, deeper...)
		}
		is := string(fleet.ReportedState(other.BD))
		return []Step{step, {Kind: State, Of: other, Message: "it is " + is}}
	}
	return []Step{step}
}

// of returns the blockers of a bundle deployment. seen are those of the chain so far.
func (c *blockers) of(d *directory.Deployment, seen map[string]bool) []Step {
	seen[d.Key()] = true
	if !waits(d) {
		return c.heldBack(d, seen)
	}
	one := func(kind Kind, since time.Time, format string, args ...any) []Step {
		return []Step{{Kind: kind, Of: d, Since: since, Message: fmt.Sprintf(format, args...)}}
	}
	switch spec := &d.BD.Spec; {
	case spec.DeploymentID == d.BD.Status.AppliedDeploymentID:
		return c.failed(d, "Installed", "its installation was refused") // the agent has tried it
	case spec.Paused:
		return one(Paused, time.Time{}, "it is paused")
	case spec.OffSchedule:
		return one(Schedule, time.Time{}, "it is outside of the schedule of its cluster")
	}
	switch a, known := c.facts.AgentOf(d.Namespace); {
	case known && a.Heartbeat.State == agentconfig.Never:
		return one(Agent, time.Time{}, "no agent has ever reported for its cluster")
	case known && facts.IsSilent(a):
		return one(Agent, a.Heartbeat.LastSeen, "the agent of its cluster has not reported")
	}
	if why, since := c.values(d); why != "" {
		out := one(Values, since, "%s", why)
		out[0].Settle, out[0].Pauses = c.sameValues(d), 1
		return out
	}
	if chain := c.dependency(d, seen); len(chain) > 0 {
		return chain
	}
	same := c.facts.SameContent(d.BD)
	if id := state.ContentID(d.BD); c.facts.Desired.Contents.Missing[id] && c.facts.Holds(same) {
		out := one(Content, time.Time{}, "its content %s does not exist", id)
		out[0].Settle = same
		return out
	}
	for _, t := range d.RecordProblems {
		if c.facts.BlocksHelm(d, t) {
			out := one(Record, t.Since, "revision %d of its release is %s: Helm refuses to deploy", t.Record.Revision,
				t.Status)
			out[0].Record = t.Record
			return out
		}
	}
	if out := c.failed(d, "Installed", "its installation was refused"); out != nil {
		return out
	}
	if dependency.SaysItWaits(d.BD) {
		return nil
	}
	return c.failed(d, "Deployed", "its agent could not deploy it")
}

// failed returns the step that a condition is False, with the error in it; nil if it is not. If the installation was
// refused, the agent does not try it again.
func (c *blockers) failed(d *directory.Deployment, condition, message string) []Step {
	found := facts.ConditionOf(d.BD.Status.Conditions, condition)
	if found.Status != "False" {
		return nil
	}
	return []Step{{Kind: Failed, Of: d, Since: facts.Parsed(found.LastUpdateTime), Message: message,
		Refused: condition == "Installed",
		Said:    cmp.Or(c.facts.SaidOf(d, condition), "; its condition "+condition+" has no message")}}
}

// dependency returns the chain from a bundle deployment to the first blocker among its dependencies; nil if nothing
// shows one.
func (c *blockers) dependency(d *directory.Deployment, seen map[string]bool) []Step {
	for _, ref := range d.BD.Spec.DependsOn {
		found, known := c.dependencies.Matching(d, ref)
		if !known {
			continue
		}
		if len(found) == 0 {
			return []Step{{Kind: Absent, Of: d, Dependency: ref.Name,
				Message: "no bundle deployment of its cluster matches its dependency " +
					cmp.Or(ref.Name, "(a selector)")}}
		}
		for _, b := range found {
			if !dependency.Blocks(d, b, ref) {
				continue
			}
			reported := string(fleet.ShownState(b.BD))
			step := Step{Kind: Dependency, Of: d, Dependency: b.Name,
				Message: "it waits for its dependency " + b.Name + ", which is " + reported}
			if seen[b.Key()] {
				return []Step{step, {Kind: Cycle, Of: b, Message: "its dependencies lead back to itself"}}
			}
			if deeper := c.of(b, seen); len(deeper) > 0 {
				return append([]Step{step}, deeper...)
			}
			return []Step{step, {Kind: State, Of: b, Message: "it is " + reported}}
		}
	}
	return nil
}
