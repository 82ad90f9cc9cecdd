// SPDX-License-Identifier: Apache-2.0

package check

import (
	"fmt"

	"al.essio.dev/pkg/shellescape"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/inventory"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/release"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

var unread = Check{
	Code: "FD607", Name: "Unread", Severity: report.Warning,
	Title: "the desired objects of a deployment could not be read: no result",
	Explain: "Without the release record it is not known what the bundle desires on this cluster. The audit shows what Fleet's status reports, and cannot check it. " +
		"Reading release records needs the right to list Secrets. The audit reports the same where the record could be read and none of the objects.",
	run: func(c *Case) []report.Finding {
		var out []report.Finding
		for _, d := range c.Deployments {
			if d.Problem == "" && d.Counts.Desired > 0 && d.Counts.Unknown == d.Counts.Desired {
				out = append(out, c.nothingRead(d))
				continue
			}
			if d.Problem == "" || d.Problem == inventory.ClusterNotRead || len(d.Trouble) > 0 && d.Release.Name != "" {
				continue // of another cluster, or FD602 has said it of the record that is named
			}
			f := onDeployment(d)
			f.Message = fmt.Sprintf("no result for %s: %s", d.Key(), d.Detail)
			switch {
			case d.Problem == inventory.RecordsForbidden:
				f.Remediation = c.Commands.PrintRole
			case d.Problem == inventory.RecordNotCaptured:
				f.Remediation = "capture the Secrets of type " + release.SecretType + " too"
			case d.Problem == inventory.RecordsFailed: // the gap says why
			case d.Problem == inventory.RecordUnreadable:
				f.Remediation = c.Commands.Helm + inNamespace(d.Release.Namespace) + " history " + shellescape.Quote(d.Release.Name)
			case d.Given != nil: // of files: the gap says what is the matter with them
			case d.Refused != "":
				f.Remediation = c.Commands.Preflight + " " + c.Commands.BundleArgs(d.Deployment)
			case d.BD == nil:
				f.Remediation = c.Commands.Helm + inNamespace(d.Release.Namespace) + " history " + shellescape.Quote(d.Release.Name)
			default:
				f.Remediation = c.Commands.kubectl(d.Ref()) + " describe bundledeployment " + shellescape.Quote(d.Name)
			}
			out = append(out, f)
		}
		return out
	},
}

// nothingRead says why none of a deployment's objects has a result.
func (c *Case) nothingRead(d *Deployment) report.Finding {
	f := onDeployment(d)
	first := d.Objects[0]
	f.Message = fmt.Sprintf("no result for %s: none of its objects has one (%s)", d.Key(), first.Reason)
	if first.Message != "" {
		f.Evidence = []string{first.Key().String() + ": " + first.Message}
	}
	if first.Reason == string(inventory.RecordsForbidden) {
		f.Remediation = c.Commands.PrintRole
	}
	return f
}
