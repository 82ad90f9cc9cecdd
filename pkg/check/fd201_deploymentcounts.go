// SPDX-License-Identifier: Apache-2.0

package check

import (
	"fmt"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
)

var deploymentCounts = Check{
	Code: "FD201", Name: "DeploymentCounts", Severity: Warning,
	Title: "the counts of a BundleDeployment are not those of its objects",
	Explain: "The audit counts the live objects as Fleet's agent counts them: its missing objects include unowned ones. `cause` in the report says why the numbers differ. " +
		"On a live cluster, a difference of cause Lag is reported only if the status does not change within five seconds. Bundle deployments with objects that could not be evaluated, and those that have not applied the current deployment id, are not compared.",
	run: func(in *Input, report func(Finding)) {
		for _, d := range in.Deployments {
			a := in.view(d)
			if a.why.cause == "" || d.BD.Status.ResourceCounts == nil || d.State == evaluate.WaitApplied || d.State == evaluate.ErrApplied {
				continue // FD208 reports a status of another deployment id
			}
			reported := shareOf(a.reported.Counts).String()
			if shareOf(a.reported.Counts) == shareOf(a.actual.Counts) {
				reported = detailed(a.reported.Counts) // only the details differ
			}
			f := onDeployment(d, "%s reports %s objects ready, %s are%s: %s", d.Key(), reported, shareOf(a.actual.Counts), inWords(a.actual.Counts), a.why.words)
			if f.Cause = a.why.cause; f.Cause == Lag {
				f.Compares = []object.Ref{d.Ref()}
			}
			if c := d.Counts; c.Unowned > 0 {
				f.Evidence = append(f.Evidence, fmt.Sprintf("of the missing objects, %d exist and are not owned", c.Unowned))
			}
			if version := agentVersion(d); version != "" {
				f.Evidence = append(f.Evidence, "the agent's version is "+version)
			} else {
				f.Evidence = append(f.Evidence, "the agent's version is not known")
			}
			f.Remedies = []Remedy{in.Commands.describe(d.Ref())}
			report(f)
		}
	},
}

// fleetCounts returns the counts in the status of a bundle deployment. Before Fleet 0.12 there are none; then it returns the counts as the agent
// would compute them. known is false if neither is known.
func (in *Input) fleetCounts(d *evaluate.BundleDeployment) (counts v1alpha1.ResourceCounts, known bool) {
	if a := in.view(d); !a.reportedKnown {
		return a.actual.Counts, a.known
	}
	return in.view(d).reported.Counts, true
}
