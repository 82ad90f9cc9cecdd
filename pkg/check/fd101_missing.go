// SPDX-License-Identifier: Apache-2.0

package check

import (
	"fmt"

	"al.essio.dev/pkg/shellescape"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

var missing = Check{
	Code: "FD101", Name: "Missing", Severity: report.Error,
	Title: "a desired object is not on the cluster",
	Explain: "The release's manifest has the object, and the cluster has not. Who deleted it is recorded nowhere but in the API server's audit log. " +
		"Fleet puts it back on the next deployment, or at once with correctDrift.",
	run: func(c *Case) []report.Finding {
		return c.ofState(report.Missing, func(d *Deployment, o *Object) report.Finding {
			return report.Finding{
				Message:     fmt.Sprintf("%s is not on the cluster", o.Key()),
				Evidence:    []string{fmt.Sprintf("it stands in the manifest of release %s", d.Release)},
				Remediation: redeploy(d),
			}
		})
	},
}

// redeploy is the command that makes Fleet deploy a bundle again.
func redeploy(d *Deployment) string {
	if d.GitRepo == "" {
		return "deploy the bundle again, or set correctDrift.enabled on it"
	}
	ns, name := split(d.GitRepo)
	return fmt.Sprintf("kubectl -n %s patch gitrepo %s --type=merge -p '{\"spec\":{\"forceSyncGeneration\":%d}}'",
		shellescape.Quote(ns), shellescape.Quote(name), nextGeneration(d))
}
