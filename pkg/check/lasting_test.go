// SPDX-License-Identifier: Apache-2.0

package check

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/facts"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/directory"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
)

// TestLasting checks the cause of numbers that do not count a deployment which has not been ready for some time.
func TestLasting(t *testing.T) {
	const unexplained, lag = facts.Unexplained, facts.Lag
	above := func(repo, cluster facts.Cause) map[string]facts.Cause {
		out := map[string]facts.Cause{"FD202": repo, "FD203": repo, "FD204": repo, "FD205": cluster}
		return out
	}
	for _, tc := range []struct {
		name   string
		change func(w *world)
		want   map[string]facts.Cause
	}{
		{"not ready for an hour", func(w *world) { w.unready(evaluate.NotReady, time.Hour) },
			above(unexplained, unexplained)},
		{"not ready for four minutes", func(w *world) { w.unready(evaluate.NotReady, 4*time.Minute) }, above(lag, lag)},
		{"modified for an hour, before a heartbeat or after it",
			func(w *world) { w.unready(evaluate.Modified, time.Hour) }, above(unexplained, lag)},
		{"never applied for an hour", func(w *world) { w.neverApplied(time.Hour) },
			map[string]facts.Cause{"FD202": unexplained, "FD204": unexplained, "FD203": lag, "FD205": lag}},
		{"created four minutes ago", func(w *world) { w.neverApplied(4 * time.Minute) }, above(lag, lag)},
		{"waits for an unknown time", func(w *world) {
			w.unread()
			w.d.BD.Spec.DeploymentID, w.d.BD.Status.Display.State = "new", "WaitApplied"
		}, map[string]facts.Cause{"FD202": lag, "FD203": lag, "FD204": lag, "FD205": lag}},
		{"the numbers include a deployment that is gone", func(w *world) {
			w.unready(evaluate.NotReady, time.Hour)
			w.repo.Status.ResourceCounts = &v1alpha1.ResourceCounts{DesiredReady: 4, Ready: 4}
		}, map[string]facts.Cause{"FD202": unexplained, "FD203": lag, "FD204": unexplained, "FD205": unexplained}},
	} {
		w := newWorld()
		tc.change(w)
		if diff := cmp.Diff(tc.want, causesOf(w), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.name, diff)
		}
	}
}

// unread makes the cluster one that is not read: the status counts.
func (w *world) unread() { w.d.Problem, w.objects = directory.ClusterNotRead, nil }

// unready makes the status of the deployment that of one which has been in a state for some time. Nothing above it
// shows that.
func (w *world) unready(s evaluate.State, since time.Duration) {
	w.unread()
	c := v1alpha1.ResourceCounts{DesiredReady: 2, Ready: 1, NotReady: 1}
	if s == evaluate.Modified {
		c = v1alpha1.ResourceCounts{DesiredReady: 2, Ready: 1, Modified: 1}
	}
	status := &w.d.BD.Status
	status.ResourceCounts, status.Display.State, status.Ready, status.NonModified = &c, string(s),
		s == evaluate.Modified, s == evaluate.NotReady
	status.Conditions = []v1alpha1.Condition{{Type: "Ready", Status: "False", LastUpdateTime: ago(since)}}
}

// neverApplied makes the deployment one that was created some time ago and that no agent has applied.
func (w *world) neverApplied(since time.Duration) {
	w.unread()
	w.d.BD.Status, w.d.BD.CreationTimestamp = v1alpha1.BundleDeploymentStatus{}, metav1.NewTime(now.Add(-since))
}
