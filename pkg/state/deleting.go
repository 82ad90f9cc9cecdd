// SPDX-License-Identifier: Apache-2.0

package state

import (
	"time"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
)

// Deleting is one of Fleet's objects that is being deleted.
type Deleting struct {
	Kind, Namespace, Name string
	Since                 time.Time
	Finalizers            []string
	// Shard names the controllers that process the object; empty for those without a shard.
	Shard string
}

// sharded returns the Deployment of a controller for a shard.
func sharded(name, shard string) string { return name + "-shard-" + shard }

// RemoverOf returns the Deployment in Fleet's system namespace that removes a finalizer of an object; empty if it is
// not one of Fleet.
func (d *Deleting) RemoverOf(finalizer string) string {
	name := d.removerOf(finalizer)
	if name == "" || d.Shard == "" {
		return name
	}
	return sharded(name, d.Shard)
}

func (d *Deleting) removerOf(finalizer string) string {
	switch finalizer {
	case "fleet.cattle.io/gitrepo-finalizer":
		return fleet.GitJobName
	case "fleet.cattle.io/helmop-finalizer":
		return fleet.HelmOpsName
	case "fleet.cattle.io/bundle-finalizer", "fleet.cattle.io/bundle-deployment-finalizer",
		"fleet.cattle.io/cluster-finalizer":
		return fleet.ControllerName
	}
	if d.Kind == Content { // up to 0.14.0, it has one for each BundleDeployment
		return fleet.ControllerName
	}
	return ""
}
