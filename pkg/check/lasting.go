// SPDX-License-Identifier: Apache-2.0

package check

import (
	"time"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/facts"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

// lasting is a bundle deployment that has not been ready for longer than any delay of Fleet.
type lasting struct {
	key, cluster string // "namespace/name"
	since        string
	// triggers is true if its last change made Fleet compute its Cluster again: a change of readiness does, a modified object does not.
	triggers bool
	// empty is true if it was never applied: it counts no object.
	empty bool
}

// lasting returns a bundle deployment if it has never been applied, or if its condition Ready has been False, for a long time. Others that wait are left
// out: nothing shows since when they do.
func (in *Input) lasting(d *evaluate.BundleDeployment, x *facts.View) []lasting {
	out := lasting{key: d.Key(), cluster: x.Reported.Cluster}
	c := facts.ConditionOf(d.BD.Status.Conditions, "Ready")
	switch s := x.Reported.State; {
	case d.BD.Status.AppliedDeploymentID == "" && s == fleet.WaitApplied && !d.BD.CreationTimestamp.IsZero():
		out.since, out.triggers, out.empty = d.BD.CreationTimestamp.UTC().Format(time.RFC3339), true, true
	case c.Status == "False" && (s == fleet.NotReady || s == fleet.Modified):
		out.since, out.triggers = c.LastUpdateTime, s == fleet.NotReady
	}
	if !in.LongAgo(facts.Parsed(out.since)) {
		return nil
	}
	return []lasting{out}
}

// lasting returns the last of the bundle deployments that have not been ready for a long time, if an aggregate counts so many as ready that it must count
// one of these. A deployment that was deleted leaves no time behind, so a number of more than the desired ones proves nothing.
func (t *totals) lasting(n number) (last lasting, proved bool) {
	bad, clusters := 0, map[string]bool{}
	for _, l := range t.parts.lasting {
		switch {
		case t.Kind == state.ClusterKind && !l.triggers, l.empty && n.what == objectsReady:
		case n.what == clustersReady && (clusters[l.cluster] || l.cluster == ""):
		default:
			bad, clusters[l.cluster] = bad+1, true
			if facts.Parsed(l.since).After(facts.Parsed(last.since)) {
				last = l
			}
		}
	}
	known := n.what == objectsReady || n.what == deploymentsReady || n.what == clustersReady
	return last, known && bad > 0 && n.reported.desired <= n.actual.desired && n.reported.ready > n.actual.desired-bad
}
