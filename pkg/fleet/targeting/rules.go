// SPDX-License-Identifier: Apache-2.0

package targeting

import (
	"slices"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
)

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
