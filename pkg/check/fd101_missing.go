// SPDX-License-Identifier: Apache-2.0

package check

import (
	"fmt"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"

	"al.essio.dev/pkg/shellescape"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/resolve"
)

var missing = Check{
	Code: "FD101", Name: "Missing", Severity: Error,
	Title: "a desired object is not on the cluster",
	Explain: "The manifest of the release has the object, but the cluster does not. Only the audit log of the API server records who deleted it. " +
		"Fleet creates it again on the next deployment, or immediately with correctDrift.",
	run: func(in *Input) []Finding {
		return in.each(func(d *evaluate.BundleDeployment, o *evaluate.Object) *Finding {
			if o.State != evaluate.Missing || in.expired(d, o) {
				return nil // FD111 reports it
			}
			f := &Finding{
				Message:     fmt.Sprintf("%s is not on the cluster", o.Key()),
				Evidence:    []string{desiredBy(d)},
				Remediation: in.redeploy(d),
			}
			if why := in.notDeployed(d, o); why != "" {
				f.Evidence = append(f.Evidence, why)
				f.Remediation = in.Commands.Preflight + " " + in.Commands.BundleArgs(d.BundleDeployment)
			}
			return f
		})
	},
}

// desiredBy describes the source that desires an object.
func desiredBy(d *evaluate.BundleDeployment) string {
	switch d.From {
	case resolve.FromBundle:
		return "its bundle states it"
	case resolve.FromFiles:
		return "the files state it"
	}
	return fmt.Sprintf("it is in the manifest of release %s", d.Release)
}

// notDeployed returns why Fleet may never have deployed an object, "" if it has. Such an object is not lost: a deploy creates it.
func (in *Input) notDeployed(d *evaluate.BundleDeployment, o *evaluate.Object) string {
	_, recorded := d.Recorded[o.Key()]
	switch {
	case d.From == resolve.FromRelease:
	case d.Release.Revision == 0 && d.BD == nil && !d.On.SetsComplete:
		return "whether the bundle was deployed here is not known: not every release record could be read"
	case d.Release.Revision == 0:
		return "the bundle was never deployed here: its first deploy creates the object; preflight predicts problems"
	case d.From == resolve.FromFiles && !recorded:
		return fmt.Sprintf("release %s does not have it yet: a deploy of the files creates it; preflight predicts problems", d.Release)
	}
	return ""
}

// redeploy returns the command that makes Fleet deploy a bundle again. Fleet then deploys all bundles of its GitRepo, on every cluster.
func (in *Input) redeploy(d *evaluate.BundleDeployment) string {
	if d.GitRepo == "" {
		return "deploy the bundle again, or set correctDrift.enabled on it"
	}
	ns, name := split(d.GitRepo)
	return fmt.Sprintf("%s%s patch gitrepo %s --type=merge -p '{\"spec\":{\"forceSyncGeneration\":%d}}'",
		in.Commands.Kubectl, inNamespace(ns), shellescape.Quote(name), in.nextGeneration(d))
}
