// SPDX-License-Identifier: Apache-2.0

package check

import (
	"cmp"
	"fmt"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/facts"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
)

func (in *Input) deploymentCounts(out *found, d *evaluate.BundleDeployment) {
	a := in.Facts.View(d)
	if a.Why.Cause == "" || ofOtherDeployment(d) {
		return // FD208 reports a status of another deployment id
	}
	f := onDeployment(d, "%s %s: %s", d.Key(), difference(a, d.BD), a.Why.Words)
	if f.Cause = a.Why.Cause; f.Cause == facts.Lag {
		f.Settle, f.Pauses = in.Facts.SameNumbers(d.Ref()), 1
	}
	f.Follows = in.originsOfCounts(d, f.Cause)
	if n := d.Counts.Unowned; n > 0 {
		f.say("unowned objects, which Fleet counts as missing: %d", n)
	}
	version := cmp.Or(d.AgentVersion, "not known")
	f.say("the agent's version is %s", version)
	out.report(f, in.Steps.Commands.Describe(d.Ref()))
}

// ofOtherDeployment reports whether the status is that of another deployment id, or may be.
func ofOtherDeployment(d *evaluate.BundleDeployment) bool {
	return d.State == evaluate.WaitApplied || d.State == evaluate.ErrApplied
}

// difference describes what a status reports of its objects, and what they are.
func difference(a *facts.View, bd *v1alpha1.BundleDeployment) string {
	reported, actual := shareOf(a.Reported.Counts).String(), shareOf(a.Actual.Counts).String()
	if reported == actual {
		reported = detailed(a.Reported.Counts) // only the details differ
	}
	switch details := inWords(a.Actual.Counts); {
	case a.Claim != "":
		return fmt.Sprintf("reports %s, but %s objects are ready%s", a.Claim, actual, details)
	case bd.Status.ResourceCounts == nil:
		return fmt.Sprintf("lists %s objects as ready, %s are%s", reported, actual, details)
	default:
		return fmt.Sprintf("reports %s objects ready, %s are%s", reported, actual, details)
	}
}

// fleetCounts returns the counts in the status of a bundle deployment. Before Fleet 0.12 there are none; then it
// returns the counts as the agent would compute them. known is false if neither is known.
func (in *Input) fleetCounts(d *evaluate.BundleDeployment) (counts v1alpha1.ResourceCounts, known bool) {
	if a := in.Facts.View(d); !a.ReportedKnown {
		return a.Actual.Counts, a.Known
	}
	return in.Facts.View(d).Reported.Counts, true
}

// originsOfCounts returns the findings from which wrong counts of a bundle deployment follow.
func (in *Input) originsOfCounts(d *evaluate.BundleDeployment, why facts.Cause) []Origin {
	switch why {
	case facts.Lag:
		return notReadyOrigins(&d.Deployment)
	case facts.StaleAgent:
		if a, known := in.Facts.AgentOf(d.Namespace); known {
			return silentOrigins(a.Cluster)
		}
	}
	return nil
}
