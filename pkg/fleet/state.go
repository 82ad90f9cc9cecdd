// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"slices"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
)

// BundleState is the state of a BundleDeployment in Fleet's own terms. Newer versions of Fleet can have states that are
// not listed here.
type BundleState string

// The states.
const (
	Ready       BundleState = "Ready"
	NotReady    BundleState = "NotReady"
	Pending     BundleState = "Pending" // a target of a Bundle that has no BundleDeployment yet
	OutOfSync   BundleState = "OutOfSync"
	Modified    BundleState = "Modified"
	WaitApplied BundleState = "WaitApplied"
	ErrApplied  BundleState = "ErrApplied"
)

// ranks are the states from best to worst.
var ranks = []BundleState{Ready, NotReady, Pending, OutOfSync, Modified, WaitApplied, ErrApplied}

// Rank is higher for a worse state: 1 for Ready, 7 for ErrApplied, 0 for a state that is not known
// (docs/fleet-behavior.md, 4.3).
func (s BundleState) Rank() int { return slices.Index(ranks, s) + 1 }

// States are the states from best to worst.
func States() []BundleState { return slices.Clone(ranks) }

// StateOf returns the state that Fleet computes from the spec and the status of a BundleDeployment. The function is the
// same in all versions (docs/fleet-behavior.md, 4.3).
func StateOf(d *v1alpha1.BundleDeployment) BundleState {
	spec, status := &d.Spec, &d.Status
	switch {
	case status.AppliedDeploymentID != spec.DeploymentID:
		if slices.ContainsFunc(status.Conditions, func(c v1alpha1.Condition) bool {
			return c.Type == "Deployed" && c.Status == "False"
		}) {
			return ErrApplied
		}
		return WaitApplied
	case !status.Ready:
		return NotReady
	case spec.DeploymentID != spec.StagedDeploymentID:
		return OutOfSync
	case !status.NonModified:
		return Modified
	}
	return Ready
}

// ReportedState returns the state in the columns of kubectl. That one stays Ready while a deployment is not applied
// yet, or is not the staged one: in this case, ReportedState returns StateOf.
func ReportedState(d *v1alpha1.BundleDeployment) BundleState {
	is, actual := ShownState(d), StateOf(d)
	if is == Ready && slices.Contains([]BundleState{WaitApplied, ErrApplied, OutOfSync}, actual) {
		return actual
	}
	return is
}

// ShownState returns the state in the columns of kubectl, also if this program does not know it. If there is none, it
// returns StateOf.
func ShownState(d *v1alpha1.BundleDeployment) BundleState {
	if s := d.Status.Display.State; s != "" {
		return BundleState(s)
	}
	return StateOf(d)
}
