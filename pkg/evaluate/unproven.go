// SPDX-License-Identifier: Apache-2.0

package evaluate

import (
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/directory"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
)

// unproven sets the state Unknown for objects of an agent if no object has the set of its release and the objects have sets of the same bundles
// with another scope. Releases and objects contradict each other, and no running agent shows its scope.
func unproven(deployments []*BundleDeployment) {
	byAgent := map[string][]*BundleDeployment{}
	for _, d := range deployments {
		if d.Scope.Evidence == directory.EvidenceReleases && d.ReleaseOwnership.Hash != "" && !d.Disputed {
			byAgent[d.Agent] = append(byAgent[d.Agent], d)
		}
	}
	for _, all := range byAgent {
		var others []*Object
		agree := false
		for _, d := range all {
			for i := range d.Objects {
				o := &d.Objects[i]
				agree = agree || o.Metadata.Hash == d.Ownership.Hash
				if o.State == Unowned && otherScope(d, o) {
					others = append(others, o)
				}
			}
		}
		if agree {
			continue
		}
		for _, o := range others {
			o.State, o.Reason, o.Owner, o.Differences = Unknown, ScopeUnproven, nil, nil
			o.Message = "it has set " + o.Metadata.SetID + ", and its release states set " + o.Deployment.ReleaseOwnership.SetID + ": no running agent shows which one it uses"
		}
	}
}

// otherScope reports whether an object has the set of its own bundle, made with another scope.
func otherScope(d *BundleDeployment, o *Object) bool {
	_, ok := fleet.ScopeOfSet(o.Metadata.SetID, d.Name)
	return ok && o.Metadata.SetID != d.Ownership.SetID && o.Metadata.Hash == fleet.Hash(o.Metadata.SetID)
}
