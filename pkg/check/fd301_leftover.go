// SPDX-License-Identifier: Apache-2.0

package check

import (
	"fmt"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/facts"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/remedy"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/escape"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/targeting"
)

func (in *Input) leftover(out *found, d *evaluate.BundleDeployment) {
	if left, certain := in.Facts.LeftOver(d); !left || !certain {
		return
	}
	b, c := in.Facts.Bundle(d.Bundle), in.Facts.ClusterIn(d.Namespace)
	r, _ := in.Facts.Targets(b).On(c.Namespace, c.Name)
	f := onDeployment(d, "bundle %s is deployed to cluster %s, but %s", facts.Key(b), r.Cluster.Key(), because(r))
	f.Evidence = []string{uninstalls(d)}
	f.sayIf(d.BD.Spec.OffSchedule, "the cluster is off schedule: Fleet does not delete it now")
	f.sayIf(facts.Failed(b), "Fleet reports an error of the bundle, and deletes nothing before it is resolved")
	f.Settle = in.Facts.Unchanged(append(related(b, r.Cluster.Cluster), d.Ref())...)
	out.report(f, in.Steps.Commands.ExplainTargets(b), remedy.Make(remedy.Step{Kind: remedy.StepRemove, Object: d.Ref(),
		Effect: uninstalls(d) + ", which an undo does not bring back"},
		"deletes the BundleDeployment; "+uninstalls(d)))
}

// because returns why the targets exclude a cluster.
func because(r targeting.Result) string {
	switch r.Reason {
	case targeting.DoNotDeploy:
		kind := "target"
		if r.Decides.Customization {
			kind = "customization"
		}
		return fmt.Sprintf("%s %s, which decides, says doNotDeploy", kind, escape.Shell(r.Decides.String()))
	case targeting.Restricted:
		return "no target of its GitRepo allows the cluster"
	case targeting.CustomizationOnly:
		return "only a customization matches the cluster, and customizations select no cluster"
	case targeting.OtherNamespace:
		return "no BundleNamespaceMapping gives it access to the namespace of the cluster"
	case targeting.OtherAgent:
		return "it is the bundle of the agent of another cluster"
	}
	return "it matches no target any more"
}
