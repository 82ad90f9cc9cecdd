// SPDX-License-Identifier: Apache-2.0

package check

import (
	"time"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/facts"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
)

// joining is the time in which the controller may not yet have created the BundleDeployments of a new Cluster: it
// processes each Bundle again.
const joining = time.Minute

// uninstalls describes what the removal of a bundle deployment removes from its cluster.
func uninstalls(d *evaluate.BundleDeployment) string {
	keep := d.KeepResources || d.BD != nil && d.BD.Spec.Options.KeepResources
	switch {
	case d.BD != nil && d.BD.Status.Release == "":
		return "nothing is installed: removing it uninstalls nothing"
	case keep:
		return "it is deployed with keepResources: removing it keeps its objects on the cluster"
	case d.Problem != "" || len(d.Desired) == 0:
		return "removing it uninstalls release " + d.BD.Status.Release + "; its objects are not known here"
	}
	return "removing it uninstalls release " + d.BD.Status.Release + " with " + facts.Count(len(d.Desired), "object")
}

// related are a bundle and a cluster.
func related(b *v1alpha1.Bundle, c *v1alpha1.Cluster) []object.Ref {
	return []object.Ref{facts.RefTo(b), facts.RefTo(c)}
}
