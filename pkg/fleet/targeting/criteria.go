// SPDX-License-Identifier: Apache-2.0

package targeting

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
)

// criteria are the conditions of one target or restriction. All of them must hold, those about the group for the same
// group.
type criteria struct {
	cluster, group                 string
	clusterSelector, groupSelector labels.Selector // nil without one
}

func compile(t *v1alpha1.ClusterTarget) (criteria, error) {
	out := criteria{cluster: t.ClusterName, group: t.ClusterGroup}
	var err error
	if out.clusterSelector, err = selector(t.ClusterSelector); err != nil {
		return criteria{}, fmt.Errorf("clusterSelector: %w", err)
	}
	if out.groupSelector, err = selector(t.ClusterGroupSelector); err != nil {
		return criteria{}, fmt.Errorf("clusterGroupSelector: %w", err)
	}
	return out, nil
}

func selector(s *metav1.LabelSelector) (labels.Selector, error) {
	if s == nil {
		return nil, nil
	}
	return metav1.LabelSelectorAsSelector(s)
}

// grouped reports whether the criteria depend on groups.
func (c *criteria) grouped() bool { return c.group != "" || c.groupSelector != nil }

// matchCluster reports whether the conditions about the cluster itself hold. Criteria without any condition never
// match.
func (c *criteria) matchCluster(cluster *Cluster, displayName bool) bool {
	if c.cluster == "" && c.clusterSelector == nil && !c.grouped() {
		return false
	}
	named := c.cluster == cluster.Name || displayName && c.cluster == cluster.labels[fleet.DisplayNameLabel]
	if c.cluster != "" && !named {
		return false
	}
	return c.clusterSelector == nil || c.clusterSelector.Matches(cluster.labels)
}

// matchGroup reports whether the conditions about the group hold.
func (c *criteria) matchGroup(g group) bool {
	if c.group != "" && c.group != g.name {
		return false
	}
	return c.groupSelector == nil || c.groupSelector.Matches(g.labels)
}
