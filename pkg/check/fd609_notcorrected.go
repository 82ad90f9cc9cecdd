// SPDX-License-Identifier: Apache-2.0

package check

import (
	"fmt"
	"time"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/facts"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/release"
)

const (
	// correctedAfter is how long a correction may take. The agent reacts to an event after seconds.
	correctedAfter = 15 * time.Minute
	// correctsLater is the first minor version whose agent corrects drift that existed when the correction was enabled.
	correctsLater = 16
	// serverSideApply is the apply method of a release record.
	serverSideApply = "ssa"
)

func (in *pass) notCorrected(d *evaluate.BundleDeployment, o *evaluate.Object) {
	correct := facts.Corrects(d)
	if correct == nil || in.Now().IsZero() {
		return
	}
	since, first := in.modifiedSince(d, o)
	if since.IsZero() || in.ReadAt(d.On).Sub(since) <= correctedAfter {
		return
	}
	f := about(&d.Deployment, o.Ref, "%s has been modified since %s, although correctDrift is enabled", o.Key(),
		since.UTC().Format(time.RFC3339))
	f.Evidence, f.Remedies = in.notCorrectedWhy(d, correct, first), in.Redeploy(d)
	in.report(f)
}

// modifiedSince returns the time since which the first of the differences that have a time exists; zero if none has
// one. A value that was written before the release was deployed differs since then.
func (in *Input) modifiedSince(d *evaluate.BundleDeployment, o *evaluate.Object) (time.Time, evaluate.Difference) {
	var since time.Time
	var first evaluate.Difference
	for _, diff := range o.Differences {
		at, err := time.Parse(time.RFC3339, diff.Time)
		if err != nil || d.Deployed.IsZero() {
			continue
		}
		if at.Before(d.Deployed) {
			at = d.Deployed
		}
		if since.IsZero() || at.Before(since) {
			since, first = at, diff
		}
	}
	return since, first
}

// notCorrectedWhy returns what may be the cause, as sentences.
func (in *Input) notCorrectedWhy(d *evaluate.BundleDeployment, correct *v1alpha1.CorrectDrift,
	first evaluate.Difference) []string {
	out := []string{first.Path + ": " + first.Who()}
	secrets := in.SecretsOf(&d.Deployment)
	for _, t := range d.RecordProblems {
		if t.Status == release.StatusFailed {
			out = append(out, fmt.Sprintf("a correction may have failed: revision %d of the release failed%s",
				t.Record.Revision, in.Quote(t.Reported, secrets...)))
		}
	}
	if tag := d.On.AgentVersion(d.Namespace); tag != "" {
		if agent, known := fleet.ParseVersion(tag); known && agent.Before(correctsLater, 0) {
			out = append(out, "an agent of version "+tag+" does not correct drift that existed when the correction "+
				"was enabled, until the object changes again")
		}
	}
	if last := d.On.State.Latest[d.Release.Release()]; last != nil && last.ApplyMethod == serverSideApply &&
		first.Manager != "" {
		out = append(out, "the release was applied server-side, and "+first.Manager+" owns the field")
	}
	if !correct.Force {
		out = append(out, "correctDrift.force is off: a field that cannot be changed in place stays")
	}
	if idle := d.On.State.Workloads[d.Agent].Idle; idle != "" {
		out = append(out, "the agent does not run: "+idle)
	}
	if len(d.BD.Status.ModifiedStatus) == 0 {
		out = append(out, "Fleet does not report the object as modified: the agent corrects only what its own "+
			"comparison finds")
	}
	return out
}
