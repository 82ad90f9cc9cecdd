// SPDX-License-Identifier: Apache-2.0

package check

import (
	"slices"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

var clusterCounts = Check{
	Code: "FD205", Name: "ClusterCounts", Severity: Warning,
	Title: "the counts of a Cluster are not the total of its deployments",
	Explain: "Fleet computes them on the heartbeat of the agent and when a deployment is created, is deleted or changes its id or readiness, but not when an object is " +
		"modified or deleted. The counts can be one heartbeat old (15 minutes by default), and old versions of Fleet compute other totals.",
	run: func(in *Input, report func(Finding)) {
		for _, a := range in.Tree[state.ClusterKind] {
			in.checkCluster(a, report)
		}
	},
}

func (in *Input) checkCluster(a *evaluate.Aggregate, report func(Finding)) {
	cluster, ok := a.Object.(*v1alpha1.Cluster)
	if !ok || cluster.Status.Namespace == "" {
		return
	}
	p, ok := in.partsOf(a)
	if !ok || !p.countsKnown {
		return
	}
	s := &cluster.Status
	f := Finding{Cluster: a.Key(), Remediation: in.Commands.Kubectl + inNamespace(s.Namespace) + " get bundledeployments"}
	if s.Agent.LastSeen != "" {
		f.Evidence = []string{"the agent's last heartbeat was at " + s.Agent.LastSeen}
	}
	reported, actual := fleet.TotalsOfCluster(p.reported), fleet.TotalsOfCluster(p.actual)
	t := newTotals(a, "cluster ", &p)
	t.cluster, t.recomputed = cluster, s.Agent.LastSeen
	t.lag = "Fleet updates it at the heartbeat of the agent, and not when an object changes"
	t.bugs = func(n number) []*fleet.Bug {
		bugs := p.truncatedCounts(n)
		if n.what == objectsReady && n.reported.desired != n.expected.desired {
			bugs = append(bugs, &fleet.BugClusterCounts)
		}
		return bugs
	}
	wrong := slices.Concat(wrongCounts(&s.ResourceCounts, reported.Counts, actual.Counts, &p), wrongSummary(&s.Summary, reported.Summary, actual.Summary))
	in.reportWrong(t, wrong, f, report)
}
