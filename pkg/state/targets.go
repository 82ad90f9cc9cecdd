// SPDX-License-Identifier: Apache-2.0

package state

import (
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/targeting"
)

// NeedsNamespaces reports whether the targets of a bundle depend on the labels of Namespaces.
func (f *Fleet) NeedsNamespaces() bool {
	return len(targeting.NamespaceSelectors(f.Mappings, f.Bundles)) > 0
}

// Workspaces returns the namespaces with Clusters.
func (f *Fleet) Workspaces() map[string]bool {
	out := map[string]bool{}
	for _, c := range f.Clusters {
		out[c.Namespace] = true
	}
	return out
}

// Targeting prepares the computation of the clusters that bundles target.
func (f *Fleet) Targeting() *targeting.Fleet {
	return targeting.New(targeting.Input{Clusters: f.Clusters, Groups: f.ClusterGroups, Mappings: f.Mappings,
		Namespaces: f.NamespaceLabels, Version: f.ControllerVersion, Read: f.Read})
}
