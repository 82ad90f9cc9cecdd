// SPDX-License-Identifier: Apache-2.0

package check

import (
	"testing"
	"time"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/facts"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

// TestContradictions checks which fields of one status, and of a repository and its Bundle, are mutually exclusive.
func TestContradictions(t *testing.T) {
	ready := func(status, message string) []v1alpha1.Condition {
		return []v1alpha1.Condition{{Type: "Ready", Status: status, Message: message, LastUpdateTime: ago(time.Hour)}}
	}
	for _, tc := range []struct {
		name   string
		change func(w *world)
		want   string // the kind of the object
	}{
		{"none", func(*world) {}, ""},
		{"counts that do not add up", func(w *world) { w.d.BD.Status.ResourceCounts.DesiredReady = 3 },
			state.BundleDeployment},
		{"ready, and an object is not", func(w *world) {
			w.d.BD.Status.NonReadyStatus = make([]v1alpha1.NonReadyStatus,
				1)
		}, state.BundleDeployment},
		{"not ready while an installation fails", func(w *world) {
			w.d.BD.Status.NonReadyStatus = make([]v1alpha1.NonReadyStatus, 1)
			w.d.BD.Status.Conditions = append(w.d.BD.Status.Conditions,
				v1alpha1.Condition{Type: "Installed", Status: "False"})
		}, ""},
		{"not modified, and an object is extra", func(w *world) { w.d.BD.Status.ResourceCounts.Orphaned = 1 },
			state.BundleDeployment},
		{"the status is of an earlier deployment", func(w *world) {
			w.d.BD.Status.ResourceCounts.Orphaned, w.d.BD.Spec.DeploymentID = 1, "new"
		}, ""},
		{"ready although an object is missing", func(w *world) {
			w.d.BD.Status.ResourceCounts, w.d.BD.Status.NonModified = &v1alpha1.ResourceCounts{DesiredReady: 2,
				Ready: 1, Missing: 1}, false
		}, ""},
		{"Ready with a state of an error", func(w *world) {
			w.repo.Status.Conditions, w.repo.Status.Display.State = ready("True", ""), string(fleet.ErrApplied)
		}, state.GitRepo},
		{"Ready with a state that is not known", func(w *world) {
			w.repo.Status.Conditions, w.repo.Status.Display.State = ready("True", ""), "GitUpdating"
		}, ""},
		{"Ready with a deployment that is not", func(w *world) {
			w.bundle.Status.Conditions, w.bundle.Status.Summary = ready("True", ""), v1alpha1.Summary{DesiredReady: 1,
				Modified: 1}
		}, state.Bundle},
		{"not Ready without a reason", func(w *world) { w.cluster.Status.Conditions = ready("False", "") },
			state.ClusterKind},
		{"not Ready with a message", func(w *world) {
			w.cluster.Status.Conditions = ready("False",
				"git is not reachable")
		}, ""},
		{"more states than deployments", func(w *world) { w.repo.Status.Summary.Modified = 1 }, state.GitRepo},
		{"fewer states than deployments", func(w *world) { w.repo.Status.Summary.Ready = 0 }, ""},
		{"more ready clusters than clusters", func(w *world) { w.repo.Status.ReadyClusters = 2 }, state.GitRepo},
		{"more ready objects than objects", func(w *world) { w.repo.Status.ResourceCounts.Ready = 3 }, state.GitRepo},
		{"its Bundle fails", func(w *world) {
			w.repo.Status.Conditions, w.bundle.Status.Conditions = ready("True", ""), ready("False", "no such chart")
		}, state.GitRepo},
		{"its Bundle has just failed", func(w *world) {
			w.repo.Status.Conditions, w.bundle.Status.Conditions = ready("True", ""), ready("False", "no such chart")
			w.bundle.Status.Conditions[0].LastUpdateTime = ago(time.Second)
		}, ""},
		{"its Bundle fails since an unknown time", func(w *world) {
			w.repo.Status.Conditions, w.bundle.Status.Conditions = ready("True", ""), ready("False", "no such chart")
			w.bundle.Status.Conditions[0].LastUpdateTime = ""
		}, ""},
	} {
		w := newWorld()
		tc.change(w)
		got := findings("FD209", w.input())
		if (tc.want == "") != (len(got) == 0) || len(got) > 0 && got[0].Object.Kind != tc.want {
			t.Errorf("%s: want a finding on %q, got %+v", tc.name, tc.want, got)
		}
	}
}

// TestRepoOf checks that the labels of a GitRepo come before those of a HelmOp.
func TestRepoOf(t *testing.T) {
	for _, tc := range []struct {
		labels map[string]string
		want   object.Ref
		ok     bool
	}{
		{map[string]string{fleet.RepoLabel: "apps", fleet.HelmOpLabel: "nginx"}, facts.Ref(state.GitRepo, "f", "apps"),
			true},
		{map[string]string{fleet.HelmOpLabel: "nginx"}, facts.Ref(state.HelmOp, "f", "nginx"), true},
		{nil, object.Ref{}, false},
	} {
		b := &v1alpha1.Bundle{}
		b.Namespace, b.Labels = "f", tc.labels
		if got, ok := facts.RepoOf(b); ok != tc.ok || ok && got != tc.want {
			t.Errorf("%v: %v, %v", tc.labels, got, ok)
		}
	}
}
