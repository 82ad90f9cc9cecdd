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
	Title: "the counts or the state of a BundleDeployment do not match its objects",
	run: func(in *Input, report func(Finding)) {
		for _, d := range in.Deployments {
			a := in.View(d)
			if a.why.cause == "" || ofOtherDeployment(d) {
				continue // FD208 reports a status of another deployment id
			}
			f := onDeployment(d, "%s %s: %s", d.Key(), a.difference(d.BD), a.why.words)
			if f.Cause = a.why.cause; f.Cause == Lag {
				f.Compares = []object.Ref{d.Ref()}
			}
			if c := d.Counts; c.Unowned > 0 {
				f.Evidence = append(f.Evidence, fmt.Sprintf("unowned objects, which Fleet counts as missing: %d", c.Unowned))
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

// ofOtherDeployment reports whether the status is that of another deployment id, or may be.
func ofOtherDeployment(d *evaluate.BundleDeployment) bool {
	return d.State == evaluate.WaitApplied || d.State == evaluate.ErrApplied
}

// difference describes what a status reports of its objects, and what they are.
func (a *view) difference(bd *v1alpha1.BundleDeployment) string {
	reported, actual := shareOf(a.reported.Counts).String(), shareOf(a.actual.Counts).String()
	if reported == actual {
		reported = detailed(a.reported.Counts) // only the details differ
	}
	switch details := inWords(a.actual.Counts); {
	case a.claim != "":
		return fmt.Sprintf("reports %s, but %s objects are ready%s", a.claim, actual, details)
	case bd.Status.ResourceCounts == nil:
		return fmt.Sprintf("lists %s objects as ready, %s are%s", reported, actual, details)
	default:
		return fmt.Sprintf("reports %s objects ready, %s are%s", reported, actual, details)
	}
}

// fleetCounts returns the counts in the status of a bundle deployment. Before Fleet 0.12 there are none; then it returns the counts as the agent
// would compute them. known is false if neither is known.
func (in *Input) fleetCounts(d *evaluate.BundleDeployment) (counts v1alpha1.ResourceCounts, known bool) {
	if a := in.View(d); !a.reportedKnown {
		return a.actual.Counts, a.known
	}
	return in.View(d).reported.Counts, true
}
