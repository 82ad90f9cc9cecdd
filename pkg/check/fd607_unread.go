// SPDX-License-Identifier: Apache-2.0

package check

import (
	"al.essio.dev/pkg/shellescape"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/release"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/resolve"
)

var unread = Check{
	Code: "FD607", Name: "Unread", Severity: Warning,
	Title: "the desired objects of a deployment could not be read: no result",
	Explain: "Without the release record, the desired objects of the bundle on this cluster are not known. The audit shows the status that Fleet reports, but cannot check it. " +
		"Reading release records needs permission to list Secrets. The audit reports the same if the record could be read, but none of the objects.",
	run: func(in *Input, report func(Finding)) {
		for _, d := range in.Deployments {
			switch {
			case d.Problem == "" && d.Counts.Desired > 0 && d.Counts.Unknown == d.Counts.Desired:
				report(in.nothingRead(d))
			case d.Problem == "", d.Problem == resolve.ClusterNotRead: // it has a result, or it is on another cluster
			case len(d.RecordProblems) > 0 && d.Release.Name != "": // FD602 reports the record
			default:
				f := onDeployment(d, "no result for %s: %s", d.Key(), d.Detail)
				f.Remediation = in.readAgain(d)
				report(f)
			}
		}
	},
}

// readAgain returns the next step for a bundle deployment without desired objects; "" if the gap describes it.
func (in *Input) readAgain(d *evaluate.BundleDeployment) string {
	history := in.on(d.On).Helm + inNamespace(d.Release.Namespace) + " history " + shellescape.Quote(d.Release.Name)
	switch {
	case d.Problem == resolve.RecordsForbidden:
		return in.on(d.On).PrintRole
	case d.Problem == resolve.RecordNotCaptured:
		return "capture the Secrets of type " + release.SecretType + " too"
	case d.Problem == resolve.RecordUnreadable:
		return history
	case d.Problem == resolve.RecordsFailed, d.FromFiles():
		return ""
	case d.Rendering.Refused != "":
		return in.Commands.Preflight + " " + in.Commands.BundleArgs(d.BundleDeployment)
	case d.BD == nil:
		return history
	}
	return in.Commands.kubectl(d.Ref()) + " describe bundledeployment " + shellescape.Quote(d.Name)
}

// nothingRead reports why none of a deployment's objects has a result.
func (in *Input) nothingRead(d *evaluate.BundleDeployment) Finding {
	first := d.Objects[0]
	f := onDeployment(d, "no result for %s: none of its objects has a result (%s)", d.Key(), first.Reason)
	if first.Message != "" {
		f.Evidence = []string{first.Key().String() + ": " + first.Message}
	}
	if first.Reason == string(resolve.RecordsForbidden) {
		f.Remediation = in.on(d.On).PrintRole
	}
	return f
}
