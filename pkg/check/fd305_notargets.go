// SPDX-License-Identifier: Apache-2.0

package check

import (
	"fmt"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/facts"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/remedy"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/targeting"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

var noTargets = Check{
	Code: "FD305", Name: "NoTargets", Severity: Info,
	Title: "a Bundle reaches no cluster",
	run: func(in *Input, report func(Finding)) {
		for _, b := range in.BundlesInScope() {
			if targeting.IsAgentBundle(b) || !facts.Observed(b) || !in.reachesNone(b) {
				continue
			}
			clusters := 0
			for _, c := range in.Desired.Fleet.Clusters {
				if c.Namespace == b.Namespace {
					clusters++
				}
			}
			report(Finding{
				Object: facts.Ref(state.Bundle, b.Namespace, b.Name), AsOf: b.Reported().AsOf,
				Message: fmt.Sprintf("bundle %s reaches none of the clusters in its namespace (%d)", facts.Key(b),
					clusters),
				Remedies: []remedy.Remedy{in.Commands.ExplainTargets(b)},
			})
		}
	},
}

// reachesNone reports whether it is certain that a bundle targets no cluster. If not every cluster that it may target
// was read, the status of the bundle must confirm it.
func (in *Input) reachesNone(b *v1alpha1.Bundle) bool {
	t := in.Targets(b)
	if t.Invalid != nil || !in.Read(state.ClusterKind, b.Namespace) {
		return false
	}
	confirmed := t.Complete() || b.Status.Summary.DesiredReady == 0
	for r := range t.Results() {
		if r.Outcome != targeting.Excluded {
			return false
		}
	}
	return confirmed
}
