// SPDX-License-Identifier: Apache-2.0

package check

import (
	"slices"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

var groupCounts = Check{
	Code: "FD206", Name: "GroupCounts", Severity: Warning,
	Title: "the counts of a ClusterGroup are not the total of its Clusters",
	Explain: "Fleet adds the statuses of the Clusters that the group selects, whenever one of them changes. Wrong counts of a Cluster are " +
		"wrong in its groups as well: FD205 reports those.",
	run: func(in *Input, report func(Finding)) {
		for _, a := range in.Tree[state.ClusterGroup] {
			group, ok := a.Object.(*v1alpha1.ClusterGroup)
			if !ok || group.Spec.Selector == nil || !in.Whole || !written(a) || !in.Desired.Read(state.ClusterKind, group.Namespace) {
				continue
			}
			var sum v1alpha1.ResourceCounts
			var summaries []v1alpha1.Summary
			for _, c := range a.Clusters {
				r := c.Object.Reported()
				sum, summaries = sum.Plus(*r.Counts), append(summaries, *r.Summary)
			}
			summary, r := fleet.SummarizeAll(summaries), a.Object.Reported()
			t := newTotals(a, "cluster group ", &parts{countsKnown: true})
			t.partsAs, t.lag = "its clusters", "Fleet updates this number some seconds after one of the Clusters changes"
			in.reportWrong(t, slices.Concat(wrongCounts(r.Counts, sum, sum, t.parts), wrongSummary(r.Summary, summary, summary)),
				Finding{Remedies: []Remedy{run(in.Commands.Kubectl+inNamespace(group.Namespace)+" get clusters.fleet.cattle.io --show-labels", "lists the Clusters that the group can select, with their labels")}}, report)
		}
	},
}
