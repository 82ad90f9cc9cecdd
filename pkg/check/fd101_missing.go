// SPDX-License-Identifier: Apache-2.0

package check

import (
	"fmt"

	"al.essio.dev/pkg/shellescape"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/inventory"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

var missing = Check{
	Code: "FD101", Name: "Missing", Severity: report.Error,
	Title: "a desired object is not on the cluster",
	Explain: "The release's manifest has the object, and the cluster has not. Who deleted it is recorded nowhere but in the API server's audit log. " +
		"Fleet puts it back on the next deployment, or at once with correctDrift.",
	run: func(c *Case) []report.Finding {
		return c.each(func(d *Deployment, o *Object) *report.Finding {
			if o.State != report.Missing || c.expired(d, o) {
				return nil // FD111 reports it
			}
			f := &report.Finding{
				Message:     fmt.Sprintf("%s is not on the cluster", o.Key()),
				Evidence:    []string{stated(d)},
				Remediation: c.redeploy(d),
			}
			if why := c.notDeployed(d, o); why != "" {
				f.Evidence = append(f.Evidence, why)
				f.Remediation = c.Commands.Preflight + " " + c.Commands.BundleArgs(d.Deployment)
			}
			return f
		})
	},
}

// stated says where it is stated that an object is desired.
func stated(d *Deployment) string {
	switch d.From {
	case inventory.FromBundle:
		return "its bundle states it"
	case inventory.FromFiles:
		return "the files state it"
	}
	return fmt.Sprintf("it stands in the manifest of release %s", d.Release)
}

// notDeployed says why Fleet may never have deployed an object, "" where it has. Such an object is not lost: a deploy creates it.
func (c *Case) notDeployed(d *Deployment, o *Object) string {
	_, recorded := d.Recorded[o.Key()]
	switch {
	case d.From == inventory.FromRelease:
	case d.Release.Revision == 0 && d.BD == nil && !c.Inventory.SetsComplete:
		return "whether the bundle was deployed here is not known: not every release record could be read"
	case d.Release.Revision == 0:
		return "the bundle was never deployed here: its first deploy creates the object; preflight predicts problems"
	case d.From == inventory.FromFiles && !recorded:
		return fmt.Sprintf("release %s does not have it yet: a deploy of the files creates it; preflight predicts problems", d.Release)
	}
	return ""
}

// redeploy is the command that makes Fleet deploy a bundle again, and with it every other bundle of its GitRepo, on every cluster.
func (c *Case) redeploy(d *Deployment) string {
	if d.GitRepo == "" {
		return "deploy the bundle again, or set correctDrift.enabled on it"
	}
	ns, name := split(d.GitRepo)
	return fmt.Sprintf("%s%s patch gitrepo %s --type=merge -p '{\"spec\":{\"forceSyncGeneration\":%d}}'",
		c.Commands.Kubectl, inNamespace(ns), shellescape.Quote(name), c.nextGeneration(d))
}
