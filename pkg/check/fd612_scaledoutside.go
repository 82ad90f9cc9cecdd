// SPDX-License-Identifier: Apache-2.0

package check

import (
	"slices"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/codes"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
)

// scaledOutside reports an object that is as desired, and that Fleet reports as modified for as long as an autoscaler
// that is not in the bundle changes its number of replicas.
func (in *Input) scaledOutside(out *found, d *evaluate.BundleDeployment, o *evaluate.Object) {
	out.reportIf(in.scaled(d, o))
}

// scaled is scaledOutside for the graph of causes.
func (in *Input) scaled(d *evaluate.BundleDeployment, o *evaluate.Object) (Finding, bool) {
	if !o.Scaled || d.BD == nil || fleet.BugReplicas.In(d.AgentVersion) { // FD201 reports the bug
		return Finding{}, false
	}
	reported := slices.ContainsFunc(d.BD.Status.ModifiedStatus, func(m v1alpha1.ModifiedStatus) bool {
		ref := object.Ref{APIVersion: m.APIVersion, Kind: m.Kind, Namespace: m.Namespace, Name: m.Name}
		return ref == o.Ref && !m.Missing && !m.Delete
	})
	if !reported {
		return Finding{}, false
	}
	f := about(d, o.Ref, "an autoscaler scales %s, and Fleet reports it as modified: it knows only autoscalers of the "+
		"same bundle", o.Key())
	f.Code = codes.ScaledOutside
	f.Remedies = only(in.Steps.Commands.Rules(&d.Deployment, "prints the rule that excludes /spec/replicas, for "+
		"diff.comparePatches in the fleet.yaml; leaving replicas out of the manifest does the same"))
	return f, true
}
