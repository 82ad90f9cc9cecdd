// SPDX-License-Identifier: Apache-2.0

package check

import (
	"fmt"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/facts"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/remedy"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
)

func (in *Input) hazard(out *found, b *v1alpha1.Bundle) {
	if fleet.IsAgentBundle(b.Name) && b.Labels[fleet.RepoLabel]+b.Labels[fleet.HelmOpLabel] != "" {
		out.report(Finding{Object: facts.RefTo(b),
			Message: fmt.Sprintf("the name of Bundle %s begins with fleet-agent: Fleet treats it as its agent, and "+
				"never uninstalls it", facts.Key(b)),
		}, remedy.Advise("give the bundle another name in its fleet.yaml"))
	}
	in.emptyOverride(out, b)
}

// misplaced reports a bundle with a targetNamespace and objects that have no namespace.
func (in *Input) misplaced(out *found, d *evaluate.BundleDeployment) {
	var names []string
	for _, o := range d.Rendering.ClusterScoped {
		names = append(names, o.Kind+" "+o.Name)
	}
	if len(names) == 0 {
		return
	}
	f := onDeployment(d, "every deploy of %s fails: it has a targetNamespace and cluster-scoped objects: %s", d.Key(),
		facts.List(names))
	out.report(f, remedy.Advise("use defaultNamespace instead of namespace in the fleet.yaml of the bundle"))
}
