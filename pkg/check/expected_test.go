// SPDX-License-Identifier: Apache-2.0

package check

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/facts"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

// targets makes the bundle target its cluster and more clusters, which have no deployment. The controller has processed
// the bundle.
func (w *world) targets(more ...string) {
	w.bundle.Generation, w.bundle.Status.ObservedGeneration = 1, 1
	w.bundle.Spec.Targets = []v1alpha1.BundleTarget{{ClusterTarget: v1alpha1.ClusterTarget{Name: "all",
		ClusterSelector: &metav1.LabelSelector{}}}}
	for _, name := range more {
		w.clusters = append(w.clusters, &v1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: "fleet-local",
			Name: name}, Status: v1alpha1.ClusterStatus{Namespace: "cluster-" + name}})
	}
}

// TestExpectedClusters checks the number of ready clusters of a GitRepo against the targets of its bundles. Without
// certainty about them, the deployments that exist count.
func TestExpectedClusters(t *testing.T) {
	never := func(w *world) {
		w.bundle.Spec.Targets[0].DoNotDeploy = true
	}
	pending := v1alpha1.Summary{DesiredReady: 2, Ready: 1, Pending: 1}
	for _, tc := range []struct {
		name   string
		change func(w *world)
		read   func(kind string) bool
		want   facts.Cause
		counts share
	}{
		{name: "as targeted", change: func(w *world) { w.targets() }},
		{name: "a rollout is pending", change: func(w *world) { w.targets("two"); w.bundle.Status.Summary = pending },
			want: facts.PendingRollout, counts: share{1, 2}},
		{name: "a deployment is absent", change: func(w *world) { w.targets("two", "three") }, want: facts.Unexplained,
			counts: share{1, 3}},
		{name: "a deployment is left over", change: func(w *world) { w.targets(); never(w) }, want: facts.Unexplained,
			counts: share{0, 0}},
		{name: "the spec is not processed", change: func(w *world) { w.targets("two"); w.bundle.Generation = 2 }},
		{name: "the spec is not processed, and it says doNotDeploy",
			change: func(w *world) { w.targets(); never(w); w.bundle.Generation = 2 }},
		{name: "an error of the targets", change: func(w *world) {
			w.targets("two")
			w.bundle.Status.Conditions = []v1alpha1.Condition{{Type: "Ready", Status: "False", Reason: "Error",
				Message: "targeting error"}}
		}},
		{name: "a cluster without a namespace",
			change: func(w *world) { w.targets("two"); w.clusters[0].Status.Namespace = "" }},
		{name: "a cluster off schedule",
			change: func(w *world) { w.targets("two"); w.clusters[0].Status.Scheduled = true }},
		{name: "a cluster that is being deleted",
			change: func(w *world) { w.targets("two"); w.clusters[0].DeletionTimestamp = &metav1.Time{Time: now} }},
		{name: "a bundle that is being deleted",
			change: func(w *world) { w.targets("two"); w.bundle.DeletionTimestamp = &metav1.Time{Time: now} }},
		{name: "a deployment that is being deleted",
			change: func(w *world) { w.targets(); never(w); w.d.BD.DeletionTimestamp = &metav1.Time{Time: now} }},
		{name: "mappings were not read, and the bundle reports other targets",
			change: func(w *world) { w.targets("two") }, read: func(kind string) bool {
				return kind != state.BundleNamespaceMapping
			}},
		{name: "mappings were not read, and the bundle reports these targets",
			change: func(w *world) { w.targets("two"); w.bundle.Status.Summary = pending },
			read:   func(kind string) bool { return kind != state.BundleNamespaceMapping }, want: facts.PendingRollout,
			counts: share{1, 2}},
		{name: "a group that was not read", change: func(w *world) {
			w.targets("two")
			w.bundle.Spec.Targets[0].ClusterTarget = v1alpha1.ClusterTarget{ClusterGroup: "all"}
		}, read: func(kind string) bool { return kind != state.ClusterGroup }},
		{name: "a selector that is not valid", change: func(w *world) {
			w.targets("two")
			invalid := []metav1.LabelSelectorRequirement{{Key: "a", Operator: "Is"}}
			w.bundle.Spec.Targets[0].ClusterSelector = &metav1.LabelSelector{MatchExpressions: invalid}
		}},
		{name: "the GitRepo reports other clusters than it has deployments",
			change: func(w *world) { w.targets("two"); *w.repo.Status.DesiredReadyClusters = 3 }, want: facts.Lag,
			counts: share{1, 2}},
		{name: "the GitRepo reports the clusters that are targeted",
			change: func(w *world) { w.targets("two"); *w.repo.Status.DesiredReadyClusters = 2 }},
	} {
		w := newWorld()
		w.d.Bundle = "fleet-local/guestbook"
		tc.change(w)
		in := renew(w.input())
		for kind := range in.Result.Desired.Coverage {
			if tc.read != nil && !tc.read(kind) {
				in.Result.Desired.Coverage[kind] = source.NotCovered(source.Failure{Reason: source.Forbidden})
			}
		}
		got := findings("FD204", in)
		if tc.want == "" {
			if len(got) != 0 {
				t.Errorf("%s: %+v", tc.name, got)
			}
			continue
		}
		if len(got) != 1 || got[0].Cause != tc.want {
			t.Errorf("%s: %+v, want the cause %s", tc.name, got, tc.want)
		}
		if counts := expectedShare(in); counts != tc.counts {
			t.Errorf("%s: %s clusters are ready, want %s", tc.name, counts, tc.counts)
		}
	}
}

// expectedShare is the number of ready clusters by the targets.
func expectedShare(in *Input) share {
	a := in.Result.Tree[state.GitRepo][0]
	p, _ := in.partsOf(a)
	x, _ := in.expectedOf(a, p.actual, in.Result.Desired.Bundles)
	totals := fleet.TotalsOfRepo(x.members)
	return share{totals.ReadyClusters, totals.DesiredReadyClusters}
}
