// SPDX-License-Identifier: Apache-2.0

package targeting

import (
	"cmp"
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
		var of []Condition
		if x.group != "" && x.group != g.name {
			of = append(of, Condition{Field: "clusterGroup", Requires: x.group, Has: g.name, Set: g.name != "",
				Group: g.name})
		}
		of = append(of, unmetRequirements("clusterGroupSelector", x.groupSelector, g.labels, g.name)...)
		if i == 0 || len(of) < len(fewest) {
			fewest = of
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
