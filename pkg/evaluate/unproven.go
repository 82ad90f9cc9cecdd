// SPDX-License-Identifier: Apache-2.0

package evaluate

import (
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/desired"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/directory"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
)

// mayContradict reports whether live objects may contradict the release of a bundle deployment: no running agent shows
// its scope.
func mayContradict(d *desired.BundleDeployment) bool {
	return d.Scope.Evidence == directory.EvidenceReleases && d.ReleaseOwnership.Hash != "" && d.Dispute == ""
}

// contradict makes an object Unknown that has a set of its bundle with another scope.
func (o *Object) contradict(d *desired.BundleDeployment) {
	o.State, o.Reason, o.Owner, o.Differences = Unknown, ScopeUnproven, nil, nil
	o.Message = "it has set " + o.Metadata.SetID + ", and its release states set " + d.ReleaseOwnership.SetID +
		": no running agent shows which one it uses"
}

// otherScope reports whether an object has the set of its own bundle, made with another scope.
func otherScope(d *desired.BundleDeployment, o *Object) bool {
	_, ok := fleet.ScopeOfSet(o.Metadata.SetID, d.Name)
	return ok && o.Metadata.SetID != d.Ownership.SetID && o.Metadata.Hash == fleet.Hash(o.Metadata.SetID)
}
