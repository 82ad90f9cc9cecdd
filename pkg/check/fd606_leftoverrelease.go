// SPDX-License-Identifier: Apache-2.0

package check

import (
	"fmt"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/remedy"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/directory"
)

func (in *Input) leftoverRelease(out *found, c *directory.Cluster) {
	if !in.Result.Whole {
		return
	}
	uninstalled := map[string]bool{} // these are FD608
	for _, x := range in.Result.Desired.Removals {
		if x.ClusterID == c.ID {
			uninstalled[x.Record.Release()] = true
		}
	}
	for _, r := range c.Leftovers {
		if uninstalled[r.Release()] {
			continue
		}
		f := Finding{Object: directory.SecretRef(r.Name), Cluster: in.Facts.ClusterName(c),
			Message: fmt.Sprintf("release %s was created by Fleet for %q (agent in %s), and has no BundleDeployment",
				r.Release(), r.BundleID, r.AgentNamespace)}
		f.sayIf(r.KeepResources,
			"it was deployed with keepResources: its objects are kept, only the record is left over")
		command := in.Steps.On(c.ID).Helm + remedy.InNamespace(r.Namespace) + " status " + remedy.LastArgument(r.Name.Name)
		out.report(f, remedy.Run(command, "shows the release, so that you can decide whether anything still uses it"))
	}
}
