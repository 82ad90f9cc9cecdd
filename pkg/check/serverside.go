// SPDX-License-Identifier: Apache-2.0

package check

import (
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/inventory"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/release"
)

// serverSide is Helm's word for a release that it applies on the server's side.
const serverSide = "ssa"

// helm4 is the first minor version of Fleet with Helm 4, which installs server-side.
const helm4 = 15

// ServerSide says whether Helm applies the next deploy of d on the server's side, where a field that another manager owns is a conflict: an
// upgrade as the release was applied before, an installation with Helm 4, and neither where it is told to force or to take over (Fleet's
// facts, ownership 1.6 and 1.7). Where not all records could be read, nothing is said.
func (c *Case) ServerSide(d *inventory.Deployment) bool {
	options := d.Options()
	if options.Helm != nil && options.Helm.Force || options.CorrectDrift != nil && options.CorrectDrift.Force {
		return false
	}
	switch last := c.Inventory.Latest[d.Ownership.Release()]; {
	case last != nil:
		return last.ApplyMethod == serverSide && last.Status != release.StatusUninstalling
	case !c.RecordsRead(d.Ownership.ReleaseNamespace), options.Helm != nil && options.Helm.TakeOwnership:
		return false
	}
	agent, known := fleet.ParseVersion(c.Inventory.Versions[c.Inventory.AgentOf(d)])
	return !known || !agent.Before(helm4, 0)
}
