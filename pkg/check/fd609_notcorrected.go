// SPDX-License-Identifier: Apache-2.0

package check

import (
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

func (in *Input) notCorrected(out *found, d *evaluate.BundleDeployment, o *evaluate.Object) {
	correct := facts.Corrects(d)
	if correct == nil || in.Result.Now().IsZero() {
		return
	}
	since, first := in.modifiedSince(d, o)
	if since.IsZero() || in.Facts.ReadAt(d.ClusterID).Sub(since) <= correctedAfter {
		return
	}
	f := about(d, o.Ref, "%s has been modified since %s, although correctDrift is enabled", o.Key(),
		facts.Time(since))
	f.sayIf(o.Custom(), "Helm patches a custom resource only where its manifest changes, and a correction does not "+
		"change the manifest")
	in.addWhyNotCorrected(&f, d, correct, first)
	out.report(f, in.Steps.Correct(d, o)...)
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

// addWhyNotCorrected adds what may be the cause.
func (in *Input) addWhyNotCorrected(f *Finding, d *evaluate.BundleDeployment, correct *v1alpha1.CorrectDrift,
	first evaluate.Difference) {
	f.say("%s: %s", first.Path, first.Who())
	for _, t := range d.RecordProblems {
		if t.Status == release.StatusFailed {
			f.say("a correction may have failed: revision %d of the release failed%s", t.Record.Revision,
				in.Facts.Quote(t.Reported, in.Facts.SecretsOf(&d.Deployment)...))
		}
	}
	agent, known := fleet.ParseVersion(d.AgentVersion)
	f.sayIf(known && agent.Before(correctsLater, 0), "an agent of version "+d.AgentVersion+" does not correct drift that existed "+
		"when the correction was enabled, until the object changes again")
	on := in.Result.Desired.Cluster(d.ClusterID).State
	last := on.Latest[d.Release.Release()]
	serverSide := last != nil && last.ApplyMethod == serverSideApply
	f.sayIf(serverSide && first.Manager != "", "the release was applied server-side, and "+first.Manager+
		" owns the field")
	f.sayIf(!correct.Force, "correctDrift.force is off: a field that cannot be changed in place stays")
	idle := on.Workloads[d.Agent].Idle
	f.sayIf(idle != "", "the agent does not run: "+idle)
	f.sayIf(len(d.BD.Status.ModifiedStatus) == 0, "Fleet does not report the object as modified: the agent corrects "+
		"only what its own comparison finds")
}
