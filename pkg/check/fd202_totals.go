// SPDX-License-Identifier: Apache-2.0

package check

import (
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/facts"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/remedy"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
)

// comparison is what the status of an aggregate counts, and how it is computed again (FD202 to FD206).
type comparison struct {
	// of is what the numbers are computed from, lag is why they can be old.
	of, lag string
	// parts returns what the numbers are computed from; ok is false if not all of it is known.
	parts func(*Input, *evaluate.Aggregate) (p parts, ok bool)
	// wrong returns the numbers that are wrong, and completes the finding about them.
	wrong func(*Input, *totals, *Finding) []number
}

const (
	deployments      = "its bundle deployments"
	deploymentChange = "Fleet updates this number some seconds after a bundle deployment changes"
	clusterChange    = "Fleet updates this number some seconds after one of the Clusters changes"
	heartbeat        = "Fleet updates this number at the heartbeat of the agent, not when an object changes"
)

var (
	bundleSummary = comparison{deployments, deploymentChange, (*Input).partsOf, (*Input).wrongOfBundle}
	repoResources = comparison{deployments, deploymentChange, (*Input).partsOf, (*Input).wrongOfRepo}
	repoClusters  = comparison{deployments, deploymentChange, (*Input).partsOf, (*Input).wrongClustersOfRepo}
	clusterCounts = comparison{deployments, heartbeat, (*Input).partsOf, (*Input).wrongOfCluster}
	groupCounts   = comparison{"its clusters", clusterChange, (*Input).clustersOf, (*Input).wrongOfGroup}
)

// check reports the wrong numbers of an aggregate.
func (c comparison) check(in *pass, a *evaluate.Aggregate) {
	p, ok := c.parts(in.Input, a)
	if !ok {
		return
	}
	t := &totals{Aggregate: a, comparison: c, parts: &p}
	f := Finding{Remedies: []remedy.Remedy{in.Commands.Describe(facts.RefOf(a))}}
	if wrong := c.wrong(in.Input, t, &f); len(wrong) > 0 {
		in.report(in.wrongTotals(t, wrong, f))
	}
}
