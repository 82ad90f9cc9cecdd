// SPDX-License-Identifier: Apache-2.0

package report_test

import (
	"testing"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

// TestWithoutResult checks that a bundle deployment has a result if the state of at least one object is known, or if it
// desires none.
func TestWithoutResult(t *testing.T) {
	for about, tc := range map[string]struct {
		bd   report.BundleDeployment
		want bool
	}{
		"some objects are unknown": {report.BundleDeployment{State: report.Unknown, Counts: report.Counts{Desired: 100,
			Ready: 99, Unknown: 1}}, false},
		"all objects are unknown": {report.BundleDeployment{State: report.Unknown, Counts: report.Counts{Desired: 2,
			Unknown: 2}}, true},
		"not ready, all unknown": {report.BundleDeployment{State: report.NotReady, Counts: report.Counts{Desired: 2,
			Unknown: 2}}, true},
		"not read": {report.BundleDeployment{State: report.Unknown}, true},
		"waiting, not read": {report.BundleDeployment{State: report.WaitApplied, Reason: "NoReleaseRecord"},
			true},
		"no objects": {report.BundleDeployment{State: report.Ready}, false},
		"ready": {report.BundleDeployment{State: report.Ready, Counts: report.Counts{Desired: 1,
			Ready: 1}}, false},
	} {
		if got := tc.bd.WithoutResult(); got != tc.want {
			t.Errorf("%s: %v, want %v", about, got, tc.want)
		}
	}
}
