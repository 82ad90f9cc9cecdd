// SPDX-License-Identifier: Apache-2.0

package check

import (
	"fmt"

	"al.essio.dev/pkg/shellescape"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/resolve"
)

var leftoverRelease = Check{
	Code: "FD606", Name: "LeftoverRelease", Severity: Warning,
	Title: "a Helm release created by Fleet has no BundleDeployment",
	Explain: "The agent uninstalls such releases, one in each cycle. It cannot remove the record of a bundle that was deleted with keepResources and a custom release name: " +
		"that record remains and blocks the name.",
	run: func(in *Input, report func(Finding)) {
		if !in.Whole {
			return
		}
		for _, c := range in.Desired.Clusters {
			for _, r := range c.Leftovers {
				f := Finding{
					Object: resolve.SecretRef(r.Name), Cluster: in.clusterName(c),
					Message: fmt.Sprintf("release %s was created by Fleet for %q (agent in %s), and has no BundleDeployment",
						r.Release(), r.BundleID, r.AgentNamespace),
					Remediation: in.on(c).Helm + inNamespace(r.Namespace) + " status " + shellescape.Quote(r.Name.Name),
				}
				if r.KeepResources {
					f.Evidence = []string{"it was deployed with keepResources: its objects are kept, only the record is left over"}
				}
				report(f)
			}
		}
	},
}
