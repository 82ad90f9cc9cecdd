// SPDX-License-Identifier: Apache-2.0

package check

import (
	"fmt"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/facts"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
)

// emptyOverride reports a Bundle whose fleet.yaml has an empty list overrideTargets. The job of a GitRepo always writes
// restrictions otherwise: those of overrideTargets or of the GitRepo, which has a default target
// (docs/fleet-behavior.md, 5.1). The label of the commit shows that the job wrote the Bundle.
func (in *Input) emptyOverride(out *found, b *v1alpha1.Bundle) {
	s := &b.Spec
	byJob := b.Labels[fleet.RepoLabel] != "" && b.Labels[fleet.CommitLabel] != ""
	if !byJob || len(s.HelmOpOptions)+len(s.TargetRestrictions) > 0 || len(s.Targets) == 0 {
		return
	}
	effect := fmt.Sprintf("its %s without the GitRepo's restrictions", selecting(len(s.Targets)))
	if defaultTarget(s.Targets) {
		effect = "it is deployed to the ClusterGroup default"
	}
	out.report(Finding{Object: facts.RefTo(b), Aspect: "overrideTargets",
		Message: fmt.Sprintf("overrideTargets is an empty list in the fleet.yaml of bundle %s: %s", facts.Key(b),
			effect),
		Evidence: []string{"targets of the GitRepo have no effect. Remove overrideTargets to use them, or list the " +
			"clusters in it"},
	}, in.Steps.Commands.ExplainTargets(b))
}

func selecting(customizations int) string {
	if customizations == 1 {
		return "customization selects clusters"
	}
	return fmt.Sprintf("%d customizations select clusters", customizations)
}

// defaultTarget reports whether a list has only the target that Fleet adds to an empty one.
func defaultTarget(targets []v1alpha1.BundleTarget) bool {
	if len(targets) != 1 {
		return false
	}
	t := targets[0].ClusterTarget
	if t.ClusterName != "" || t.ClusterSelector != nil || t.ClusterGroupSelector != nil {
		return false
	}
	return t.Name == "default" && t.ClusterGroup == "default"
}
