// SPDX-License-Identifier: Apache-2.0

package check

import "github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/codes"

import "github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"

func (in *Input) frozen(out *found, d *evaluate.BundleDeployment) {
	if why := whyFrozen(d); why != "" {
		f := onDeployment(d, "the status of %s is not current: %s", d.Key(), why)
		f.Follows = originsAt(&d.Deployment, codes.NotApplied)
		out.report(f, in.Steps.Commands.ShowCauses(&d.Deployment))
	}
}

func whyFrozen(d *evaluate.BundleDeployment) string {
	if d.BD == nil {
		return ""
	}
	switch spec, status := d.BD.Spec, d.BD.Status; {
	case spec.Paused:
		return "it is paused"
	case spec.OffSchedule:
		return "it is outside its schedule"
	case spec.DeploymentID != status.AppliedDeploymentID && status.AppliedDeploymentID == "":
		return "the agent has applied nothing yet"
	case spec.DeploymentID != status.AppliedDeploymentID:
		return "the agent has not applied the current deployment id yet"
	}
	return ""
}
