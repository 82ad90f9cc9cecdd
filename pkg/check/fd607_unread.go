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
		"Reading release records takes the right to list Secrets.",
	run: func(c *Case) []report.Finding {
		var out []report.Finding
		for _, d := range c.Deployments {
			if d.Problem == "" || d.Problem == inventory.ClusterNotRead || len(d.Trouble) > 0 {
				continue // of another cluster, or FD602 has said it
			}
			if c.StatusOnly && d.Problem == inventory.RecordNotCaptured {
				continue // said once, as a gap
			}
			f := onDeployment(d)
			f.Message = fmt.Sprintf("no verdict on %s: %s", d.Key(), d.Detail)
			f.Remediation = c.Command + " audit --print-rbac"
			if d.Problem == inventory.NoReleaseRecord {
				f.Remediation = "kubectl" + inNamespace(d.Ref()) + " describe bundledeployment " + shellescape.Quote(d.Name)
			}
			out = append(out, f)
		}
		return out
	},
}
