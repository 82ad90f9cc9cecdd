// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/inventory"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

// unproven makes objects Unknown whose releases state sets that none of them carries, while they carry sets of the same bundles with another
// scope: release and objects disagree, and no running agent shows which of the two its scope makes.
func (l *live) unproven() {
	byAgent := map[string][]*check.Deployment{}
	for _, d := range l.deployments {
		if d.Scope.Evidence == inventory.EvidenceReleases && d.Stated.Hash != "" && !d.Disputed {
			byAgent[d.Agent] = append(byAgent[d.Agent], d)
		}
	}
	for _, deployments := range byAgent {
		var others []*check.Object
		carried := false
		for _, d := range deployments {
			for i := range d.Objects {
				o := &d.Objects[i]
				carried = carried || o.Metadata.Hash == d.Ownership.Hash
				if o.State == report.Unowned && otherScope(d, o) {
					others = append(others, o)
				}
			}
		}
		if carried {
			continue // releases and objects agree
		}
		for _, o := range others {
			o.State, o.Reason, o.Owner, o.Differences = report.Unknown, check.ScopeUnproven, nil, nil
			o.Message = "it carries set " + o.Metadata.SetID + ", and its release states set " + o.Deployment.Stated.SetID + ": no running agent shows which one it uses"
		}
	}
}

// otherScope says whether an object carries the set of its own bundle, made with another scope.
func otherScope(d *check.Deployment, o *check.Object) bool {
	_, ok := fleet.ScopeOfSet(o.Metadata.SetID, d.Name)
	return ok && o.Metadata.SetID != d.Ownership.SetID && o.Metadata.Hash == fleet.Hash(o.Metadata.SetID)
}
