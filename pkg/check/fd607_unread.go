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
	case d.Problem == "" && !d.HasResult():
		in.nothingRead(d)
	case d.Problem == "", d.Problem == directory.ClusterNotRead: // it has a result, or it is on another cluster
	case len(d.RecordProblems) > 0 && d.Release.Name != "": // FD602 reports the record
	default:
		f := onDeployment(d, "no result for %s: %s", d.Key(), d.Detail)
		if d.BD != nil {
			f.Message += in.SaidOf(&d.Deployment, "Deployed")
		}
		f.Follows = originsAt(&d.Deployment, "FD604")
		if r, paused := in.Pauses(&d.Deployment); paused {
			f.Follows = append(f.Follows, Origin{Code: "FD613", Object: r})
		}
		if idle := in.idleAgent(d.Namespace); idle != "" {
			a, _ := in.AgentOf(d.Namespace)
			f.say("%s", idle)
			f.Follows = append(f.Follows, silentOrigins(a.Cluster)...)
			in.report(f, in.LogsOfAgent(a))
			return
		}
		in.report(f, in.readAgain(d))
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

// nothingRead reports a bundle deployment of which no object has a result.
func (in *pass) nothingRead(d *evaluate.BundleDeployment) {
	first := d.Objects[0]
	f := onDeployment(d, "no result for %s: none of its objects has a result (%s)", d.Key(), first.Reason)
	f.sayIf(first.Message != "", first.Key().String()+": "+first.Message)
	if first.Reason == string(directory.RecordsForbidden) {
		in.report(f, in.On(d.On).ShowRole())
		return
	}
	in.report(f, remedy.Advise("resolve what the evidence names, and run the audit again"))
}
