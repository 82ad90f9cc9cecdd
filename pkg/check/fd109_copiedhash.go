// SPDX-License-Identifier: Apache-2.0

package check

import (
	"fmt"
	"slices"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/resolve"
)

var copiedHash = Check{
	Code: "FD109", Name: "CopiedHash", Severity: Info,
	Title:   "the object carries a bundle's hash and was in none of its revisions",
	Explain: "A controller made it and copied its parent's labels. Fleet passes such objects over; a change in them is nobody's drift.",
	run: func(in *Input) []Finding {
		var out []Finding
		for _, m := range in.Undesired {
			if followsService(m.Ref) {
				continue
			}
			d := m.On.OwnerOf(m.Metadata)
			if d == nil || !in.InScope(d) || m.NoPrune || slices.ContainsFunc(m.On.Sets[m.Metadata.Hash], explains(m)) {
				continue
			}
			f := Finding{
				Object: m.Ref, Cluster: d.Cluster, BundleDeployment: d.Key(),
				Message: fmt.Sprintf("%s carries the hash of %s, which never had it", m.Key(), d.Key()),
			}
			if m.Controller != "" {
				f.Evidence = []string{"it is controlled by " + m.Controller}
			}
			out = append(out, f)
		}
		return out
	},
}

// followsService says whether Kubernetes makes the object for a Service, with the labels of the Service.
func followsService(r object.Ref) bool {
	switch group := object.Group(r.APIVersion); r.Kind {
	case "Endpoints":
		return group == ""
	case "EndpointSlice":
		return group == "discovery.k8s.io"
	}
	return false
}

// explains says whether a deployment of the set is another reason for the hash: it had the object, or may have had; a hook of its release
// has the hash since Helm 4; and the agent's own set is also what its installation applied beside any release.
func explains(m evaluate.Undesired) func(*resolve.BundleDeployment) bool {
	return func(d *resolve.BundleDeployment) bool {
		return d.Problem != "" || evaluate.IsOrphan(d, m) || d.Hooks[resolve.KindName{Kind: m.Kind, Name: m.Name}] || fleet.IsFleetsOwnSet(d.Ownership.SetID)
	}
}
