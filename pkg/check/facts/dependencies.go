// SPDX-License-Identifier: Apache-2.0

package facts

import (
	"cmp"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/directory"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

// Dependencies finds the bundle deployments that others depend on. Source: docs/fleet-behavior.md, 4.9.
type Dependencies struct {
	directory   *directory.Directory
	byNamespace map[string][]*directory.Deployment
}

// NewDependencies indexes the bundle deployments.
func NewDependencies(in *directory.Directory) *Dependencies {
	out := &Dependencies{directory: in, byNamespace: map[string][]*directory.Deployment{}}
	for _, d := range in.Deployments {
		if d.BD != nil {
			out.byNamespace[d.Namespace] = append(out.byNamespace[d.Namespace], d)
		}
	}
	return out
}

// Closure returns bundle deployments with all that they depend on, directly or not.
func (x *Dependencies) Closure(of []*directory.Deployment) []*directory.Deployment {
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
func (x *Dependencies) Matching(d *directory.Deployment, ref v1alpha1.BundleRef) (found []*directory.Deployment, known bool) {
	if !x.directory.Read(state.BundleDeployment, d.Namespace) || ref.Name == "" && ref.Selector == nil {
		return nil, false
	}
	selector, err := selectorOf(ref, d.BD.Labels[fleet.BundleNamespaceLabel])
	if err != nil {
		return nil, false
	}
	found, _ = x.selected(d, selector, nil)
	return found, true
}

// selectorOf returns the selector of a dependency, as its agent makes it.
func selectorOf(ref v1alpha1.BundleRef, workspace string) (labels.Selector, error) {
	s := cmp.Or(ref.Selector, &metav1.LabelSelector{}).DeepCopy()
	if ref.Name != "" {
		s = metav1.AddLabelToSelector(s, fleet.BundleLabel, ref.Name)
		s = metav1.AddLabelToSelector(s, fleet.BundleNamespaceLabel, workspace)
	}
	return metav1.LabelSelectorAsSelector(s)
}

// selected returns the bundle deployments that a selector selects beside those of a bundle deployment, which may be
// one of them, and the names of the selected siblings that do not exist yet.
func (x *Dependencies) selected(d *directory.Deployment, selector labels.Selector,
	siblings []*directory.Deployment) (found []*directory.Deployment, later []string) {
	for _, b := range x.byNamespace[d.DeploymentNamespace()] {
		if selector.Matches(labels.Set(b.BD.Labels)) {
			found = append(found, b)
		}
	}
	for _, b := range siblings {
		switch isNew := b.BD == nil && b.IsOn(d.ClusterID); {
		case !isNew || !selector.Matches(labels.Set(b.BundleLabels())):
		case b.ID() == d.ID():
			found = append(found, b)
		default:
			later = append(later, b.Name)
		}
	}
	return found, later
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
	ready, known := readyFor(d, dependency, ref, fleet.ParseVersion)
	if !known {
		return SaysItWaits(d.BD)
	}
	return !ready
}

// readyFor reports whether a dependency is ready for the agent of a bundle deployment. known is false if that depends
// on the version of the agent, and the version is not known. parse reads the version.
func readyFor(d, dependency *directory.Deployment, ref v1alpha1.BundleRef,
	parse func(string) (fleet.Version, bool)) (ready, known bool) {
	byCondition := dependency.BD != nil && conditionReady(dependency.BD)
	var byState bool
	if dependency.ID() == d.ID() && d.FromFiles() { // with other contents
		byState = acceptedState(ref, fleet.WaitApplied)
	} else {
		byState = acceptedBy(ref, dependency.BD)
	}
	agent, known := parse(d.AgentVersion)
	switch {
	case byCondition == byState:
		return byState, true
	case agent.Before(testsState, 0):
		return byCondition, known
	}
	return byState, known
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

// acceptedBy reports whether a dependency is in a state that is acceptedBy. A state that this program does not know is
// compared as it is shown.
func acceptedBy(ref v1alpha1.BundleRef, bd *v1alpha1.BundleDeployment) bool {
	shown := fleet.ShownState(bd)
	return acceptedState(ref, fleet.StateOf(bd)) || shown.Rank() == 0 && acceptedState(ref, shown)
}

func acceptedState(ref v1alpha1.BundleRef, s fleet.BundleState) bool {
	if len(ref.AcceptedStates) == 0 {
		return s == fleet.Ready
	}
	return slices.Contains(ref.AcceptedStates, string(s))
}
