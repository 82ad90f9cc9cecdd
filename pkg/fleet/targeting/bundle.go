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

// Outcome is whether a bundle has a BundleDeployment on a cluster, according to its targets.
type Outcome string

// The outcomes.
const (
	Expected Outcome = "Expected"
	Excluded Outcome = "Excluded"
	// Blocked means that it is expected once the cluster has a namespace for BundleDeployments.
	Blocked Outcome = "Blocked"
	// Unknown means that the outcome depends on something that is not known.
	Unknown Outcome = "Unknown"
)

// Reason is the reason of an outcome other than Expected.
type Reason string

// The reasons.
const (
	NoMatch    Reason = "NoMatch"    // no target matches the cluster
	Restricted Reason = "Restricted" // a target or customization matches it, and no restriction allows it
	// only a customization matches it, which selects no cluster by itself
	CustomizationOnly Reason = "CustomizationOnly"
	DoNotDeploy       Reason = "DoNotDeploy"    // the target or customization that decides says doNotDeploy
	OtherNamespace    Reason = "OtherNamespace" // it is in a namespace that the bundle does not reach
	OtherAgent        Reason = "OtherAgent"     // the bundle deploys the agent of another cluster
	NoNamespace       Reason = "NoNamespace"    // the status of the cluster names no namespace for BundleDeployments
	VersionUnknown    Reason = "VersionUnknown" // versions of the controller differ, and its version is not known
	GroupsUnread      Reason = "GroupsUnread"   // a target depends on ClusterGroups, and not all were read
	// it may be in a namespace that a BundleNamespaceMapping selects, and those were not read
	MappingsUnread Reason = "MappingsUnread"
	// a selector of the bundle is not valid: Fleet evaluates none of its targets
	InvalidTarget Reason = "InvalidTarget"
)

// Target is one target of a bundle.
type Target struct {
	Name  string
	Index int
	// Customization is true if the target changes options and selects no cluster by itself.
	Customization bool
	DoNotDeploy   bool
	Spec          *v1alpha1.ClusterTarget
}

// String returns the name of the target or, if it has none, its place in the list.
func (t *Target) String() string {
	if t.Name != "" {
		return t.Name
	}
	return fmt.Sprintf("targets[%d]", t.Index)
}

// Title names the target in a sentence: "target prod", or "the target at targets[0]" if it has no name.
func (t *Target) Title() string {
	if t.Name != "" {
		return "target " + t.Name
	}
	return "the target at " + t.String()
}

// Result is the outcome for one bundle and one cluster.
type Result struct {
	Cluster *Cluster
	Outcome Outcome
	Reason  Reason
	// Target selects the cluster; nil if none does. Group is the first group of the cluster for which it matches; empty
	// if the bundle does not depend on groups.
	Target *Target
	Group  string
	// Customizations are those whose options apply; in the mode FirstMatch, there is at most one.
	Customizations []*Target
	// Decides is the target or customization that excludes the cluster by doNotDeploy.
	Decides *Target
	// OptionsUnknown is true if versions of the controller use the options of other targets, and its version is not
	// known.
	OptionsUnknown bool
}

// Bundle is a bundle with its targets, prepared for the matching of many clusters.
type Bundle struct {
	*v1alpha1.Bundle
	// Invalid is why Fleet cannot evaluate the targets; nil if it can.
	Invalid error
	// Targets are spec.targets.
	Targets []*Target

	fleet        *Fleet
	criteria     []criteria
	restrictions []criteria
	grouped      bool
	rules        []rules // the first ones are the newest
}

// Bundle prepares a bundle.
func (f *Fleet) Bundle(b *v1alpha1.Bundle) *Bundle {
	spec := &b.Spec
	out := &Bundle{Bundle: b, fleet: f, rules: possibleRules(f.version, spec)}
	customizations := 0
	if len(spec.TargetRestrictions) > 0 {
		customizations = len(spec.Targets) - len(spec.TargetRestrictions)
	}
	for i := range spec.Targets {
		t := &spec.Targets[i]
		out.Targets = append(out.Targets, &Target{Name: t.Name, Index: i, Customization: i < customizations,
			DoNotDeploy: t.DoNotDeploy, Spec: &t.ClusterTarget})
		out.criteria = out.add(out.criteria, &t.ClusterTarget, "targets", i)
	}
	for i := range spec.TargetRestrictions {
		out.restrictions = out.add(out.restrictions, &spec.TargetRestrictions[i], "targetRestrictions", i)
	}
	return out
}

// add compiles a target or restriction and appends it to a list.
func (b *Bundle) add(list []criteria, t *v1alpha1.ClusterTarget, field string, i int) []criteria {
	c, err := compile(t)
	if err != nil && b.Invalid == nil {
		b.Invalid = fmt.Errorf("%s[%d].%w", field, i, err)
	}
	b.grouped = b.grouped || c.grouped()
	return append(list, c)
}

// rules are what differs between versions of the controller. Source: docs/fleet-behavior.md, 5.3.
type rules struct {
	// displayName is true if a clusterName also matches the display name of Rancher.
	displayName bool
	// customizations is true if the leading targets are customizations, which select no cluster by themselves.
	customizations bool
}

// newest are the rules of the newest version.
var newest = rules{displayName: true, customizations: true}

func rulesOf(v fleet.Version) rules {
	return rules{
		displayName:    !v.Before(13, 7) && (v.Minor != 14 || !v.Before(14, 2)),
		customizations: !v.Before(16, 0),
	}
}

// possibleRules returns the rules that the controller may use, the newest first: one if its version is known, otherwise
// all that differ for the bundle. Only an API server with the types of 0.16 stores a customization mode.
func possibleRules(version string, spec *v1alpha1.BundleSpec) []rules {
	if v, ok := fleet.ParseVersion(version); ok {
		return []rules{rulesOf(v)}
	}
	out := []rules{newest}
	if spec.TargetCustomizationMode != "" {
		return out
	}
	if len(spec.TargetRestrictions) > 0 { // without them, no target is a customization
		out = append(out, rules{displayName: true})
	}
	if namesCluster(spec) {
		out = append(out, rules{})
	}
	return out
}

func namesCluster(spec *v1alpha1.BundleSpec) bool {
	named := func(t v1alpha1.ClusterTarget) bool { return t.ClusterName != "" }
	return slices.ContainsFunc(spec.TargetRestrictions, named) ||
		slices.ContainsFunc(spec.Targets, func(t v1alpha1.BundleTarget) bool { return named(t.ClusterTarget) })
}

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
