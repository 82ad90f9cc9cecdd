// SPDX-License-Identifier: Apache-2.0

package check

import (
	"testing"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/facts"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
)

// TestFailed checks when the condition Ready of a Bundle proves that the controller could not process it.
func TestFailed(t *testing.T) {
	for _, tc := range []struct {
		status, reason, message string
		want                    bool
	}{
		{"False", "Error", "targeting error: cluster edge in namespace team: no label", true},
		{"False", "", "targeting error: cluster edge in namespace team: no label", true},
		{"False", "Error", "failed to update partitions", true},
		{"False", "Error", "NotReady(1) [Cluster team/edge]", false},
		{"False", "Error", "ErrApplied(2) [Cluster team/edge: an error]; Modified(1) [Cluster team/one]", false},
		{"False", "", "Pending(3) [Cluster team/edge]", false},
		{"True", "Error", "", false},
	} {
		b := &v1alpha1.Bundle{}
		b.Status.Conditions = []v1alpha1.Condition{{Type: "Ready", Status: tc.status, Reason: tc.reason,
			Message: tc.message}}
		if got := facts.Failed(b); got != tc.want {
			t.Errorf("%+v: %v, want %v", tc, got, tc.want)
		}
	}
}

// TestContents checks when the staged contents of a BundleDeployment are those of its Bundle.
func TestContents(t *testing.T) {
	sum := "b538e5004002a3ba4700d90b52d258f575e288e584c03e0e301f2032e937f123"
	for _, tc := range []struct {
		staged, sum string
		observed    int64
		oci         bool
		want        bool
	}{
		{"s-b538e5004002a3ba4700d90b52d258f575e288e584c03e0e301f2032e937f:a", sum, 1, false, true},
		{"s-1138e5004002a3ba4700d90b52d258f575e288e584c03e0e301f2032e937f:a", sum, 1, false, false},
		{"s-1138e5004002a3ba4700d90b52d258f575e288e584c03e0e301f2032e937f:a", sum, 1, true, true},
		{"s-1138e5004002a3ba4700d90b52d258f575e288e584c03e0e301f2032e937f:a", "", 1, false, true},
		{"s-1138e5004002a3ba4700d90b52d258f575e288e584c03e0e301f2032e937f:a", sum, 0, false, true},
		{":a", sum, 1, false, true},
	} {
		b, bd := &v1alpha1.Bundle{}, &v1alpha1.BundleDeployment{}
		b.Generation, b.Status.ObservedGeneration, b.Status.ResourcesSHA256Sum = 1, tc.observed, tc.sum
		bd.Spec.StagedDeploymentID, bd.Spec.OCIContents = tc.staged, tc.oci
		if got := facts.Contents(b, bd); got != tc.want {
			t.Errorf("%+v: %v, want %v", tc, got, tc.want)
		}
	}
}
