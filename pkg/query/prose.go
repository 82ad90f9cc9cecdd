// SPDX-License-Identifier: Apache-2.0

package query

import (
	"fmt"
	"strings"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/targeting"
)

// message returns a result as a sentence.
func message(r targeting.Result) string {
	switch r.Outcome {
	case targeting.Expected:
		return selected(r)
	case targeting.Blocked:
		return selected(r) + ", but the cluster has no namespace for BundleDeployments yet"
	}
	switch r.Reason {
	case targeting.DoNotDeploy:
		return bundleKind(r.Decides) + " " + r.Decides.String() + ", which decides, says doNotDeploy"
	case targeting.Restricted:
		return "a target or customization matches the cluster, but the restrictions, which are the targets of the " +
			"GitRepo, do not allow it"
	case targeting.CustomizationOnly:
		return "only a customization matches the cluster, and customizations select no cluster"
	case targeting.OtherAgent:
		return "the bundle deploys the agent of another cluster"
	case targeting.InvalidTarget:
		return "a selector of the bundle is not valid: Fleet evaluates none of its targets"
	case targeting.VersionUnknown:
		return "versions of Fleet differ in the result, and the version of the controller is not known"
	case targeting.GroupsUnread:
		return "a target depends on ClusterGroups, and not all of them could be read"
	case targeting.MappingsUnread:
		return "a BundleNamespaceMapping may select the namespace of the cluster, and not all that is needed could " +
			"be read"
	}
	return "no target matches the cluster"
}

func bundleKind(t *targeting.Target) string {
	if t.Customization {
		return "customization"
	}
	return "target"
}

func selected(r targeting.Result) string {
	s := r.Target.Title() + " selects the cluster"
	if r.Group != "" {
		s += " in group " + r.Group
	}
	names := make([]string, len(r.Customizations))
	for i, c := range r.Customizations {
		names[i] = c.String()
	}
	switch {
	case r.OptionsUnknown:
		s += "; which options apply depends on the version of Fleet, which is not known"
	case len(names) > 0:
		s += ", with the options of " + strings.Join(names, ", ")
	}
	return s
}

// changes returns what would change a result, a sentence each.
func changes(b *targeting.Bundle, r targeting.Result) []string {
	var out []string
	for _, t := range b.Ineffective(r) {
		out = append(out, targeting.WithoutEffect(t))
	}
	for _, group := range b.AbsentGroups() {
		if r.Outcome == targeting.Excluded {
			out = append(out, "ClusterGroup "+group+" does not exist: without it, no cluster is in it")
		}
	}
	switch r.Reason {
	case targeting.DoNotDeploy:
		out = append(out, fmt.Sprintf("without doNotDeploy in %s %s, the next one that matches would decide",
			bundleKind(r.Decides), r.Decides))
	case targeting.Restricted:
		for i := range b.Spec.TargetRestrictions {
			if unmet := b.UnmetRestriction(i, r.Cluster); len(unmet) > 0 {
				out = append(out, fmt.Sprintf("targetRestrictions[%d] would allow it if %s", i, conditions(unmet)))
			}
		}
	case targeting.NoMatch, targeting.CustomizationOnly:
		for _, t := range b.Targets {
			if unmet := b.Unmet(t, r.Cluster); len(unmet) > 0 && !t.Customization {
				out = append(out, fmt.Sprintf("%s would match if %s", t.Title(), conditions(unmet)))
			}
		}
	}
	return out
}

// conditions describes conditions that are not met.
func conditions(list []targeting.Condition) string {
	var out []string
	for _, c := range list {
		switch {
		case c.Field == "":
			return "it stated a field: without one, it matches no cluster"
		case c.Field == "clusterName":
			out = append(out, fmt.Sprintf("the cluster were %s", c.Requires))
		case c.Field == "clusterGroup":
			out = append(out, fmt.Sprintf("the cluster were in group %s", c.Requires))
		case c.Field == "clusterGroupSelector" && c.Group == "":
			out = append(out, fmt.Sprintf("the cluster were in a group with labels that match %s (it is in no group)",
				c.Requires))
		default:
			of := "the cluster"
			if c.Group != "" {
				of = "group " + c.Group
			}
			has := "is not set"
			if c.Set {
				has = "is " + c.Has
			}
			out = append(out, fmt.Sprintf("the labels of %s matched %s (%s %s)", of, c.Requires, c.Label, has))
		}
	}
	return strings.Join(out, " and ")
}
