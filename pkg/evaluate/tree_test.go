// SPDX-License-Identifier: Apache-2.0

package evaluate

import (
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/desired"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/directory"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

// TestGroupComplete checks that the total of a ClusterGroup without members is complete only if all clusters were read.
func TestGroupComplete(t *testing.T) {
	all, unread := source.Covered(), source.NotCovered(source.Failure{Reason: source.Forbidden})
	for _, tc := range []struct {
		name            string
		clusters        source.Coverage
		whole, complete bool
	}{
		{"all clusters were read", all, true, true},
		{"clusters may not be read", unread, true, false},
		{"only a part is in scope", all, false, false},
	} {
		group := &v1alpha1.ClusterGroup{}
		group.Namespace, group.Name, group.Spec.Selector = "fleet-default", "prod", &metav1.LabelSelector{}
		f := &state.Fleet{ClusterGroups: []*v1alpha1.ClusterGroup{group},
			Coverage: map[string]source.Coverage{state.ClusterKind: tc.clusters, state.BundleDeployment: all}}
		desired := &desired.State{Directory: &directory.Directory{Fleet: f}}
		includes := func(string, metav1.Object) bool { return tc.whole }
		if got := newTree(desired, nil, includes)[state.ClusterGroup][0]; got.Complete != tc.complete {
			t.Errorf("%s: complete is %t, want %t", tc.name, got.Complete, tc.complete)
		}
	}
}

// manyDeployments returns 10,000 ready bundle deployments: 100 bundles of 10 GitRepos on 100 clusters, which are in 11
// ClusterGroups: one of all clusters, and ten of ten clusters each.
func manyDeployments() (*desired.State, []*BundleDeployment) {
	meta := func(name string, labels map[string]string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: "fleet-default", Name: name, Labels: labels}
	}
	read := source.Covered()
	f := &state.Fleet{Coverage: map[string]source.Coverage{state.ClusterKind: read, state.BundleDeployment: read}}
	for i := range 10 {
		f.GitRepos = append(f.GitRepos, &v1alpha1.GitRepo{ObjectMeta: meta(fmt.Sprint("repo-", i), nil)})
	}
	for i := range 11 {
		g := &v1alpha1.ClusterGroup{ObjectMeta: meta(fmt.Sprint("group-", i), nil)}
		g.Spec.Selector = &metav1.LabelSelector{}
		if i > 0 {
			g.Spec.Selector.MatchLabels = map[string]string{"tenth": fmt.Sprint(i - 1)}
		}
		f.ClusterGroups = append(f.ClusterGroups, g)
	}
	for i := range 100 {
		f.Bundles = append(f.Bundles, &v1alpha1.Bundle{ObjectMeta: meta(fmt.Sprint("bundle-", i), nil)})
		tenth := map[string]string{"tenth": fmt.Sprint(i % 10)}
		c := &v1alpha1.Cluster{ObjectMeta: meta(fmt.Sprint("cluster-", i), tenth)}
		c.Status.Namespace = fmt.Sprint("cluster-fleet-default-", i)
		f.Clusters = append(f.Clusters, c)
	}
	wanted := &desired.State{Directory: &directory.Directory{Fleet: f}}
	var scope []*BundleDeployment
	for i := range 10_000 {
		counts := v1alpha1.ResourceCounts{DesiredReady: 10, Ready: 10}
		bd := &v1alpha1.BundleDeployment{Status: v1alpha1.BundleDeploymentStatus{ResourceCounts: &counts, Ready: true}}
		d := &desired.BundleDeployment{Deployment: directory.Deployment{Namespace: fmt.Sprint("cluster-", i%100),
			Name: fmt.Sprint("bundle-", i/100), BD: bd, Bundle: fmt.Sprint("fleet-default/bundle-", i/100),
			GitRepo: fmt.Sprint("fleet-default/repo-", i/1000), Cluster: fmt.Sprint("fleet-default/cluster-", i%100)}}
		wanted.Deployments = append(wanted.Deployments, d)
		all := Counts{Desired: 10, Ready: 10}
		scope = append(scope, &BundleDeployment{BundleDeployment: d, Counts: all, State: Ready})
	}
	return wanted, scope
}

// everything includes all of Fleet's objects in a scope.
func everything(string, metav1.Object) bool { return true }

// BenchmarkTree measures the totals above 10,000 bundle deployments.
func BenchmarkTree(b *testing.B) {
	desired, scope := manyDeployments()
	for b.Loop() {
		if n := newTree(desired, scope, everything)[state.ClusterGroup][0].Actual.Counts.Ready; n != 100_000 {
			b.Fatalf("%d objects are ready", n)
		}
	}
}

// TestTotalsAbove replaces the counts of one bundle deployment. Only the totals above it change, by the difference.
func TestTotalsAbove(t *testing.T) {
	desired, scope := manyDeployments()
	before := newTree(desired, scope, everything)
	const bundle, cluster = 42, 17
	replaced := *scope[100*bundle+cluster]
	replaced.Counts, replaced.State = Counts{Desired: 10, Ready: 7, Missing: 3}, Modified
	scope[100*bundle+cluster] = &replaced
	above := map[string]bool{"bundle-42": true, "repo-4": true, "cluster-17": true, "group-0": true, "group-8": true}
	for kind, all := range newTree(desired, scope, everything) {
		for i, a := range all {
			want := before[kind][i].Actual
			if above[a.Object.GetName()] {
				want.ReadyBundleDeployments--
				want.Counts = want.Counts.Plus(Counts{Ready: -3, Missing: 3})
				delete(above, a.Object.GetName())
			}
			if a.Actual != want {
				t.Errorf("%s %s: %+v, want %+v", kind, a.Key(), a.Actual, want)
			}
		}
	}
	if len(above) > 0 {
		t.Errorf("no totals of %v", above)
	}
}
