// SPDX-License-Identifier: Apache-2.0

package check

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/facts"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/remedy"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/desired"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/directory"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

// now is the time of the data in these tests.
var now = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

func ago(d time.Duration) string { return now.Add(-d).Format(time.RFC3339) }

// world is a bundle deployment that is applied and Ready, with everything above it, on a cluster with a version of the
// agent and the controller.
type world struct {
	d                 *evaluate.BundleDeployment
	cluster           *v1alpha1.Cluster
	bundle            *v1alpha1.Bundle
	repo              *v1alpha1.GitRepo
	agent, controller string
	objects           []evaluate.Object
	clusters          []*v1alpha1.Cluster // without deployments
}

func newWorld() *world {
	w := &world{d: deployment(), cluster: &v1alpha1.Cluster{}, bundle: &v1alpha1.Bundle{}, repo: &v1alpha1.GitRepo{},
		agent: "v0.16.1", controller: "v0.16.1"}
	w.d.Cluster = "fleet-local/local"
	w.d.BD.Labels = map[string]string{fleet.ClusterLabel: "local", fleet.ClusterNamespaceLabel: "fleet-local"}
	w.d.BD.Spec.DeploymentID, w.d.BD.Spec.StagedDeploymentID, w.d.BD.Status.AppliedDeploymentID = "id", "id", "id"
	s := &w.d.BD.Status
	s.Ready, s.NonModified, s.Display.State = true, true, "Ready"
	s.Conditions = []v1alpha1.Condition{{Type: "Ready", Status: "True", LastUpdateTime: ago(time.Hour)}}
	s.ResourceCounts = &v1alpha1.ResourceCounts{DesiredReady: 2, Ready: 2}
	w.cluster.Namespace, w.cluster.Name, w.cluster.Status.Namespace = "fleet-local", "local", "cluster-one"
	w.cluster.Status.Agent.LastSeen = ago(6 * time.Minute)
	w.cluster.Status.ResourceCounts, w.cluster.Status.Summary = *s.ResourceCounts, v1alpha1.Summary{Ready: 1,
		DesiredReady: 1}
	w.bundle.Namespace, w.bundle.Name = "fleet-local", "guestbook"
	w.bundle.Labels = map[string]string{fleet.RepoLabel: "apps"}
	w.bundle.Status.Summary = w.cluster.Status.Summary
	w.repo.Namespace, w.repo.Name = "fleet-local", "apps"
	one := 1
	w.repo.Status.Status = v1alpha1.Status{Summary: w.cluster.Status.Summary,
		ResourceCounts: &v1alpha1.ResourceCounts{DesiredReady: 2,
			Ready: 2}, DesiredReadyClusters: &one, ReadyClusters: 1}
	w.objects = []evaluate.Object{{State: evaluate.Ready}, {State: evaluate.Ready}}
	return w
}

// counted are the counts of one object in a state.
var counted = map[evaluate.State]evaluate.Counts{
	evaluate.Ready: {Desired: 1, Ready: 1}, evaluate.Missing: {Desired: 1, Missing: 1}, evaluate.Unowned: {Desired: 1,
		Unowned: 1},
	evaluate.Modified: {Desired: 1, Modified: 1}, evaluate.NotReady: {Desired: 1,
		NotReady: 1}, evaluate.Unknown: {Desired: 1, Unknown: 1},
}

// input evaluates the world.
func (w *world) input() *Input {
	w.d.AgentVersion = w.agent
	in := inputOf(w.d, evaluate.Ready)
	in.Result.Desired.Clusters[0] = resolveWithAgent(w.agent)
	for i := range w.objects {
		o := w.objects[i]
		ref := object.Ref{APIVersion: "v1", Kind: "ConfigMap", Namespace: "web", Name: string(rune('a' + i))}
		o.Ref, o.Deployment = ref, w.d.ID()
		w.d.Objects = append(w.d.Objects, o)
		w.d.Counts = w.d.Counts.Plus(counted[o.State])
	}
	f := in.Result.Desired.Fleet
	f.Clusters, f.Bundles, f.GitRepos, f.ControllerVersion = slices.Concat(w.clusters,
		[]*v1alpha1.Cluster{w.cluster}), []*v1alpha1.Bundle{w.bundle}, []*v1alpha1.GitRepo{w.repo}, w.controller
	f.BundleDeployments = []*v1alpha1.BundleDeployment{w.d.BD}
	f.Coverage = map[string]source.Coverage{}
	for _, k := range state.Kinds {
		f.Coverage[k.Name] = source.Covered()
	}
	f.Coverage[state.BundleNamespaceMapping] = source.Covered()
	in.Result.Source.TakenAt = now
	in.Result.Deployments = []*evaluate.BundleDeployment{w.d}
	*in.Result = *evaluate.NewResult(*in.Result)
	return in
}

// causesOf returns the causes of the findings of a world by code.
func causesOf(w *world) map[string]facts.Cause {
	out := map[string]facts.Cause{}
	in := w.input()
	for _, code := range []string{"FD201", "FD202", "FD203", "FD204", "FD205", "FD209"} {
		for _, f := range findings(code, in) {
			out[code] = f.Cause
		}
	}
	return out
}

func all(c facts.Cause) map[string]facts.Cause {
	return map[string]facts.Cause{"FD201": c, "FD202": c, "FD203": c, "FD204": c, "FD205": c}
}

func modifiedAt(t string) evaluate.Object {
	return evaluate.Object{State: evaluate.Modified, Differences: []evaluate.Difference{{Path: ".data.a", Time: t}}}
}

// reports sets what the agent reports of one object of two.
func (w *world) reports(c v1alpha1.ResourceCounts, s evaluate.State) {
	w.d.BD.Status.ResourceCounts, w.d.BD.Status.Display.State, w.d.BD.Status.NonModified = &c, string(s),
		s == evaluate.Ready
	w.d.BD.Status.ModifiedStatus = []v1alpha1.ModifiedStatus{{APIVersion: "v1", Kind: "ConfigMap", Namespace: "web",
		Name: "a", Patch: "{}"}}
	sum := v1alpha1.Summary{DesiredReady: 1, Modified: 1}
	w.cluster.Status.ResourceCounts, w.cluster.Status.Summary, w.bundle.Status.Summary = c, sum, sum
	w.repo.Status.ResourceCounts, w.repo.Status.Summary, w.repo.Status.ReadyClusters = &c, sum, 0
}

// TestCauses checks which levels report wrong counts, and why.
func TestCauses(t *testing.T) {
	oneModified := v1alpha1.ResourceCounts{DesiredReady: 2, Ready: 1, Modified: 1}
	for _, tc := range []struct {
		name   string
		change func(w *world)
		want   map[string]facts.Cause
	}{
		{"all is right", func(*world) {}, nil},
		{"an object was deleted", func(w *world) { w.objects[0].State = evaluate.Missing }, all(facts.Lag)},
		{"an object lost its labels", func(w *world) { w.objects[0].State = evaluate.Unowned }, all(facts.Lag)},
		{"an object could not be read", func(w *world) { w.objects[0].State = evaluate.Unknown }, nil},
		{"the scope is disputed", func(w *world) { w.objects[0].State, w.d.Dispute = evaluate.Unowned, "it is" }, nil},
		{"two versions of an object are desired", func(w *world) { w.objects, w.d.OtherVersions = w.objects[:1], true },
			nil},
		{"the bundle was rendered", func(w *world) {
			w.objects[0].State, w.d.From = evaluate.Missing,
				desired.FromBundle
		}, nil},
		{"paused", func(w *world) { w.objects[0].State, w.d.BD.Spec.Paused = evaluate.Missing, true },
			all(facts.Paused)},
		{"off schedule", func(w *world) { w.objects[0].State, w.d.BD.Spec.OffSchedule = evaluate.Missing, true },
			all(facts.OffSchedule)},
		{"the agent is silent", func(w *world) {
			w.objects[0].State, w.cluster.Status.Agent.LastSeen = evaluate.Missing,
				ago(time.Hour)
		}, all(facts.StaleAgent)},
		{"the agent was never seen", func(w *world) {
			w.objects[0].State,
				w.cluster.Status.Agent.LastSeen = evaluate.Missing, ""
		}, all(facts.Lag)},
		{"modified a second ago", func(w *world) { w.objects[0] = modifiedAt(ago(time.Second)) }, all(facts.Lag)},
		{"modified at an unknown time", func(w *world) { w.objects[0] = modifiedAt("") }, all(facts.Lag)},
		{"modified long before the last heartbeat", func(w *world) { w.objects[0] = modifiedAt(ago(time.Hour)) },
			all(facts.Unexplained)},
		{"not monitored", func(w *world) {
			w.objects[0] = modifiedAt(ago(time.Hour))
			w.d.BD.Status.Conditions = append(w.d.BD.Status.Conditions,
				v1alpha1.Condition{Type: "Monitored", Status: "False"})
		}, all(facts.Lag)},
		{"the installation failed", func(w *world) {
			w.objects[0] = modifiedAt(ago(time.Hour))
			w.d.BD.Status.Conditions = append(w.d.BD.Status.Conditions,
				v1alpha1.Condition{Type: "Installed", Status: "False"})
		}, all(facts.Lag)},
		{"modified after the last heartbeat", func(w *world) {
			w.objects[0], w.cluster.Status.Agent.LastSeen = modifiedAt(ago(20*time.Minute)), ago(30*time.Minute)
		}, all(facts.Lag)},
		{"nulls are ignored by the agent", func(w *world) {
			w.objects[0], w.agent = modifiedAt(ago(time.Hour)),
				"v0.15.2"
		}, all(facts.KnownBug)},
		{"last-applied", func(w *world) {
			w.reports(oneModified, evaluate.Modified)
			w.objects[0].LastApplied = true
		}, all(facts.LastApplied)},
		{"corrected a moment ago", func(w *world) { w.reports(oneModified, evaluate.Modified) }, all(facts.Lag)},
		{"an autoscaler of another bundle", func(w *world) {
			w.reports(oneModified, evaluate.Modified)
			w.objects[0].Scaled = true
		}, nil},
		{"an autoscaler, with an old agent", func(w *world) {
			w.reports(oneModified, evaluate.Modified)
			w.objects[0].Scaled, w.agent = true, "v0.14.4"
		}, all(facts.KnownBug)},
		{"an autoscaler, with an unknown agent", func(w *world) {
			w.reports(oneModified, evaluate.Modified)
			w.objects[0].Scaled, w.agent = true, "dev"
		}, nil},
		{"nothing else changed for an hour", func(w *world) { w.repo.Status.ResourceCounts.Ready = 1 },
			map[string]facts.Cause{"FD203": facts.Unexplained}},
		{"a deployment was deleted perhaps", func(w *world) { w.repo.Status.ResourceCounts.DesiredReady = 3 },
			map[string]facts.Cause{"FD203": facts.Lag}},
		{"the Cluster was not updated", func(w *world) { w.cluster.Status.ResourceCounts.Ready = 1 },
			map[string]facts.Cause{"FD205": facts.Unexplained}},
		{"the Cluster waits for a heartbeat", func(w *world) {
			w.cluster.Status.ResourceCounts.Ready, w.cluster.Status.Agent.LastSeen = 1, ago(30*time.Minute)
			w.d.BD.Status.Conditions[0].LastUpdateTime = ago(20 * time.Minute)
		}, map[string]facts.Cause{"FD205": facts.Lag}},
		{"objects of other clusters, 0.11.2",
			func(w *world) {
				w.cluster.Status.ResourceCounts.DesiredReady, w.controller = 9,
					"v0.11.2"
			}, map[string]facts.Cause{"FD205": facts.KnownBug}},
		{"objects of other clusters, 0.11.3",
			func(w *world) {
				w.cluster.Status.ResourceCounts.DesiredReady, w.controller = 9,
					"v0.11.3"
			}, map[string]facts.Cause{"FD205": facts.Lag}},
		{"objects of other clusters, unknown version",
			func(w *world) {
				w.cluster.Status.ResourceCounts.DesiredReady, w.controller = 9,
					""
			}, map[string]facts.Cause{"FD205": facts.Lag}},
		{"clusters of the last bundle, 0.10",
			func(w *world) {
				*w.repo.Status.DesiredReadyClusters, w.controller = 3,
					"v0.10.4"
			}, map[string]facts.Cause{"FD204": facts.KnownBug}},
		{"clusters, 0.11", func(w *world) { *w.repo.Status.DesiredReadyClusters, w.controller = 3, "v0.11.0" },
			map[string]facts.Cause{"FD204": facts.Lag}},
		{"a repository that is not counted", func(w *world) {
			two := 2
			w.cluster.Status.DesiredReadyGitRepos, w.cluster.Status.ReadyGitRepos = &two, 1
		}, map[string]facts.Cause{"FD205": facts.Lag}},
		{"its repository", func(w *world) {
			one := 1
			w.cluster.Status.DesiredReadyGitRepos, w.cluster.Status.ReadyGitRepos = &one, 1
		}, nil},
		{"incompleteState is never reset", func(w *world) {
			w.d.BD.Status.IncompleteState, w.repo.Status.Resources = true, []v1alpha1.RepoResource{{State: "Ready"},
				{State: "Unknown"}}
		}, map[string]facts.Cause{"FD203": facts.StickyIncomplete}},
		{"a list is truncated", func(w *world) {
			w.d.BD.Status.IncompleteState, w.repo.Status.Resources = true, []v1alpha1.RepoResource{{State: "Unknown"}}
			w.d.BD.Status.NonReadyStatus, w.d.BD.Status.Ready = make([]v1alpha1.NonReadyStatus, 10), false
		}, nil},
		{"a rollout", func(w *world) {
			w.targets("two", "three")
			w.bundle.Status.Summary = v1alpha1.Summary{DesiredReady: 3, Ready: 1, Pending: 2}
		}, map[string]facts.Cause{"FD204": facts.PendingRollout}},
		{"a left over deployment", func(w *world) {
			w.bundle.Status.Summary, w.bundle.Status.Conditions = v1alpha1.Summary{}, w.d.BD.Status.Conditions
		}, nil},
		{"more ready than deployments", func(w *world) {
			w.bundle.Status.Summary = v1alpha1.Summary{DesiredReady: 2,
				Ready: 2}
		}, map[string]facts.Cause{"FD202": facts.Lag}},
		{"a state of a newer version", func(w *world) {
			w.d.BD.Spec.DeploymentID, w.d.BD.Spec.StagedDeploymentID, w.d.BD.Status.Display.State = "new", "new",
				"WaitingForDependency"
			sum := v1alpha1.Summary{DesiredReady: 1}
			w.cluster.Status.Summary, w.bundle.Status.Summary, w.repo.Status.Summary, w.repo.Status.ReadyClusters = sum,
				sum, sum, 0
		}, nil},
	} {
		w := newWorld()
		tc.change(w)
		if diff := cmp.Diff(tc.want, causesOf(w), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.name, diff)
		}
	}
}

// TestTruncatedTotals checks the counts that old versions make from truncated lists.
func TestTruncatedTotals(t *testing.T) {
	for _, tc := range []struct {
		controller string
		listed     int
		state      evaluate.State
		want       facts.Cause
	}{
		{"v0.11.6", 10, evaluate.Modified, facts.Truncated},
		{"v0.11.6", 9, evaluate.Modified, facts.Lag},
		{"v0.11.6", 0, evaluate.WaitApplied, facts.KnownBug},
		{"v0.12.0", 10, evaluate.Modified, facts.Lag},
		{"", 10, evaluate.Modified, facts.Lag},
	} {
		w := newWorld()
		w.controller = tc.controller
		w.reports(v1alpha1.ResourceCounts{DesiredReady: 12, Ready: 0, Modified: 12}, tc.state)
		w.d.BD.Status.ModifiedStatus = make([]v1alpha1.ModifiedStatus, tc.listed)
		w.d.Problem = directory.ClusterNotRead
		w.repo.Status.ResourceCounts = &v1alpha1.ResourceCounts{DesiredReady: 12, Ready: 2, Modified: 10}
		var got []Finding
		got = append(got, findings("FD203", w.input())...)
		if len(got) != 1 || got[0].Cause != tc.want {
			t.Errorf("%+v: %+v", tc, got)
		}
	}
}

// TestPausesFor: nobody waits for a rollout that has not moved for as long as the pauses last.
func TestPausesFor(t *testing.T) {
	in := New(&facts.Facts{Result: &evaluate.Result{Source: source.Description{TakenAt: now}}}, remedy.Commands{}, nil)
	for _, tc := range []struct {
		cause facts.Cause
		age   time.Duration
		want  int
	}{
		{facts.PendingRollout, 5 * time.Second, 2},
		{facts.PendingRollout, 11 * time.Second, 0},
		{facts.Lag, time.Hour, 2},
	} {
		b := &v1alpha1.Bundle{}
		b.Status.Conditions = []v1alpha1.Condition{{Type: "Ready", Status: "False",
			LastUpdateTime: ago(tc.age)}}
		of := &totals{Aggregate: &evaluate.Aggregate{Kind: state.GitRepo}, bundles: []*v1alpha1.Bundle{b}}
		if got := in.pausesFor(of, tc.cause); got != tc.want {
			t.Errorf("%s after %s: %d pauses, want %d", tc.cause, tc.age, got, tc.want)
		}
	}
}
