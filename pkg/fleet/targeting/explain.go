// SPDX-License-Identifier: Apache-2.0

package targeting

import (
	"cmp"
	"iter"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
)

// Condition is a condition of a target that a cluster does not meet.
type Condition struct {
	// Field is the field of the target: clusterName, clusterSelector, clusterGroup or clusterGroupSelector. It is empty
	// if the target has no field.
	Field string
	// Requires is the value of the field or one requirement of the selector: "env=prod".
	Requires string
	// Label is the label that the requirement is about; empty for a name.
	Label string
	// Has is the present name, or the present value of the label; Set is false without one.
	Has string
	Set bool
	// Group is the group whose labels were compared; empty if the cluster is in no group.
	Group string
}

// Unmet returns the conditions of a target that a cluster does not meet, for the group that meets most of them. It is
// empty if the target matches.
func (b *Bundle) Unmet(t *Target, c *Cluster) []Condition {
	return unmet(&b.criteria[t.Index], c, b.rules[0])
}

// UnmetRestriction returns the same for one restriction.
func (b *Bundle) UnmetRestriction(i int, c *Cluster) []Condition {
	return unmet(&b.restrictions[i], c, b.rules[0])
}

func unmet(x *criteria, c *Cluster, r rules) []Condition {
	if x.cluster == "" && x.clusterSelector == nil && !x.grouped() {
		return []Condition{{}}
	}
	var out []Condition
	if x.cluster != "" && !(&criteria{cluster: x.cluster}).matchCluster(c, r.displayName) {
		out = append(out, Condition{Field: "clusterName", Requires: x.cluster, Has: c.Name, Set: true})
	}
	out = append(out, unmetRequirements("clusterSelector", x.clusterSelector, c.labels, "")...)
	var fewest []Condition
	for i := range c.groups {
		g := &c.groups[i]
		var failing []Condition
		if x.group != "" && x.group != g.name {
			failing = append(failing, Condition{Field: "clusterGroup", Requires: x.group, Has: g.name,
				Set: g.name != "", Group: g.name})
		}
		failing = append(failing, unmetRequirements("clusterGroupSelector", x.groupSelector, g.labels, g.name)...)
		if i == 0 || len(failing) < len(fewest) {
			fewest = failing
		}
	}
	return append(out, fewest...)
}

func unmetRequirements(field string, s labels.Selector, have labels.Set, group string) []Condition {
	if s == nil {
		return nil
	}
	var out []Condition
	requirements, _ := s.Requirements()
	for _, r := range requirements {
		if !r.Matches(have) {
			value, set := have[r.Key()]
			out = append(out, Condition{Field: field, Requires: r.String(), Label: r.Key(), Has: value, Set: set,
				Group: group})
		}
	}
	return out
}

// AbsentGroups returns the names of ClusterGroups that targets and restrictions of the bundle state, and that do not
// exist in any namespace, each once. It is empty if not all ClusterGroups were read.
func (b *Bundle) AbsentGroups() []string {
	if !b.fleet.read(KindGroup, "") {
		return nil
	}
	var out []string
	for _, c := range slices.Concat(b.criteria, b.restrictions) {
		if c.group != "" && !b.fleet.groups[c.group] && !slices.Contains(out, c.group) {
			out = append(out, c.group)
		}
	}
	return out
}

// Ineffective returns the targets and customizations that match the cluster of a result, and have no effect because
// another one decides: those that say doNotDeploy, and customizations after the first one that matches.
func (b *Bundle) Ineffective(r Result) []*Target {
	if r.Outcome != Expected && r.Outcome != Blocked {
		return nil
	}
	var out []*Target
	for i, t := range b.Targets {
		after := t.Customization && len(r.Customizations) > 0 && !slices.Contains(r.Customizations, t)
		if t.DoNotDeploy || after && !r.OptionsUnknown {
			if b.matches(i, r.Cluster, b.rules[0]) {
				out = append(out, t)
			}
		}
	}
	return out
}

// WithoutEffect says that a target, which Ineffective returned, has no effect.
func WithoutEffect(t *Target) string {
	kind, says := "target ", ""
	if t.Customization {
		kind = "customization "
	}
	if t.DoNotDeploy {
		says = " and says doNotDeploy"
	}
	return kind + t.String() + " also matches" + says + ", without effect: it would have to come before the one that " +
		"decides"
}

// Mode is the mode of the customizations by the rules of the controller.
func (b *Bundle) Mode() string {
	if b.rules[0].customizations && b.Spec.TargetCustomizationMode == v1alpha1.AllMatches {
		return v1alpha1.AllMatches
	}
	return v1alpha1.FirstMatch
}

// Expected returns the clusters on which the bundle has, or will have, a BundleDeployment. known is false if there may
// be others.
func (b *Bundle) Expected() (clusters []*Cluster, known bool) {
	known = b.Complete() && b.Invalid == nil
	for r := range b.Results() {
		switch r.Outcome {
		case Expected:
			clusters = append(clusters, r.Cluster)
		case Unknown:
			known = false
		}
	}
	return clusters, known
}

// Describe returns the criteria of a target as text: "clusterSelector env=prod, clusterGroup default".
func Describe(t *v1alpha1.ClusterTarget) string {
	var parts []string
	add := func(field, value string) { parts = append(parts, field+" "+value) }
	if t.ClusterName != "" {
		add("clusterName", t.ClusterName)
	}
	if t.ClusterGroup != "" {
		add("clusterGroup", t.ClusterGroup)
	}
	addSelector := func(field string, s *metav1.LabelSelector) {
		switch x, err := selector(s); {
		case err != nil:
			add(field, "(not valid)")
		case x != nil:
			add(field, cmp.Or(x.String(), "{}"))
		}
	}
	addSelector("clusterGroupSelector", t.ClusterGroupSelector)
	addSelector("clusterSelector", t.ClusterSelector)
	return cmp.Or(strings.Join(parts, ", "), "nothing")
}

// match returns the result for a cluster by the rules of one version. Source: docs/fleet-behavior.md, 5.3.
func (b *Bundle) match(c *Cluster, r rules) Result {
	out := Result{Cluster: c}
	base, g := b.base(c, r)
	if base < 0 {
		out.Outcome, out.Reason = Excluded, b.whyNone(c, r)
		return out
	}
	out.Target, out.Group = b.Targets[base], b.groupName(g)
	b.customize(&out, base, r)
	switch {
	case out.Decides != nil:
		out.Outcome, out.Reason, out.Customizations = Excluded, DoNotDeploy, nil
	case c.Status.Namespace == "":
		out.Outcome, out.Reason = Blocked, NoNamespace
	default:
		out.Outcome = Expected
	}
	return out
}

// base returns the index of the first target that selects the cluster for a group that a restriction allows, and that
// group; -1 if none does.
func (b *Bundle) base(c *Cluster, r rules) (index int, g group) {
	for i := range b.criteria {
		if r.customizations && b.Targets[i].Customization || !b.criteria[i].matchCluster(c, r.displayName) {
			continue
		}
		for _, g := range c.groups {
			if b.criteria[i].matchGroup(g) && b.allowed(c, g, r) {
				return i, g
			}
		}
	}
	return -1, group{}
}

// allowed reports whether a restriction allows the cluster for a group.
func (b *Bundle) allowed(c *Cluster, g group, r rules) bool {
	for i := range b.restrictions {
		if x := &b.restrictions[i]; x.matchGroup(g) && x.matchCluster(c, r.displayName) {
			return true
		}
	}
	return len(b.restrictions) == 0
}

// matches reports whether a target matches the cluster for any group, without restrictions.
func (b *Bundle) matches(i int, c *Cluster, r rules) bool {
	x := &b.criteria[i]
	return x.matchCluster(c, r.displayName) && slices.ContainsFunc(c.groups, x.matchGroup)
}

// customize sets the customizations that apply, and the target or customization that excludes the cluster.
func (b *Bundle) customize(out *Result, base int, r rules) {
	if !r.customizations {
		b.customizeByOrder(out, base, r)
		return
	}
	if out.Target.DoNotDeploy {
		out.Decides = out.Target
		return
	}
	for i, t := range b.Targets {
		if !t.Customization {
			break // customizations come first
		}
		if !b.matches(i, out.Cluster, r) {
			continue
		}
		if t.DoNotDeploy {
			out.Decides = t
			return
		}
		if b.Spec.TargetCustomizationMode != v1alpha1.AllMatches {
			out.Customizations = b.Targets[i : i+1]
			return
		}
		out.Customizations = append(out.Customizations, t)
	}
}

// customizeByOrder is customize for versions before 0.16: the first target of the list that matches the cluster
// decides, without restrictions. The target that selects the cluster may then be a customization; a target of the
// GitRepo is shown instead, if one selects the cluster too.
func (b *Bundle) customizeByOrder(out *Result, base int, r rules) {
	decides := base
	for i := range base {
		if b.matches(i, out.Cluster, r) {
			decides = i
			break
		}
	}
	if b.Targets[base].Customization {
		if i, g := b.base(out.Cluster, rules{displayName: r.displayName, customizations: true}); i >= 0 {
			out.Target, out.Group = b.Targets[i], b.groupName(g)
		}
	}
	t := b.Targets[decides]
	if t.DoNotDeploy {
		out.Decides = t
	}
	if t != out.Target {
		out.Customizations = b.Targets[decides : decides+1]
	}
}

// groupName returns the name of the group for which a target matched; empty if the bundle does not depend on groups.
func (b *Bundle) groupName(g group) string {
	if !b.grouped {
		return ""
	}
	return g.name
}

// whyNone returns why no target selects a cluster.
func (b *Bundle) whyNone(c *Cluster, r rules) Reason {
	out := NoMatch
	allowed := func(g group) bool { return b.allowed(c, g, r) }
	for i, t := range b.Targets {
		if !b.matches(i, c, r) {
			continue
		}
		if r.customizations && t.Customization && slices.ContainsFunc(c.groups, allowed) {
			out = CustomizationOnly
			continue
		}
		return Restricted
	}
	return out
}

// Results returns the result for each cluster in the namespaces that the bundle reaches, by namespace and name. For the
// clusters of a namespace of which it is not known whether the bundle reaches it, the outcome is Unknown.
func (b *Bundle) Results() iter.Seq[Result] {
	return func(yield func(Result) bool) {
		for _, ns := range b.fleet.workspaces {
			r := b.fleet.reaches(b.Bundle, ns)
			if r == outside {
				continue
			}
			for _, c := range b.fleet.clusters[ns] {
				if !yield(b.in(r, c)) {
					return
				}
			}
		}
	}
}

// On returns the result for one cluster in any namespace; ok is false if the cluster does not exist.
func (b *Bundle) On(namespace, name string) (r Result, ok bool) {
	for _, c := range b.fleet.clusters[namespace] {
		if c.Name == name {
			return b.in(b.fleet.reaches(b.Bundle, namespace), c), true
		}
	}
	return Result{}, false
}

// Complete reports whether every cluster that the bundle may target was read.
func (b *Bundle) Complete() bool {
	if !b.fleet.read(KindCluster, b.Namespace) {
		return false
	}
	if IsAgentBundle(b.Bundle) {
		return true
	}
	if !b.fleet.read(KindMapping, b.Namespace) {
		return false
	}
	return len(b.fleet.mappings[b.Namespace]) == 0 || b.fleet.read(KindNamespace, "") && b.fleet.read(KindCluster, "")
}

func (b *Bundle) in(r reach, c *Cluster) Result {
	switch {
	case r == outside:
		return Result{Cluster: c, Outcome: Excluded, Reason: OtherNamespace}
	case IsAgentBundle(b.Bundle) && b.Name != AgentBundleOf(c.Name):
		return Result{Cluster: c, Outcome: Excluded, Reason: OtherAgent}
	case b.Invalid != nil:
		return Result{Cluster: c, Outcome: Unknown, Reason: InvalidTarget}
	}
	out := b.match(c, b.rules[0])
	for _, other := range b.rules[1:] {
		x := b.match(c, other)
		if x.Outcome != out.Outcome {
			return Result{Cluster: c, Outcome: Unknown, Reason: VersionUnknown}
		}
		decided := x.Target == out.Target && x.Decides == out.Decides
		if !decided || !slices.Equal(x.Customizations, out.Customizations) {
			out.OptionsUnknown = true
		}
	}
	switch {
	case b.grouped && !c.groupsKnown:
		return Result{Cluster: c, Outcome: Unknown, Reason: GroupsUnread}
	case r == unknownReach && out.Outcome != Excluded:
		return Result{Cluster: c, Outcome: Unknown, Reason: MappingsUnread}
	}
	return out
}
