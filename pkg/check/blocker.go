// SPDX-License-Identifier: Apache-2.0

package check

import (
	"cmp"
	"fmt"
	"time"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/directory"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/values"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/release"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

// BlockerKind is why a bundle deployment is not applied.
type BlockerKind string

// The kinds, in the order in which they are considered: what comes first hides what comes later.
const (
	BlockerPaused     BlockerKind = "Paused"
	BlockerSchedule   BlockerKind = "OffSchedule"
	BlockerAgent      BlockerKind = "AgentSilent"
	BlockerValues     BlockerKind = "Values"
	BlockerDependency BlockerKind = "Dependency"
	// BlockerAbsent is a dependency without a bundle deployment on the cluster.
	BlockerAbsent  BlockerKind = "DependencyAbsent"
	BlockerContent BlockerKind = "ContentMissing"
	BlockerRecord  BlockerKind = "RecordPending"
	BlockerFailed  BlockerKind = "DeployFailed"
	// BlockerState is the end of a chain: a dependency that is deployed and not ready.
	BlockerState BlockerKind = "NotReady"
	// BlockerCycle is the end of a chain of dependencies that leads back to itself.
	BlockerCycle BlockerKind = "DependencyCycle"
)

// Blocker is one step from a bundle deployment that is not applied to the root cause, which is the last step.
type Blocker struct {
	Kind BlockerKind
	// Of is the bundle deployment that the step is about.
	Of *directory.Deployment
	// Message is a sentence about it. It has no name of an object that differs between clusters.
	Message string
	// Said is the error that Fleet or Helm reported, as the end of the sentence; empty without one.
	Said string
	// Since is when that began; zero if it is not known.
	Since time.Time
	// Dependency is the name of the bundle that it waits for; empty for a selector that selects nothing, and for other kinds.
	Dependency string
	// Record is the release record of BlockerRecord.
	Record release.Name
	// Refused is true for a BlockerFailed whose installation Helm refused: the agent does not try it again.
	Refused bool
}

// blockers finds the blockers of bundle deployments.
type blockers struct {
	in           *Input
	dependencies *Dependencies
}

// values returns why the values of a bundle deployment keep its agent from deploying it, as a sentence with its time; empty if they do not, or if it is
// not known.
func (c *blockers) values(d *directory.Deployment) (why string, since time.Time) {
	facts := c.in.Desired.Values.Facts(state.DeploymentKey(d.BD), state.DeploymentOwner(d.BD, c.in.Bundle(d.Bundle)))
	result := values.Classify(facts, c.in.Now(), c.in.controller())
	switch result.State {
	case values.Missing:
		return "its values Secret is missing", result.Since
	case values.Mismatch:
		return "its values Secret has other values than its BundleDeployment states", result.Since
	}
	return "", time.Time{}
}

// Blockers returns a function that follows a bundle deployment to the root cause for which it is not applied. It returns nothing if it is applied, or if
// the data does not show the cause.
func (in *Input) Blockers() func(*directory.Deployment) []Blocker {
	c := blockers{in: in, dependencies: NewDependencies(in.Desired.Directory)}
	return func(d *directory.Deployment) []Blocker { return c.of(d, map[string]bool{}) }
}

// waits reports whether a bundle deployment is not applied.
func waits(d *directory.Deployment) bool {
	if d.BD == nil || d.FromFiles() || d.BD.DeletionTimestamp != nil || d.BD.Spec.DeploymentID == "" {
		return false
	}
	_, refused := conditionFalse(d.BD, "Installed")
	return refused || d.BD.Spec.DeploymentID != d.BD.Status.AppliedDeploymentID
}

// conditionFalse reports whether a condition is False, and when it was written; zero if that is not known.
func conditionFalse(bd *v1alpha1.BundleDeployment, name string) (at time.Time, is bool) {
	for _, c := range bd.Status.Conditions {
		if c.Type == name && c.Status == "False" {
			return parsed(c.LastUpdateTime), true
		}
	}
	return time.Time{}, false
}

// of returns the blockers of a bundle deployment. seen are those of the chain so far.
func (c *blockers) of(d *directory.Deployment, seen map[string]bool) []Blocker {
	if !waits(d) {
		return nil
	}
	seen[d.Key()] = true
	one := func(kind BlockerKind, since time.Time, format string, args ...any) []Blocker {
		return []Blocker{{Kind: kind, Of: d, Since: since, Message: fmt.Sprintf(format, args...)}}
	}
	refused := func(at time.Time) []Blocker {
		out := one(BlockerFailed, at, "its installation was refused")
		out[0].Refused, out[0].Said = true, c.said(d, "Installed")
		return out
	}
	if at, is := conditionFalse(d.BD, "Installed"); is && d.BD.Spec.DeploymentID == d.BD.Status.AppliedDeploymentID {
		return refused(at) // the agent has tried it, so nothing else blocked it
	}
	switch spec := &d.BD.Spec; {
	case spec.Paused:
		return one(BlockerPaused, time.Time{}, "it is paused")
	case spec.OffSchedule:
		return one(BlockerSchedule, time.Time{}, "it is outside of the schedule of its cluster")
	}
	if a, known := c.in.AgentOf(d.Namespace); known && IsSilent(a) {
		return one(BlockerAgent, a.Heartbeat.LastSeen, "the agent of its cluster has not reported")
	}
	if why, since := c.values(d); why != "" {
		return one(BlockerValues, since, "%s", why)
	}
	if chain := c.dependency(d, seen); len(chain) > 0 {
		return chain
	}
	if id := state.ContentID(d.BD); c.in.Desired.Contents.Missing[id] {
		return one(BlockerContent, time.Time{}, "its content %s does not exist", id)
	}
	for _, t := range d.RecordProblems {
		if c.in.blocksHelm(d, t) {
			out := one(BlockerRecord, t.Since, "revision %d of its release is %s: Helm refuses to deploy", t.Record.Revision, t.Status)
			out[0].Record = t.Record
			return out
		}
	}
	if at, is := conditionFalse(d.BD, "Installed"); is {
		return refused(at)
	}
	if at, is := conditionFalse(d.BD, "Deployed"); is && !SaysItWaits(d.BD) {
		out := one(BlockerFailed, at, "its agent could not deploy it")
		out[0].Said = c.said(d, "Deployed")
		return out
	}
	return nil
}

// said returns the error in a condition, as the end of a sentence.
func (c *blockers) said(d *directory.Deployment, condition string) string {
	return cmp.Or(c.in.saidOf(d, condition), "; its condition "+condition+" has no message")
}

// dependency returns the chain from a bundle deployment to the first blocker among its dependencies; nil if nothing shows one.
func (c *blockers) dependency(d *directory.Deployment, seen map[string]bool) []Blocker {
	for _, ref := range d.BD.Spec.DependsOn {
		found, known := c.dependencies.matching(d, ref)
		if !known {
			continue
		}
		if len(found) == 0 {
			return []Blocker{{Kind: BlockerAbsent, Of: d, Dependency: ref.Name, Message: "no bundle deployment of its cluster matches its dependency " + cmp.Or(ref.Name, "(a selector)")}}
		}
		for _, b := range found {
			if !blocks(d, b, ref) {
				continue
			}
			reported := string(fleet.ShownState(b.BD))
			step := Blocker{Kind: BlockerDependency, Of: d, Dependency: b.Name, Message: "it waits for its dependency " + b.Name + ", which is " + reported}
			if seen[b.Key()] {
				return []Blocker{step, {Kind: BlockerCycle, Of: b, Message: "its dependencies lead back to itself"}}
			}
			if deeper := c.of(b, seen); len(deeper) > 0 {
				return append([]Blocker{step}, deeper...)
			}
			return []Blocker{step, {Kind: BlockerState, Of: b, Message: "it is " + reported}}
		}
	}
	return nil
}
