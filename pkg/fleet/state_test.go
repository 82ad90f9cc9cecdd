// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"testing"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
)

// TestStateOf checks the order of the states (docs/fleet-behavior.md, 4.3).
func TestStateOf(t *testing.T) {
	notDeployed := []v1alpha1.Condition{{Type: "Deployed", Status: "False"}}
	for _, tc := range []struct {
		name                string
		id, staged, applied string
		ready, nonModified  bool
		conditions          []v1alpha1.Condition
		shown               string
		want, wantShown     BundleState
		counts              *v1alpha1.ResourceCounts
	}{
		{name: "ready", id: "2", staged: "2", applied: "2", ready: true, nonModified: true, want: Ready},
		{name: "waiting, with old numbers", id: "2", staged: "2", applied: "1", ready: true, nonModified: true,
			want:   WaitApplied,
			counts: &v1alpha1.ResourceCounts{DesiredReady: 7, Ready: 7}},
		{name: "failed", id: "2", staged: "2", applied: "1", ready: true, conditions: notDeployed, want: ErrApplied},
		{name: "an error of an earlier deploy", id: "2", staged: "2", applied: "2", ready: true, nonModified: true,
			conditions: notDeployed, want: Ready},
		{name: "not ready and modified", id: "2", staged: "2", applied: "2", want: NotReady},
		{name: "not ready and out of sync", id: "2", staged: "3", applied: "2", want: NotReady},
		{name: "out of sync and modified", id: "2", staged: "3", applied: "2", ready: true, want: OutOfSync},
		{name: "modified", id: "2", staged: "2", applied: "2", ready: true, want: Modified},
		{name: "the install failed", id: "2", staged: "2", applied: "2",
			conditions: []v1alpha1.Condition{{Type: "Installed", Status: "False"}}, want: NotReady},
		{name: "a state of a newer version", id: "2", staged: "2", applied: "1", shown: "WaitingForDependency",
			want: WaitApplied, wantShown: "WaitingForDependency"},
	} {
		d := &v1alpha1.BundleDeployment{
			Spec: v1alpha1.BundleDeploymentSpec{DeploymentID: tc.id, StagedDeploymentID: tc.staged},
			Status: v1alpha1.BundleDeploymentStatus{AppliedDeploymentID: tc.applied, Ready: tc.ready,
				NonModified: tc.nonModified, Conditions: tc.conditions,
				Display: v1alpha1.Display{State: tc.shown}, ResourceCounts: tc.counts},
		}
		if tc.wantShown == "" {
			tc.wantShown = tc.want
		}
		if got, shown := StateOf(d), ShownState(d); got != tc.want || shown != tc.wantShown {
			t.Errorf("%s: %s, shown as %s; want %s, %s", tc.name, got, shown, tc.want, tc.wantShown)
		}
	}
}

func TestRank(t *testing.T) {
	for s, want := range map[BundleState]int{ErrApplied: 7, WaitApplied: 6, Modified: 5, OutOfSync: 4, Pending: 3,
		NotReady: 2, Ready: 1, "WaitingForDependency": 0} {
		if got := s.Rank(); got != want {
			t.Errorf("%s has rank %d, want %d", s, got, want)
		}
	}
}

// TestBugs checks the versions at the limits of each bug, with the forms of a tag.
func TestBugs(t *testing.T) {
	for _, tc := range []struct {
		bug     *Bug
		in, out []string
	}{
		{&BugClusterCounts, []string{"v0.10.7", "0.9.5", "v0.11.0", "v0.11.2", "v0.10.8-rc.1"},
			[]string{"v0.10.8", "v0.11.3", "v0.12.0", "dev", ""}},
		{&BugTruncatedCounts, []string{"v0.10.11", "v0.11.6", "v0.12.0-rc.1"}, []string{"v0.12.0", "v105.0.0-up0.12.0",
			"v0.16.0-rc.1"}},
		{&BugReadyClusters, []string{"v0.10.11", "v104.0.0-up0.10.4"}, []string{"v0.11.0", "v0.16.1"}},
		{&BugReplicas, []string{"v0.14.4", "v0.12.3", "v0.15.0-alpha.1"}, []string{"v0.15.0", "v0.16.0"}},
		{&BugCABundle, []string{"v0.15.5", "v0.16.0", "v0.14.1"}, []string{"v0.15.6", "v0.16.1", "v0.17.0-alpha.1"}},
		{&BugDefaults, []string{"v0.15.0", "v0.15.2"}, []string{"v0.14.4", "v0.15.3", "v0.16.0"}},
	} {
		for _, tag := range tc.in {
			if !tc.bug.In(tag) {
				t.Errorf("%s has %s", tag, tc.bug.Issue)
			}
		}
		for _, tag := range tc.out {
			if tc.bug.In(tag) {
				t.Errorf("%q does not have %s", tag, tc.bug.Issue)
			}
		}
	}
}
