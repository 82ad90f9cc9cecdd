// SPDX-License-Identifier: Apache-2.0

package check

import (
	"fmt"

	"al.essio.dev/pkg/shellescape"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/inventory"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

var unread = Check{
	Code: "FD607", Name: "Unread", Severity: report.Warning,
	Title: "the desired objects of a deployment could not be read: no verdict",
	Explain: "Without the release record nothing is known of what the bundle wants on this cluster. What Fleet's status says is shown, and is not checked. " +
		"Reading release records takes the right to list Secrets. The same is said where the record is there and not one of its objects could be read.",
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
			f.Message = fmt.Sprintf("no verdict on %s: %s", d.Key(), d.Detail)
			switch {
			case d.Problem != inventory.NoReleaseRecord:
				f.Remediation = c.Commands.PrintRole
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

// nothingRead says why not one of a deployment's objects has a verdict.
func (c *Case) nothingRead(d *Deployment) report.Finding {
	f := onDeployment(d)
	first := d.Objects[0]
	f.Message = fmt.Sprintf("no verdict on %s: not one of its objects could be read (%s)", d.Key(), first.Reason)
	if first.Message != "" {
		f.Evidence = []string{first.Key().String() + ": " + first.Message}
	}
	if first.Reason == string(inventory.RecordsForbidden) {
		f.Remediation = c.Commands.PrintRole
	}
	return f
}
