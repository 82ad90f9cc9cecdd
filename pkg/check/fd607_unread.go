// SPDX-License-Identifier: Apache-2.0

package check

import (
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/remedy"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/directory"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/release"
)

// CodeUnread is the code of the finding that a bundle deployment has no result.
const CodeUnread = "FD607"

func (in *pass) unread(d *evaluate.BundleDeployment) {
	switch {
	case d.Problem == "" && d.Counts.Desired > 0 && d.Counts.Unknown == d.Counts.Desired:
		in.report(in.nothingRead(d))
	case d.Problem == "", d.Problem == directory.ClusterNotRead: // it has a result, or it is on another cluster
	case len(d.RecordProblems) > 0 && d.Release.Name != "": // FD602 reports the record
	default:
		f := onDeployment(d, "no result for %s: %s", d.Key(), d.Detail)
		f.Remedies = []remedy.Remedy{in.readAgain(d)}
		in.report(f)
	}
}

// readAgain returns the next step for a bundle deployment without desired objects.
func (in *Input) readAgain(d *evaluate.BundleDeployment) remedy.Remedy {
	switch {
	case d.Problem == directory.RecordsForbidden:
		return in.On(d.On).ShowRole()
	case d.Problem == directory.RecordNotCaptured:
		return remedy.Advise("capture the Secrets of type %s too", release.SecretType)
	case d.Problem == directory.RecordUnreadable:
		return in.On(d.On).History(d.Release)
	case d.Problem == directory.RecordsFailed, d.FromFiles():
		return remedy.Advise("resolve what the message names, and run the audit again")
	case d.Rendering.Refused != "":
		return in.Commands.Predict(&d.Deployment)
	case d.BD == nil:
		return in.On(d.On).History(d.Release)
	}
	return in.Commands.Describe(d.Ref())
}

// nothingRead reports why none of a deployment's objects has a result.
func (in *Input) nothingRead(d *evaluate.BundleDeployment) Finding {
	first := d.Objects[0]
	f := onDeployment(d, "no result for %s: none of its objects has a result (%s)", d.Key(), first.Reason)
	if first.Message != "" {
		f.Evidence = []string{first.Key().String() + ": " + first.Message}
	}
	f.Remedies = []remedy.Remedy{remedy.Advise("resolve what the evidence names, and run the audit again")}
	if first.Reason == string(directory.RecordsForbidden) {
		f.Remedies = []remedy.Remedy{in.On(d.On).ShowRole()}
	}
	return f
}
