// SPDX-License-Identifier: Apache-2.0

package collect

import (
	"slices"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/targeting"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

// MappingGaps returns the gap for BundleNamespaceMappings, or for the labels of Namespaces that they select, if targets
// may depend on them: a bundle and a cluster are in different namespaces. within returns the namespaces of a kind that
// are in scope, nil for all. A capture that has none is not a gap.
func MappingGaps(f *state.Fleet, within func(kind string) []string) []source.Gap {
	var out []source.Gap
	for _, x := range []struct {
		kind string
		need bool
	}{{state.BundleNamespaceMapping, mapped(f)}, {state.Namespace, f.NeedsNamespaces()}} {
		cover := f.Coverage[x.kind].Within(within(x.kind))
		if reason := cover.Failures()["*"].Reason; !x.need || reason == source.KindNotServed ||
			reason == source.NotInSnapshot {
			continue
		}
		out = append(out, source.CoverageGaps("listing "+x.kind+" objects", cover,
			"it is not known whether bundles target clusters in other namespaces")...)
	}
	return out
}

// mapped reports whether a mapping that was not read could add a cluster to the targets of a bundle.
func mapped(f *state.Fleet) bool {
	workspaces := f.Workspaces()
	return slices.ContainsFunc(f.Bundles, func(b *v1alpha1.Bundle) bool {
		others := len(workspaces) > 1 || len(workspaces) == 1 && !workspaces[b.Namespace]
		return others && !targeting.IsAgentBundle(b) && !f.Read(state.BundleNamespaceMapping, b.Namespace)
	})
}
