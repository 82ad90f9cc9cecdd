// SPDX-License-Identifier: Apache-2.0

package check

import (
	"fmt"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/facts"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/targeting"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

func (in *Input) noTargets(out *found, b *v1alpha1.Bundle) {
	if targeting.IsAgentBundle(b) || !facts.Observed(b) || !in.reachesNone(b) {
		return
	}
	f := Finding{
		Object: facts.RefTo(b), AsOf: b.Reported().AsOf,
		Follows: nowhereOrigins(b),
		Message: fmt.Sprintf("bundle %s reaches none of the clusters in its namespace (%d)", facts.Key(b),
			in.clustersIn(b.Namespace)),
	}
	for _, group := range in.Facts.Targets(b).AbsentGroups() {
		f.say("its targets name ClusterGroup %s, which does not exist", group)
	}
	out.report(f, in.Steps.Commands.ExplainTargets(b))
}

// reachesNone reports whether it is certain that a bundle targets no cluster. If not every cluster that it may target
// was read, the status of the bundle must confirm it.
func (in *Input) reachesNone(b *v1alpha1.Bundle) bool {
	t := in.Facts.Targets(b)
	if t.Invalid != nil || !in.Facts.Read(state.ClusterKind, b.Namespace) {
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

// clustersIn returns the number of Clusters in a namespace.
func (in *Input) clustersIn(namespace string) int {
	n := 0
	for _, c := range in.Result.Desired.Fleet.Clusters {
		if c.Namespace == namespace {
			n++
		}
	}
	return n
}
