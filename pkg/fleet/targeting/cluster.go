// SPDX-License-Identifier: Apache-2.0

package targeting

import (
	"k8s.io/apimachinery/pkg/labels"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
)

// Cluster is a cluster with its groups.
type Cluster struct {
	*v1alpha1.Cluster
	labels labels.Set
	groups []group // sorted by name; one without a name if the cluster is in no group
	// groupsKnown is false if not all ClusterGroups of its namespace were read.
	groupsKnown bool
}

// Groups returns the names of the cluster's groups, sorted.
func (c *Cluster) Groups() []string {
	var out []string
	for _, g := range c.groups {
		if g.name != "" {
			out = append(out, g.name)
		}
	}
	return out
}

// Key is "namespace/name".
func (c *Cluster) Key() string { return c.Namespace + "/" + c.Name }

// group is a ClusterGroup of a cluster. The zero value is the group of a cluster without groups.
type group struct {
	name   string
	labels labels.Set
}
