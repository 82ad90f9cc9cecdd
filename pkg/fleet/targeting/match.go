// SPDX-License-Identifier: Apache-2.0

package targeting

import (
	"slices"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
)

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
