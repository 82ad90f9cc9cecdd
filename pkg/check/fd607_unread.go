// SPDX-License-Identifier: Apache-2.0

package check

import (
	"fmt"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"

	"al.essio.dev/pkg/shellescape"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/release"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/resolve"
)

var unread = Check{
	Code: "FD607", Name: "Unread", Severity: Warning,
	Title: "the desired objects of a deployment could not be read: no result",
	Explain: "Without the release record, the desired objects of the bundle on this cluster are not known. The audit shows the status that Fleet reports, but cannot check it. " +
		"Reading release records needs permission to list Secrets. The audit reports the same if the record could be read, but none of the objects.",
	run: func(in *Input) []Finding {
		var out []Finding
		for _, d := range in.Deployments {
			if d.Problem == "" && d.Counts.Desired > 0 && d.Counts.Unknown == d.Counts.Desired {
				out = append(out, in.nothingRead(d))
				continue
			}
			if d.Problem == "" || d.Problem == resolve.ClusterNotRead || len(d.RecordProblems) > 0 && d.Release.Name != "" {
				continue // it is on another cluster, or FD602 reports its record
			}
			f := onDeployment(d)
			f.Message = fmt.Sprintf("no result for %s: %s", d.Key(), d.Detail)
			switch {
			case d.Problem == resolve.RecordsForbidden:
				f.Remediation = in.Commands.PrintRole
			case d.Problem == resolve.RecordNotCaptured:
				f.Remediation = "capture the Secrets of type " + release.SecretType + " too"
			case d.Problem == resolve.RecordsFailed: // the gap gives the reason
			case d.Problem == resolve.RecordUnreadable:
				f.Remediation = in.Commands.Helm + inNamespace(d.Release.Namespace) + " history " + shellescape.Quote(d.Release.Name)
			case d.FromFiles(): // the gap describes the problem with the files
			case d.Rendering.Refused != "":
				f.Remediation = in.Commands.Preflight + " " + in.Commands.BundleArgs(d.BundleDeployment)
			case d.BD == nil:
				f.Remediation = in.Commands.Helm + inNamespace(d.Release.Namespace) + " history " + shellescape.Quote(d.Release.Name)
			default:
				f.Remediation = in.Commands.kubectl(d.Ref()) + " describe bundledeployment " + shellescape.Quote(d.Name)
			}
			out = append(out, f)
		}
		return out
	},
}

// nothingRead reports why none of a deployment's objects has a result.
func (in *Input) nothingRead(d *evaluate.BundleDeployment) Finding {
	f := onDeployment(d)
	first := d.Objects[0]
	f.Message = fmt.Sprintf("no result for %s: none of its objects has one (%s)", d.Key(), first.Reason)
	if first.Message != "" {
		f.Evidence = []string{first.Key().String() + ": " + first.Message}
	}
	if first.Reason == string(resolve.RecordsForbidden) {
		f.Remediation = in.Commands.PrintRole
	}
	return f
}
