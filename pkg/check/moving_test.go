// SPDX-License-Identifier: Apache-2.0

package check

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/desired"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/release"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

// totalsCodes are the codes of the wrong totals of the world above its bundle deployment.
func totalsCodes(in *Input) []string {
	var out []string
	for _, code := range []string{"FD202", "FD203", "FD204", "FD205", "FD206"} {
		for range findings(code, in) {
			out = append(out, code)
		}
	}
	return out
}

// TestTotalsDuringDeletion checks that totals are not compared while a deletion changes them, and that a deletion that
// does not end hides nothing.
func TestTotalsDuringDeletion(t *testing.T) {
	for _, tc := range []struct {
		name string
		age  time.Duration
		of   func(*world) v1alpha1.Object
		want int
	}{
		{"none", 0, nil, 3},
		{"the deployment, just now", time.Minute, func(w *world) v1alpha1.Object { return w.d.BD }, 0},
		{"the deployment, an hour ago", time.Hour, func(w *world) v1alpha1.Object { return w.d.BD }, 3},
		{"the Cluster", time.Hour, func(w *world) v1alpha1.Object { return w.cluster }, 2},
		{"the GitRepo", time.Hour, func(w *world) v1alpha1.Object { return w.repo }, 1},
	} {
		w := newWorld()
		w.cluster.Status.ResourceCounts, w.repo.Status.ResourceCounts = v1alpha1.ResourceCounts{},
			&v1alpha1.ResourceCounts{}
		w.repo.Status.ReadyClusters = 0
		if tc.of != nil {
			at := metav1.NewTime(now.Add(-tc.age))
			tc.of(w).SetDeletionTimestamp(&at)
		}
		if got := totalsCodes(w.input()); len(got) != tc.want {
			t.Errorf("%s: %q, want %d findings", tc.name, got, tc.want)
		}
	}
}

// TestTotalsNotWritten checks that a ClusterGroup without a status is not compared: it is new, or a capture has left
// its status out.
func TestTotalsNotWritten(t *testing.T) {
	for asOf, want := range map[string]int{"": 0, ago(time.Hour): 1} {
		w := newWorld()
		in := w.input()
		group := &v1alpha1.ClusterGroup{Spec: v1alpha1.ClusterGroupSpec{Selector: &metav1.LabelSelector{}}}
		group.Namespace, group.Name = "fleet-local", "all"
		if asOf != "" {
			group.Status.Conditions = []v1alpha1.Condition{{Type: "Processed", Status: "True", LastUpdateTime: asOf}}
		}
		a := &evaluate.Aggregate{Kind: state.ClusterGroup, Object: group, InScope: true,
			Clusters: in.Result.Tree[state.ClusterKind]}
		in.Result.Tree[state.ClusterGroup] = []*evaluate.Aggregate{a}
		if got := findings("FD206", in); len(got) != want {
			t.Errorf("status of %q: %d findings, want %d", asOf, len(got), want)
		}
	}
}

// TestClusterCountsOfLimitedCapture checks that a Cluster is not compared if the capture has fewer deployments than it
// reports, and may be limited to some bundles.
func TestClusterCountsOfLimitedCapture(t *testing.T) {
	for _, tc := range []struct {
		name            string
		captured, whole bool
		want            int
	}{{"live", false, false, 1}, {"all captured", true, true, 1}, {"documents of some bundles", true, false, 0}} {
		w := newWorld()
		w.cluster.Status.Summary = v1alpha1.Summary{Ready: 2, DesiredReady: 2}
		in := w.input()
		in.Result.Desired.Clusters[0].State.Captured = tc.captured
		if !tc.whole {
			in.Result.Desired.Coverage[state.BundleDeployment] = source.CoveredIn([]string{w.d.Namespace},
				source.Failure{Reason: source.NotInSnapshot})
		}
		if got := findings("FD205", in); len(got) != tc.want {
			t.Errorf("%s: %d findings, want %d", tc.name, len(got), tc.want)
		}
	}
}

// TestLongPolling checks that an interval that stands for never is not too long to be computed with.
func TestLongPolling(t *testing.T) {
	for interval, want := range map[string]bool{"": true, "1h": true, "2h": false, "876000h": false} {
		g := &v1alpha1.GitRepo{}
		g.Spec.PollingInterval, g.Status.LastPollingTriggered = interval, ago(4*time.Hour)
		in := newWorld().input()
		if _, late := renew(in).polledLate(g); late != want {
			t.Errorf("interval %q: late %v, want %v", interval, late, want)
		}
	}
}

// TestCapturesOfDifferentTimes checks that a change counts as lasting only until its cluster was captured, and that a
// release that is newer than the capture of the BundleDeployments is not uninstalled.
func TestCapturesOfDifferentTimes(t *testing.T) {
	for _, tc := range []struct {
		name    string
		cluster time.Time
		lasting int
	}{
		{"the same time", now, 1},
		{"the cluster an hour before", now.Add(-time.Hour), 0},
		{"the cluster an hour later", now.Add(time.Hour), 1},
	} {
		w := newWorld()
		w.d.BD.Spec.CorrectDrift = &v1alpha1.CorrectDrift{Enabled: true}
		w.d.Deployed = now.Add(-24 * time.Hour)
		w.objects[0] = modifiedAt(ago(time.Hour + time.Minute))
		in := w.input()
		in.Result.Clusters = []evaluate.ClusterSource{{Source: source.Description{TakenAt: tc.cluster},
			ClusterID: w.d.ClusterID}}
		if got := findings("FD609", in); len(got) != tc.lasting {
			t.Errorf("%s: %d findings about drift, want %d", tc.name, len(got), tc.lasting)
		}
	}
	for deployed, want := range map[time.Time]int{now.Add(-time.Hour): 1, now.Add(time.Hour): 0} {
		w := newWorld()
		in := w.input()
		in.Result.Desired.Clusters[0].State.Captured = true
		in.Result.Desired.Removals = []*desired.Removal{{ClusterID: w.d.ClusterID,
			Record: &state.Record{Record: release.Record{BundleID: "gone", Deployed: deployed}}}}
		if got := findings("FD608", in); len(got) != want {
			t.Errorf("deployed at %s: %d findings, want %d", deployed, len(got), want)
		}
	}
}

// TestRulesOfPartOfBundle checks that a rule counts as without effect only if every deployment of the bundle is known,
// with the objects of the present options.
func TestRulesOfPartOfBundle(t *testing.T) {
	for _, tc := range []struct {
		name   string
		change func(in *Input, w *world)
		want   int
	}{
		{"all", func(*Input, *world) {}, 1},
		{"not applied yet", func(_ *Input, w *world) { w.d.BD.Spec.DeploymentID = "next" }, 0},
		{"another deployment out of scope", func(in *Input, w *world) {
			other := w.d.Deployment
			in.Result.Desired.Directory.Deployments = append(in.Result.Desired.Directory.Deployments, &other)
		}, 0},
	} {
		w := newWorld()
		w.d.BD.Spec.Options.Diff = &v1alpha1.DiffOptions{ComparePatches: []v1alpha1.ComparePatch{{APIVersion: "v1",
			Kind: "Secret", Name: "none", JSONPointers: []string{"/data"}}}}
		in := w.input()
		tc.change(in, w)
		if got := findings("FD702", in); len(got) != tc.want {
			t.Errorf("%s: %d findings, want %d", tc.name, len(got), tc.want)
		}
	}
}

// TestClusterOfStuckDeletion checks that the finding about a BundleDeployment or a Cluster names the cluster.
func TestClusterOfStuckDeletion(t *testing.T) {
	for name, of := range map[string]func(*world) v1alpha1.Object{
		"BundleDeployment": func(w *world) v1alpha1.Object { return w.d.BD },
		"Cluster":          func(w *world) v1alpha1.Object { return w.cluster },
	} {
		w := newWorld()
		at := metav1.NewTime(now.Add(-time.Hour))
		of(w).SetDeletionTimestamp(&at)
		of(w).SetFinalizers([]string{"fleet.cattle.io/" + name})
		in := w.input()
		in.Result.Desired.BundleDeployments = []*v1alpha1.BundleDeployment{w.d.BD}
		if got := findings("FD603", in); len(got) != 1 || got[0].Cluster != "fleet-local/local" {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
