// SPDX-License-Identifier: Apache-2.0

package check

import (
	"cmp"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/facts"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/remedy"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

var groupCounts = Check{
	Code: "FD206", Name: "GroupCounts", Severity: Warning,
	Title: "the counts of a ClusterGroup are not the total of its Clusters",
	run: func(in *Input, report func(Finding)) {
		for a := range in.Aggregates(state.ClusterGroup) {
			if group, ok := a.Object.(*v1alpha1.ClusterGroup); ok && in.membersKnown(group) {
				in.checkGroup(a, group, report)
			}
		}
	},
}

// membersKnown reports whether it is known which Clusters a group selects.
func (in *Input) membersKnown(group *v1alpha1.ClusterGroup) bool {
	if group.Spec.Selector == nil || !in.Read(state.ClusterKind, group.Namespace) {
		return false
	}
	_, err := metav1.LabelSelectorAsSelector(group.Spec.Selector)
	return err == nil // otherwise Fleet does not count
}

func (in *Input) checkGroup(a *evaluate.Aggregate, group *v1alpha1.ClusterGroup, report func(Finding)) {
	s := &group.Status
	if !written(a) && s.ClusterCount == nil {
		return
	}
	var sum v1alpha1.ResourceCounts
	var summaries []v1alpha1.Summary
	var notReady []string
	for _, c := range a.Clusters {
		r := c.Object.Reported()
		sum, summaries = sum.Plus(*r.Counts), append(summaries, *r.Summary)
		if r.Summary.Ready != r.Summary.DesiredReady {
			notReady = append(notReady, c.Object.GetName())
		}
	}
	summary, r := fleet.SummarizeAll(summaries), a.Object.Reported()
	t := newTotals(a, "cluster group ", &parts{countsKnown: true})
	t.partsAs, t.lag = "its clusters", "Fleet updates this number some seconds after one of the Clusters changes"
	wrong := slices.Concat(wrongCounts(r.Counts, sum, sum, t.parts), wrongSummary(r.Summary, summary, summary),
		wrongMembers(s, len(a.Clusters), notReady))
	show := remedy.Run(in.Commands.Kubectl+remedy.InNamespace(group.Namespace)+" get clusters.fleet.cattle.io --show-labels",
		"lists the Clusters that the group can select, with their labels")
	in.reportWrong(t, wrong, Finding{Remedies: []remedy.Remedy{show}}, report)
}

// wrongMembers returns the number of ready Clusters of a group if it is wrong, or if the group lists others as not
// ready. notReady are the names of those that are not.
func wrongMembers(s *v1alpha1.ClusterGroupStatus, clusters int, notReady []string) []number {
	if s.ClusterCount == nil {
		return nil
	}
	slices.Sort(notReady)
	actual := share{clusters - len(notReady), clusters}
	n := of(clustersReady, share{*s.ClusterCount - s.NonReadyClusterCount, *s.ClusterCount}, actual, actual)
	listed := notReady[:min(len(notReady), fleet.MaxListed)]
	switch {
	case n.reported != n.actual:
	case slices.Equal(s.NonReadyClusters, listed):
		return nil
	default:
		n.actualText += fmt.Sprintf(", with %s not ready instead of %s",
			cmp.Or(facts.List(listed), "none"), cmp.Or(facts.List(s.NonReadyClusters), "none"))
	}
	return []number{n}
}
