// SPDX-License-Identifier: Apache-2.0

package check

import (
	"fmt"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/remedy"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/directory"
)

func (in *pass) leftoverRelease(c *directory.Cluster) {
	if !in.Whole {
		return
	}
	uninstalled := map[string]bool{} // these are FD608
	for _, x := range in.Desired.Removals {
		if x.On == c {
			uninstalled[x.Record.Release()] = true
		}
	}
	for _, r := range c.Leftovers {
		if uninstalled[r.Release()] {
			continue
		}
		f := Finding{Object: directory.SecretRef(r.Name), Cluster: in.ClusterName(c),
			Message: fmt.Sprintf("release %s was created by Fleet for %q (agent in %s), and has no BundleDeployment",
				r.Release(), r.BundleID, r.AgentNamespace)}
		f.sayIf(r.KeepResources,
			"it was deployed with keepResources: its objects are kept, only the record is left over")
		command := in.On(c).Helm + remedy.InNamespace(r.Namespace) + " status " + remedy.LastArgument(r.Name.Name)
		in.report(f, remedy.Run(command, "shows the release, so that you can decide whether anything still uses it"))
	}
}
