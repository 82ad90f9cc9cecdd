// SPDX-License-Identifier: Apache-2.0

package check

import (
	"fmt"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/facts"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/remedy"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

var hazard = Check{
	Code: "FD704", Name: "Hazard", Severity: Warning,
	Title: "a name or an option that Fleet mishandles",
	run: func(in *Input, report func(Finding)) {
		for _, b := range in.BundlesInScope() {
			if fleet.IsAgentBundle(b.Name) && b.Labels[fleet.RepoLabel]+b.Labels[fleet.HelmOpLabel] != "" {
				report(Finding{Object: facts.Ref(state.Bundle, b.Namespace, b.Name),
					Message: fmt.Sprintf("the name of Bundle %s/%s begins with fleet-agent: Fleet treats it as its "+
						"agent, and "+
						"never uninstalls it", b.Namespace, b.Name),
					Remedies: []remedy.Remedy{remedy.Advise("give the bundle another name in its fleet.yaml")}})
			}
		}
		in.emptyOverride(report)
		for _, d := range in.Deployments {
			if objects := d.Rendering.ClusterScoped; len(objects) > 0 {
				var names []string
				for _, o := range objects {
					names = append(names, o.Kind+" "+o.Name)
				}
				f := onDeployment(d, "every deploy of %s fails: it has a targetNamespace and cluster-scoped "+
					"objects: %s", d.Key(), facts.List(names))
				f.Remedies = []remedy.Remedy{remedy.Advise("use defaultNamespace instead of namespace in the " +
					"fleet.yaml of the bundle")}
				report(f)
			}
		}
	},
}
