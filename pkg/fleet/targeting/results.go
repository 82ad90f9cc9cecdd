// SPDX-License-Identifier: Apache-2.0

package targeting

import (
	"iter"
	"slices"
)

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
