// SPDX-License-Identifier: Apache-2.0

package targeting

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
)

// TestIneffective checks which customizations that match a cluster have no effect: in the mode FirstMatch, those after
// the first one.
func TestIneffective(t *testing.T) {
	const spec = "targets: [{name: first, clusterSelector: {}}, {name: second, clusterSelector: {}}, " +
		"{name: other, clusterName: other}, {name: skip, clusterSelector: {}, doNotDeploy: true}, " +
		"{name: all, clusterSelector: {}}], targetRestrictions: [{name: all, clusterSelector: {}}]"
	in := Input{Clusters: []*v1alpha1.Cluster{cluster("one", "")}, Version: "v0.16.1"}
	for mode, want := range map[string][]string{"FirstMatch": {"second", "skip"}, "AllMatches": nil} {
		b := New(in).Bundle(bundle(t, "{targetCustomizationMode: "+mode+", "+spec+"}"))
		var got []string
		for r := range b.Results() {
			for _, target := range b.Ineffective(r) {
				got = append(got, target.Name)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", mode, diff)
		}
	}
}

// TestAbsentGroups checks which ClusterGroups that a bundle names do not exist.
func TestAbsentGroups(t *testing.T) {
	in := Input{Clusters: []*v1alpha1.Cluster{cluster("one", "")},
		Groups: []*v1alpha1.ClusterGroup{clusterGroup("there", "", "")}}
	b := bundle(t, "{targets: [{clusterGroup: there}, {clusterGroup: gone}], "+
		"targetRestrictions: [{clusterGroup: gone}]}")
	if diff := cmp.Diff([]string{"gone"}, New(in).Bundle(b).AbsentGroups()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	in.Read = func(kind, _ string) bool { return kind != KindGroup }
	if got := New(in).Bundle(b).AbsentGroups(); got != nil {
		t.Errorf("ClusterGroups were not read: got %v", got)
	}
}
