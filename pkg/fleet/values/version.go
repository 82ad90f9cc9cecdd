// SPDX-License-Identifier: Apache-2.0

package values

import "github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"

// Controller is the version of fleet-controller, which writes the Secrets of BundleDeployments. Known is false if it
// could not be determined: then no method returns true. Source: docs/fleet-behavior.md, 8.2.
type Controller struct {
	fleet.Version
	Known bool
}

// ControllerOf returns the version in the tag of the controller's image.
func ControllerOf(tag string) Controller {
	v, known := fleet.ParseVersion(tag)
	return Controller{Version: v, Known: known}
}

// Inline reports whether the controller keeps values in the specs of Bundles and BundleDeployments, and uses no Secret.
func (c Controller) Inline() bool {
	switch c.Minor {
	case 10:
		return c.Known && c.Before(10, 11)
	case 11:
		return c.Known && c.Before(11, 6)
	}
	return c.Known && c.Before(12, 1)
}

// Waits reports whether the controller sets waitingForValues if the Secret does not exist, so that the agent deploys
// nothing without the values.
func (c Controller) Waits() bool { return c.Known && !c.Before(14, 4) }

// RepairsMismatch reports whether the controller writes the Secret and the hash again if they differ.
func (c Controller) RepairsMismatch() bool { return c.Known && !c.Before(15, 3) }

// LosesValues reports whether the controller skips values that it cannot load, and may then store the Secret with empty
// values.
func (c Controller) LosesValues() bool { return c.Known && !c.Before(14, 1) && c.Before(14, 4) }
