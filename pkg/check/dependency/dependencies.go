// SPDX-License-Identifier: Apache-2.0

// Package dependency finds the bundle deployments that others depend on, and what agents find when they test them. The
// package is pure.
package dependency

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/directory"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

// Index finds the bundle deployments that others depend on. Source: docs/fleet-behavior.md, 4.9.
type Index struct {
	directory   *directory.Directory
	byName      map[[2]string]*directory.Deployment // by namespace and name
	byNamespace map[string][]*directory.Deployment
}

// New indexes the bundle deployments.
func New(in *directory.Directory) *Index {
	out := &Index{directory: in, byName: map[[2]string]*directory.Deployment{},
		byNamespace: map[string][]*directory.Deployment{}}
	for _, d := range in.Deployments {
		if d.BD != nil {
			out.byName[[2]string{d.Namespace, d.Name}] = d
			out.byNamespace[d.Namespace] = append(out.byNamespace[d.Namespace], d)
		}
	}
	return out
}

// Closure returns bundle deployments with all that they depend on, directly or not.
func (x *Index) Closure(of []*directory.Deployment) []*directory.Deployment {
	out := slices.Clone(of)
	seen := map[object.DeploymentID]bool{}
	for _, d := range out {
		seen[d.ID()] = true
	}
	for i := 0; i < len(out); i++ {
		if out[i].BD == nil {
			continue
		}
		for _, ref := range out[i].BD.Spec.DependsOn {
			found, _ := x.Matching(out[i], ref)
			for _, d := range found {
				if !seen[d.ID()] {
					seen[d.ID()] = true
					out = append(out, d)
				}
			}
		}
	}
	return out
}

// Matching returns the bundle deployments in the same namespace that a dependency names; known is false if not all
// could be read.
func (x *Index) Matching(d *directory.Deployment, ref v1alpha1.BundleRef) (found []*directory.Deployment, known bool) {
	if !x.directory.Read(state.BundleDeployment, d.Namespace) || ref.Name == "" && ref.Selector == nil {
		return nil, false
	}
	selector, err := selectorOf(ref, d.BD.Labels[fleet.BundleNamespaceLabel])
	if err != nil {
		return nil, false
	}
	if ref.Name != "" && ref.Selector == nil {
		if b := x.byName[[2]string{d.Namespace, ref.Name}]; b != nil && selector.Matches(labels.Set(b.BD.Labels)) {
			return []*directory.Deployment{b}, true
		}
	}
	found, _ = x.selected(d, selector, nil)
	return found, true
}

// testsState is the first minor version of Fleet whose agent tests the state of a dependency, and not its condition
// Ready.
const testsState = 15

// waits begins the message of the condition Deployed if the agent found that a dependency is not ready.
const waits = "dependent bundle(s) are not ready"

// Blocks reports whether a dependency of a bundle deployment is not ready, by the rules of its agent. If the version of
// the agent is not known, and versions differ in the result, the agent must have reported that it waits for a
// dependency.
func Blocks(d, dependency *directory.Deployment, ref v1alpha1.BundleRef) bool {
	notReady := !conditionReady(dependency.BD)
	notAccepted := !accepted(ref, dependency.BD)
	if notReady == notAccepted {
		return notReady
	}
	version := ""
	if d.On != nil {
		version = d.On.AgentVersion(d.Namespace)
	}
	switch agent, known := fleet.ParseVersion(version); {
	case known && agent.Before(testsState, 0):
		return notReady
	case known:
		return notAccepted
	}
	return SaysItWaits(d.BD)
}

// conditionReady reports whether the condition Ready is True.
func conditionReady(bd *v1alpha1.BundleDeployment) bool {
	return slices.ContainsFunc(bd.Status.Conditions,
		func(c v1alpha1.Condition) bool { return c.Type == "Ready" && c.Status == "True" })
}

// SaysItWaits reports whether the agent reported last that a dependency is not ready.
func SaysItWaits(bd *v1alpha1.BundleDeployment) bool {
	return len(bd.Spec.DependsOn) > 0 && slices.ContainsFunc(bd.Status.Conditions, func(c v1alpha1.Condition) bool {
		return c.Type == "Deployed" && c.Status == "False" && strings.HasPrefix(c.Message, waits)
	})
}

// accepted reports whether a dependency is in a state that is accepted. A state that this program does not know is
// compared as it is shown.
func accepted(ref v1alpha1.BundleRef, bd *v1alpha1.BundleDeployment) bool {
	shown := fleet.ShownState(bd)
	return acceptedState(ref, fleet.StateOf(bd)) || shown.Rank() == 0 && acceptedState(ref, shown)
}

func acceptedState(ref v1alpha1.BundleRef, s fleet.BundleState) bool {
	if len(ref.AcceptedStates) == 0 {
		return s == fleet.Ready
	}
	return slices.Contains(ref.AcceptedStates, string(s))
}
