// SPDX-License-Identifier: Apache-2.0

package check

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/remedy"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/desired"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
)

func (in *Input) copiedHash(out *found) {
	for _, m := range in.Result.Undesired {
		on := in.Result.Desired.On(m.Cluster)
		d := on.OwnerOf(m.Metadata)
		if d == nil || !in.Result.InScope(d.ID()) || m.NoPrune {
			continue
		}
		if !slices.Contains(on.MayHave(m.Metadata.Hash, m.Key(), m.Metadata), d) {
			continue
		}
		if followsService(m.Ref) || slices.ContainsFunc(on.BySet(m.Metadata.Hash), explains(m)) {
			continue
		}
		f := Finding{Object: m.Ref, Cluster: d.Cluster, BundleDeployment: d.Key(),
			Message: fmt.Sprintf("%s has the hash label of %s, but was in none of its revisions", m.Key(), d.Key())}
		f.sayIf(m.Controller != "", "it is controlled by "+m.Controller)
		out.report(f, remedy.Advise("nothing to repair: Fleet ignores the object"))
	}
}

// followsService reports whether Kubernetes creates the object for a Service, with the labels of the Service.
func followsService(r object.Ref) bool {
	gk := r.GroupVersionKind().GroupKind()
	return gk == schema.GroupKind{Kind: "Endpoints"} ||
		gk == schema.GroupKind{Group: "discovery.k8s.io", Kind: "EndpointSlice"}
}

// explains reports whether a deployment of the set is another reason for the hash label: it had the object, or may have
// had it; the hooks of a release have the label since Helm 4; and the installation of the agent applies objects of the
// agent's own set outside any release.
func explains(m evaluate.Undesired) func(*desired.BundleDeployment) bool {
	return func(d *desired.BundleDeployment) bool {
		if d.Problem != "" || fleet.IsFleetsOwnSet(d.Ownership.SetID) {
			return true
		}
		return evaluate.IsOrphan(d, m) || d.Hooks[desired.KindName{Kind: m.Kind, Name: m.Name}]
	}
}
