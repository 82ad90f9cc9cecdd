// SPDX-License-Identifier: Apache-2.0

package state

import (
	"testing"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
)

// TestLimitCoverage checks that a kind in one namespace is only covered there if other objects count more of it, and
// otherwise everywhere.
func TestLimitCoverage(t *testing.T) {
	one := 1
	for _, tc := range []struct {
		name   string
		change func(f *Fleet)
		kind   string
		want   bool // covered everywhere
	}{
		{"all of them", func(*Fleet) {}, BundleDeployment, true},
		{"deployments of one Cluster", func(f *Fleet) { f.BundleDeployments = f.BundleDeployments[:1] },
			BundleDeployment, false},
		{"deployments of one Cluster, and the other one counts none", func(f *Fleet) {
			f.BundleDeployments, f.Clusters[1].Status.Summary.DesiredReady = f.BundleDeployments[:1], 0
		}, BundleDeployment, true},
		{"no deployment", func(f *Fleet) { f.BundleDeployments = nil }, BundleDeployment, true},
		{"Clusters of one workspace", func(f *Fleet) { f.Clusters = f.Clusters[:1] }, ClusterKind, false},
		{"Clusters of one workspace, with a mapping", func(f *Fleet) {
			m := &v1alpha1.BundleNamespaceMapping{}
			m.Namespace = "two"
			f.Clusters, f.Mappings = f.Clusters[:1], []*v1alpha1.BundleNamespaceMapping{m}
		}, ClusterKind, true},
		{"Bundles of one workspace", func(f *Fleet) { f.Bundles = f.Bundles[:1] }, Bundle, false},
		{"GitRepos of one workspace", func(f *Fleet) { f.GitRepos = f.GitRepos[:1] }, GitRepo, false},
		{"GitRepos of one workspace, of two", func(f *Fleet) {
			f.GitRepos, f.Clusters[1].Status.DesiredReadyGitRepos = f.GitRepos[:1], nil
		}, GitRepo, true},
	} {
		f := &Fleet{Coverage: map[string]source.Coverage{}}
		for _, k := range Kinds {
			f.Coverage[k.Name] = source.Covered()
		}
		for _, ns := range []string{"one", "two"} {
			bd, c, b, g := &v1alpha1.BundleDeployment{}, &v1alpha1.Cluster{}, &v1alpha1.Bundle{}, &v1alpha1.GitRepo{}
			bd.Namespace, c.Namespace, b.Namespace, g.Namespace = "cluster-"+ns, ns, ns, ns
			c.Status.Namespace, c.Status.Summary.DesiredReady, c.Status.DesiredReadyGitRepos = bd.Namespace, 1, &one
			b.Status.Summary.DesiredReady, g.Status.Summary.DesiredReady = 1, 1
			f.BundleDeployments, f.Clusters, f.Bundles, f.GitRepos = append(f.BundleDeployments, bd),
				append(f.Clusters, c), append(f.Bundles, b), append(f.GitRepos, g)
		}
		tc.change(f)
		f.LimitCoverage()
		if got := f.Read(tc.kind, ""); got != tc.want {
			t.Errorf("%s: %s read everywhere: %t, want %t", tc.name, tc.kind, got, tc.want)
		}
		for _, k := range Kinds {
			if k.Name != tc.kind && !f.Read(k.Name, "") {
				t.Errorf("%s: %s is limited", tc.name, k.Name)
			}
		}
	}
}
