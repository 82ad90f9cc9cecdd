// SPDX-License-Identifier: Apache-2.0

package targeting

import (
	"fmt"
	"slices"

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
