// SPDX-License-Identifier: Apache-2.0

// Package targeting computes which clusters a Bundle is deployed to, and why, as Fleet's controller does
// (docs/fleet-behavior.md, 5). It is pure. It never guesses: a result that depends on something that is not known is
// Unknown.
package targeting

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
)

// Input is what the targets of bundles depend on.
type Input struct {
	Clusters []*v1alpha1.Cluster
	Groups   []*v1alpha1.ClusterGroup
	Mappings []*v1alpha1.BundleNamespaceMapping
	// Namespaces are the labels of Namespaces, by name. Only mappings use them.
	Namespaces map[string]map[string]string
	// Version is the image tag of the controller; empty if it is not known.
	Version string
	// Read reports whether all objects of a kind in a namespace were read ("" for Namespaces); nil means that all were.
	Read func(kind, namespace string) bool
}

// The kinds with which Read is called.
const (
	KindCluster   = "Cluster"
	KindGroup     = "ClusterGroup"
	KindMapping   = "BundleNamespaceMapping"
	KindNamespace = "Namespace"
)

// Fleet has the clusters of a management cluster, prepared for the matching of many bundles.
type Fleet struct {
	version    string
	clusters   map[string][]*Cluster // by namespace
	workspaces []string              // the namespaces with clusters, sorted
	groups     map[string]bool       // the names of all ClusterGroups
	mappings   map[string][]mapping  // by namespace
	namespaces map[string]map[string]string
	read       func(kind, namespace string) bool
}

// mapping is a BundleNamespaceMapping that has an effect.
type mapping struct{ bundles, namespaces labels.Selector }

// New prepares the matching of bundles.
func New(in Input) *Fleet {
	f := &Fleet{version: in.Version, clusters: map[string][]*Cluster{}, mappings: map[string][]mapping{},
		groups: map[string]bool{}, namespaces: in.Namespaces, read: in.Read}
	for _, g := range in.Groups {
		f.groups[g.Name] = true
	}
	if f.read == nil {
		f.read = func(string, string) bool { return true }
	}
	groups := compileGroups(in.Groups)
	for _, c := range in.Clusters {
		x := &Cluster{Cluster: c, labels: c.Labels, groupsKnown: f.read(KindGroup, c.Namespace)}
		for _, g := range groups[c.Namespace] {
			if g.selector.Matches(x.labels) {
				x.groups = append(x.groups, g.group)
			}
		}
		if len(x.groups) == 0 {
			x.groups = []group{{}}
		}
		if _, ok := f.clusters[c.Namespace]; !ok {
			f.workspaces = append(f.workspaces, c.Namespace)
		}
		f.clusters[c.Namespace] = append(f.clusters[c.Namespace], x)
	}
	slices.Sort(f.workspaces)
	for _, list := range f.clusters {
		slices.SortFunc(list, func(a, b *Cluster) int { return strings.Compare(a.Name, b.Name) })
	}
	for _, m := range in.Mappings {
		bundles, err := selector(m.BundleSelector)
		if bundles == nil || err != nil {
			continue // Fleet ignores it
		}
		if namespaces, err := selector(m.NamespaceSelector); namespaces != nil && err == nil {
			f.mappings[m.Namespace] = append(f.mappings[m.Namespace], mapping{bundles, namespaces})
		}
	}
	return f
}

type selectedGroup struct {
	group
	selector labels.Selector
}

// compileGroups returns the groups of each namespace, sorted by name. A group without a valid selector has no cluster.
func compileGroups(in []*v1alpha1.ClusterGroup) map[string][]selectedGroup {
	out := map[string][]selectedGroup{}
	for _, g := range in {
		if s, err := selector(g.Spec.Selector); s != nil && err == nil {
			out[g.Namespace] = append(out[g.Namespace], selectedGroup{group{g.Name, g.Labels}, s})
		}
	}
	for _, list := range out {
		slices.SortFunc(list, func(a, b selectedGroup) int { return strings.Compare(a.name, b.name) })
	}
	return out
}

// NamespaceSelectors returns the selectors of the mappings that select at least one of the bundles: the labels of
// Namespaces are needed only for them.
func NamespaceSelectors(mappings []*v1alpha1.BundleNamespaceMapping,
	bundles []*v1alpha1.Bundle) []*metav1.LabelSelector {
	var out []*metav1.LabelSelector
	for _, m := range mappings {
		s, err := selector(m.BundleSelector)
		if s == nil || err != nil || m.NamespaceSelector == nil {
			continue
		}
		if slices.ContainsFunc(bundles, func(b *v1alpha1.Bundle) bool {
			return b.Namespace == m.Namespace && s.Matches(labels.Set(b.Labels))
		}) {
			out = append(out, m.NamespaceSelector)
		}
	}
	return out
}

// reach is whether a bundle may target the clusters of a namespace.
type reach int

const (
	outside reach = iota
	inside
	unknownReach
)

// reaches reports whether a bundle may target the clusters of a namespace: it is the namespace of the bundle, or a
// mapping selects both.
func (f *Fleet) reaches(b *v1alpha1.Bundle, namespace string) reach {
	if namespace == b.Namespace {
		return inside
	}
	if IsAgentBundle(b) {
		return outside
	}
	selected := false
	for _, m := range f.mappings[b.Namespace] {
		if !m.bundles.Matches(labels.Set(b.Labels)) {
			continue
		}
		selected = true
		if have, ok := f.namespaces[namespace]; ok && m.namespaces.Matches(labels.Set(have)) {
			return inside
		}
	}
	if !f.read(KindMapping, b.Namespace) || selected && !f.read(KindNamespace, "") {
		return unknownReach
	}
	return outside
}

// IsAgentBundle reports whether Fleet itself made the bundle to deploy its agent to one cluster
// (docs/fleet-behavior.md, 5.5).
func IsAgentBundle(b *v1alpha1.Bundle) bool {
	return b.Annotations[fleet.IDAnnotation] == fleet.ManageAgentSet
}

// AgentBundleOf returns the name of the bundle that deploys the agent to a cluster.
func AgentBundleOf(cluster string) string { return fleet.SafeConcat(fleet.AgentName, cluster) }

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
