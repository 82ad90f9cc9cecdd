// SPDX-License-Identifier: Apache-2.0

package targeting

import (
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
)

// BenchmarkTargets matches 1,000 bundles with 1,000 clusters, preparation included. A cluster has 12 labels and is in
// two of 20 groups; a bundle has two customizations and a target that is also a restriction.
func BenchmarkTargets(b *testing.B) {
	const n = 1000
	in := Input{Version: "v0.16.1"}
	for i := range n {
		c := cluster(fmt.Sprintf("c%04d", i), fmt.Sprintf("env=%d,region=%d", i%3, i%20))
		for k := range 10 {
			c.Labels[fmt.Sprintf("management.cattle.io/label-%d", k)] = "value"
		}
		in.Clusters = append(in.Clusters, c)
	}
	for i := range 20 {
		in.Groups = append(in.Groups, clusterGroup(fmt.Sprintf("region-%d", i), fmt.Sprintf("region=%d", i),
			fmt.Sprintf("region=%d", i)))
	}
	in.Groups = append(in.Groups, clusterGroup("all", "", ""))
	env := func(v string) v1alpha1.ClusterTarget {
		return v1alpha1.ClusterTarget{Name: "env-" + v,
			ClusterSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"env": v}}}
	}
	var bundles []*v1alpha1.Bundle
	for i := range n {
		target := v1alpha1.ClusterTarget{Name: "region",
			ClusterGroupSelector: &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
				{Key: "region", Operator: metav1.LabelSelectorOpIn, Values: []string{fmt.Sprint(i % 20),
					fmt.Sprint((i + 7) % 20), "3"}}}}}
		bundle := &v1alpha1.Bundle{ObjectMeta: metav1.ObjectMeta{Namespace: "w", Name: fmt.Sprintf("b%04d", i)}}
		bundle.Spec.Targets = []v1alpha1.BundleTarget{{ClusterTarget: env("1")},
			{ClusterTarget: env("2"), DoNotDeploy: true}, {ClusterTarget: target}}
		bundle.Spec.TargetRestrictions = []v1alpha1.ClusterTarget{target}
		bundles = append(bundles, bundle)
	}
	b.ReportAllocs()
	for b.Loop() {
		f, expected := New(in), 0
		for _, bundle := range bundles {
			for r := range f.Bundle(bundle).Results() {
				if r.Outcome == Expected {
					expected++
				}
			}
		}
		b.ReportMetric(float64(expected), "expected")
	}
}
