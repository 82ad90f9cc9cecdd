// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
)

func member(cluster, repo string, s BundleState, desired, ready int) Member {
	return Member{Name: repo, Cluster: cluster, GitRepo: repo, State: s,
		Counts: v1alpha1.ResourceCounts{DesiredReady: desired, Ready: ready, NotReady: desired - ready}}
}

// TestSummarize checks the list of ten, and that the state of an unknown version is listed.
func TestSummarize(t *testing.T) {
	var members []Member
	for i := range 11 {
		members = append(members, Member{Name: fmt.Sprint(i), State: Modified})
	}
	members = append(members, Member{Name: "new", State: "WaitingForDependency"},
		Member{Name: "target", State: Pending}, Member{Name: "ready", State: Ready})
	got := Summarize(members)
	if got.DesiredReady != 14 || got.Ready != 1 || got.Modified != 11 || got.Pending != 1 || got.Sum() != 13 ||
		len(got.NonReadyResources) != MaxListed {
		t.Errorf("%+v", got)
	}
	first := Summarize(members[11:12])
	if diff := cmp.Diff([]v1alpha1.NonReadyResource{{Name: "new", State: "WaitingForDependency"}},
		first.NonReadyResources); diff != "" {
		t.Errorf("an unknown state (-want +got):\n%s", diff)
	}
}

// TestTotalsOfRepo checks the clusters of a GitRepo (docs/fleet-behavior.md, 4.4).
func TestTotalsOfRepo(t *testing.T) {
	for _, tc := range []struct {
		name           string
		members        []Member
		clusters       [2]int // ready, desired
		deployments    [2]int
		objects        [2]int
		perCluster     int
		ofClusterAlone [2]int
	}{
		{name: "no bundle deployment"},
		{"without labels", []Member{member("", "apps", Ready, 3, 3)}, [2]int{0, 0}, [2]int{1, 1}, [2]int{3, 3}, 1,
			[2]int{}},
		{"two bundles on different clusters", []Member{member("f/a", "apps", Ready, 3, 3),
			member("f/b", "apps", NotReady, 2, 1)},
			[2]int{1, 2}, [2]int{1, 2}, [2]int{4, 5}, 2, [2]int{3, 3}},
		{"two bundles on one cluster, one not ready", []Member{member("f/a", "apps", Ready, 3, 3),
			member("f/a", "apps", Modified, 2, 1)},
			[2]int{0, 1}, [2]int{1, 2}, [2]int{4, 5}, 1, [2]int{4, 5}},
		{"the first is not ready", []Member{member("f/a", "apps", Modified, 2, 1), member("f/a", "apps", Ready, 3, 3)},
			[2]int{0, 1}, [2]int{1, 2}, [2]int{4, 5}, 1, [2]int{4, 5}},
		{"the same object in two bundles counts twice", []Member{member("f/a", "apps", Ready, 1, 1),
			member("f/a", "apps", Ready, 1, 1)},
			[2]int{1, 1}, [2]int{2, 2}, [2]int{2, 2}, 1, [2]int{2, 2}},
	} {
		got := TotalsOfRepo(tc.members)
		if got.ReadyClusters != tc.clusters[0] || got.DesiredReadyClusters != tc.clusters[1] ||
			got.Summary.Ready != tc.deployments[0] ||
			got.Summary.DesiredReady != tc.deployments[1] || got.Counts.Ready != tc.objects[0] ||
			got.Counts.DesiredReady != tc.objects[1] ||
			len(got.PerCluster) != tc.perCluster || got.PerCluster["f/a"].Ready != tc.ofClusterAlone[0] ||
			got.PerCluster["f/a"].DesiredReady != tc.ofClusterAlone[1] {
			t.Errorf("%s: %+v", tc.name, got)
		}
	}
}

// TestTotalsOfCluster checks that one ready deployment makes a GitRepo ready, and that the labels of a GitRepo come
// before those of a HelmOp.
func TestTotalsOfCluster(t *testing.T) {
	helm := Member{HelmOp: "f/nginx", State: NotReady}
	both := Member{GitRepo: "f/other", HelmOp: "f/nginx", State: Ready}
	got := TotalsOfCluster([]Member{member("f/a", "f/apps", Ready, 3, 3), member("f/a", "f/apps", Modified, 2, 1), helm,
		both, {State: Ready}})
	if got.DesiredReadyGitRepos != 2 || got.ReadyGitRepos != 2 || got.DesiredReadyHelmOps != 1 ||
		got.ReadyHelmOps != 0 ||
		got.Counts.DesiredReady != 5 || got.Counts.Ready != 4 || got.Summary.DesiredReady != 5 ||
		got.Summary.Ready != 3 {
		t.Errorf("%+v", got)
	}
	if got := TotalsOfCluster(nil); got.Counts != (v1alpha1.ResourceCounts{}) || got.DesiredReadyGitRepos != 0 {
		t.Errorf("no bundle deployments: %+v", got)
	}
}

// TestSummarizeAll checks a ClusterGroup without Clusters, and that up to 19 entries can be listed.
func TestSummarizeAll(t *testing.T) {
	if got := SummarizeAll(nil); got.DesiredReady != 0 || got.Sum() != 0 {
		t.Errorf("no clusters: %+v", got)
	}
	nine, ten := make([]Member, 9), make([]Member, 12)
	got := SummarizeAll([]v1alpha1.Summary{Summarize(nine), Summarize(ten), Summarize(ten)})
	if got.DesiredReady != 33 || len(got.NonReadyResources) != 19 {
		t.Errorf("%d entries are listed of %d", len(got.NonReadyResources), got.DesiredReady)
	}
}

// TestTotalsAddUp checks, for random bundle deployments, that the total of each level is the sum of its parts.
func TestTotalsAddUp(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 500 {
		byRepo, byCluster := map[string][]Member{}, map[string][]Member{}
		var all []Member
		for range r.IntN(40) {
			desired := r.IntN(9)
			m := member(fmt.Sprint("f/c", r.IntN(4)), fmt.Sprint("f/r", r.IntN(3)), ranks[r.IntN(len(ranks))], desired,
				r.IntN(desired+1))
			all, byRepo[m.GitRepo], byCluster[m.Cluster] = append(all, m), append(byRepo[m.GitRepo], m),
				append(byCluster[m.Cluster], m)
		}
		var repos, clusters, perCluster v1alpha1.ResourceCounts
		var summaries []v1alpha1.Summary
		pairs := 0
		for _, members := range byRepo {
			got := TotalsOfRepo(members)
			repos, pairs = repos.Plus(got.Counts), pairs+got.DesiredReadyClusters
			for _, c := range got.PerCluster {
				perCluster = perCluster.Plus(c)
			}
			if got.ReadyClusters > got.DesiredReadyClusters || got.Summary.Sum() != len(members) {
				t.Fatalf("%+v", got)
			}
		}
		for _, members := range byCluster {
			got := TotalsOfCluster(members)
			clusters, pairs = clusters.Plus(got.Counts), pairs-got.DesiredReadyGitRepos
			summaries = append(summaries, got.Summary)
		}
		group, whole := SummarizeAll(summaries), Summarize(all)
		group.NonReadyResources, whole.NonReadyResources = nil, nil
		if diff := cmp.Diff(whole, group); diff != "" || repos != clusters || perCluster != clusters || pairs != 0 {
			t.Fatalf("repos %+v, clusters %+v, per cluster %+v, %d pairs:\n%s", repos, clusters, perCluster, pairs,
				diff)
		}
	}
}
