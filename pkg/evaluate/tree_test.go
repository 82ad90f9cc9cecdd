// SPDX-License-Identifier: Apache-2.0

package evaluate

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/directory"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/resolve"
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
		desired := &resolve.DesiredState{Directory: &directory.Directory{Fleet: &state.Fleet{ClusterGroups: []*v1alpha1.ClusterGroup{group},
			Coverage: map[string]source.Coverage{state.ClusterKind: tc.clusters, state.BundleDeployment: all}}}}
		includes := func(string, metav1.Object) bool { return tc.whole }
		if got := newTree(desired, nil, includes)[state.ClusterGroup][0]; got.Complete != tc.complete {
			t.Errorf("%s: complete is %t, want %t", tc.name, got.Complete, tc.complete)
		}
	}
}
