// SPDX-License-Identifier: Apache-2.0

package targeting

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
)

func number(i int32) *intstr.IntOrString { v := intstr.FromInt32(i); return &v }

func text(s string) *intstr.IntOrString { v := intstr.FromString(s); return &v }

// TestLimit checks the numbers of docs/fleet-behavior.md, 5.7.
func TestLimit(t *testing.T) {
	for _, tc := range []struct {
		count  int
		values []*intstr.IntOrString
		want   int // -1 for an error
	}{
		{10, []*intstr.IntOrString{nil, &all}, 10},
		{10, []*intstr.IntOrString{number(3), &all}, 3},
		{10, []*intstr.IntOrString{number(0), &all}, 0},
		{10, []*intstr.IntOrString{number(-1)}, 0},
		{10, []*intstr.IntOrString{number(30)}, 10},
		{10, []*intstr.IntOrString{text("25%")}, 2},
		{3, []*intstr.IntOrString{text("25%")}, 1},
		{10, []*intstr.IntOrString{text("0%")}, 1},
		{10, []*intstr.IntOrString{text("200%")}, 10},
		{10, []*intstr.IntOrString{text("7.5%")}, 1},
		{10, []*intstr.IntOrString{text("4")}, 4},
		{10, []*intstr.IntOrString{text("0")}, -1},
		{10, []*intstr.IntOrString{text("many")}, -1},
		{0, []*intstr.IntOrString{text("many")}, 1},
	} {
		got, err := limit(tc.count, tc.values...)
		if (err != nil) != (tc.want < 0) || err == nil && got != tc.want {
			t.Errorf("limit(%d, %v) = %d, %v, want %d", tc.count, tc.values, got, err, tc.want)
		}
	}
}

// clustersOf returns clusters that are named c000, c001, ...; every third one has the label env=prod and is in the
// group prod.
func clustersOf(n int) (clusters []*v1alpha1.Cluster, groups []*v1alpha1.ClusterGroup) {
	for i := range n {
		c := &v1alpha1.Cluster{}
		c.Namespace, c.Name, c.Status.Namespace = "team", fmt.Sprintf("c%03d", i), fmt.Sprintf("ns-%03d", i)
		if i%3 == 0 {
			c.Labels = map[string]string{"env": "prod"}
		}
		clusters = append(clusters, c)
	}
	g := &v1alpha1.ClusterGroup{}
	g.Namespace, g.Name = "team", "prod"
	g.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"env": "prod"}}
	return clusters, []*v1alpha1.ClusterGroup{g}
}

func rollingOut(n int, version string, r *v1alpha1.RolloutStrategy) *Bundle {
	clusters, groups := clustersOf(n)
	all := v1alpha1.ClusterTarget{ClusterSelector: &metav1.LabelSelector{}}
	b := &v1alpha1.Bundle{Spec: v1alpha1.BundleSpec{
		RolloutStrategy: r,
		Targets:         []v1alpha1.BundleTarget{{ClusterTarget: all}},
	}}
	b.Namespace, b.Name = "team", "app"
	return New(Input{Clusters: clusters, Groups: groups, Version: version}).Bundle(b)
}

// TestRollout checks partitions and limits by version.
func TestRollout(t *testing.T) {
	ten := 10
	prod := &metav1.LabelSelector{MatchLabels: map[string]string{"env": "prod"}}
	byLabel := &v1alpha1.RolloutStrategy{MaxUnavailable: number(2), Partitions: []v1alpha1.Partition{
		{ClusterTarget: v1alpha1.ClusterTarget{Name: "canary", ClusterName: "c001"},
			MaxUnavailable: number(0)}, {ClusterTarget: v1alpha1.ClusterTarget{ClusterSelector: prod}}}}
	for _, tc := range []struct {
		name, version string
		clusters      int
		spec          *v1alpha1.RolloutStrategy
		// name:clusters/max for each partition, then those left, the limits of the bundle, of partitions and of new
		// deployments
		want string
	}{
		{"no strategy", "v0.16.1", 3, nil, "All:3/3 left 0 max 3 partitions 0"},
		{"no cluster", "v0.16.1", 0, nil, "All:0/1 left 0 max 1 partitions 0"},
		{"199 clusters", "v0.16.1", 199, nil, "All:199/199 left 0 max 199 partitions 0"},
		{"200 clusters", "v0.16.1", 200, nil,
			"Partition 0 - 50:50/50 Partition 50 - 100:50/50 Partition 100 - 150:50/50 " +
				"Partition 150 - 200:50/50 left 0 max 200 partitions 0"},
		{"a threshold", "v0.15.0", 10, &v1alpha1.RolloutStrategy{AutoPartitionThreshold: &ten,
			AutoPartitionSize: number(6)},
			"Partition 0 - 6:6/6 Partition 6 - 10:4/4 left 0 max 10 partitions 0"},
		{"a threshold before 0.15", "v0.14.9", 10, &v1alpha1.RolloutStrategy{AutoPartitionThreshold: &ten,
			AutoPartitionSize: number(6)}, "All:10/10 left 0 max 10 partitions 0"},
		{"a threshold, the version is not known", "dev", 10, &v1alpha1.RolloutStrategy{AutoPartitionThreshold: &ten,
			AutoPartitionSize: number(6)}, "not known"},
		{"no partitions", "v0.16.1", 300, &v1alpha1.RolloutStrategy{AutoPartitionSize: number(0)},
			"All:300/300 left 0 max 300 partitions 0"},
		{"stated partitions", "v0.16.1", 6, byLabel, "canary:1/0 partitions[1]:2/2 left 3 max 2 partitions 0"},
		{"clusters without groups before 0.13", "v0.12.9", 6, byLabel,
			"canary:0/1 partitions[1]:2/2 left 4 max 2 partitions 0"},
		{"stated partitions, the version is not known", "", 6, byLabel, "not known"},
		{"not a number", "v0.16.1", 6, &v1alpha1.RolloutStrategy{MaxUnavailable: text("few")}, "error"},
	} {
		got := "error"
		r, known, err := rollingOut(tc.clusters, tc.version, tc.spec).Rollout()
		if !known {
			got = "not known"
		} else if err == nil {
			got = ""
			for _, p := range r.Partitions {
				got += fmt.Sprintf("%s:%d/%d ", p.Name, len(p.Clusters), p.MaxUnavailable)
			}
			got += fmt.Sprintf("left %d max %d partitions %d", len(r.Left), r.MaxUnavailable,
				r.MaxUnavailablePartitions)
		}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.name, diff)
		}
	}
}

// TestRolloutUnread: a rollout is not known if a cluster may be missing. The number of targets in the status of the
// Bundle proves that none is.
func TestRolloutUnread(t *testing.T) {
	for _, tc := range []struct {
		unread  string
		counted int
		want    bool
	}{{"", 0, true}, {KindCluster, 3, false}, {KindMapping, 0, false}, {KindMapping, 4, false}, {KindMapping, 3,
		true}} {
		b := rollingOut(3, "v0.16.1", nil)
		b.fleet.read = func(kind, _ string) bool { return kind != tc.unread }
		b.Status.ObservedGeneration, b.Status.Summary.DesiredReady = 1, tc.counted
		if _, known, _ := b.Rollout(); known != tc.want {
			t.Errorf("%s is not read, %d targets: known %v, want %v", tc.unread, tc.counted, known, tc.want)
		}
	}
}

// controller updates deployments as Fleet's controller does in one run, and returns those that it updated.
func controller(r Rollout, bds map[*Cluster]*v1alpha1.BundleDeployment, id string) map[*Cluster]bool {
	out := map[*Cluster]bool{}
	total, partitions := 0, 0
	for _, bd := range bds {
		if unavailable(bd) {
			total++
		}
	}
	for _, p := range r.Partitions {
		inPartition := 0
		for _, c := range p.Clusters {
			if bd := bds[c]; bd != nil {
				bd.Spec.StagedDeploymentID = id
				if unavailable(bd) {
					inPartition++
				}
			}
		}
		for _, c := range p.Clusters {
			bd := bds[c]
			if bd == nil || bd.Spec.DeploymentID == id || !unavailable(bd) &&
				(total >= r.MaxUnavailable || inPartition >= p.MaxUnavailable) {
				continue
			}
			if !unavailable(bd) {
				total++
				inPartition++
			}
			bd.Spec.DeploymentID, out[c] = id, true
		}
		behind := 0
		for _, c := range p.Clusters {
			if bd := bds[c]; bd == nil || unavailable(bd) || bd.Spec.DeploymentID != id {
				behind++
			}
		}
		if behind > p.MaxUnavailable {
			partitions++
		}
		if partitions > r.MaxUnavailablePartitions {
			break
		}
	}
	return out
}

// TestHold compares with the controller on random rollouts: it never updates a cluster that is held, and what it does
// not update at rest is held, by clusters that are really behind.
func TestHold(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	reasons := map[HoldReason]int{}
	for range 3000 {
		r := randomRollout(random)
		bds := map[*Cluster]*v1alpha1.BundleDeployment{}
		for _, c := range slices.Concat(clustersIn(r), r.Left) {
			bd := &v1alpha1.BundleDeployment{}
			id := []string{"s-1:a", "s-2:a"}[random.IntN(2)]
			bd.Spec.DeploymentID, bd.Spec.StagedDeploymentID, bd.Status.AppliedDeploymentID, bd.Status.Ready = id, id,
				id, random.IntN(3) > 0
			if random.IntN(8) > 0 {
				bds[c] = bd
			}
		}
		of := func(c *Cluster) *v1alpha1.BundleDeployment { return bds[c] }
		current := func(bd *v1alpha1.BundleDeployment) bool {
			return strings.HasPrefix(bd.Spec.StagedDeploymentID, "s-2:")
		}
		for range 4 {
			before := r.Progress(of, current)
			held := map[*Cluster]bool{}
			for c, bd := range bds {
				held[c] = before.Hold(c, bd).Reason != NotHeld
			}
			for c := range controller(r, bds, "s-2:a") {
				if held[c] {
					t.Fatalf("%s was updated, and is held by %+v of %+v", c.Name, before.Hold(c, bds[c]), r)
				}
			}
		}
		rest := r.Progress(of, current)
		for c, bd := range bds {
			h := rest.Hold(c, bd)
			if bd.Spec.DeploymentID == "s-2:a" {
				continue
			}
			reasons[h.Reason]++
			if h.Reason == NotHeld || h.Reason != NoPartition && len(h.By) < h.Max {
				t.Fatalf("%s is not updated: %+v of %+v", c.Name, h, r)
			}
		}
	}
	for _, reason := range []HoldReason{NoPartition, EarlierPartition, BundleLimit, PartitionLimit} {
		if reasons[reason] == 0 {
			t.Errorf("no rollout was held for %s", reason)
		}
	}
}

func clustersIn(r Rollout) []*Cluster {
	var out []*Cluster
	for _, p := range r.Partitions {
		out = append(out, p.Clusters...)
	}
	slices.SortFunc(out, func(x, y *Cluster) int { return strings.Compare(x.Name, y.Name) })
	return slices.Compact(out)
}

func randomRollout(random *rand.Rand) Rollout {
	var r Rollout
	n := 1 + random.IntN(8)
	for i := range n {
		c := &Cluster{Cluster: &v1alpha1.Cluster{}}
		c.Name = fmt.Sprintf("c%d", i)
		for len(r.Partitions) < 3 {
			r.Partitions = append(r.Partitions, Partition{Name: "p", MaxUnavailable: random.IntN(3)})
		}
		selected := false
		for j := range r.Partitions {
			if random.IntN(2) == 0 {
				r.Partitions[j].Clusters, selected = append(r.Partitions[j].Clusters, c), true
			}
		}
		if !selected {
			r.Left = append(r.Left, c)
		}
	}
	r.MaxUnavailable, r.MaxUnavailablePartitions = random.IntN(n+1), random.IntN(2)
	return r
}
