// SPDX-License-Identifier: Apache-2.0

package auditor

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"helm.sh/helm/v4/pkg/release/common"
	helm "helm.sh/helm/v4/pkg/release/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/install"
)

var now = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func replica(pod string, leads bool) Replica {
	return Replica{Pod: pod, Version: "v1.2.3", Leader: &leads, Synced: ptr.To(true), Gaps: ptr.To(0),
		LastEvaluation: now.Add(-time.Minute).Format(time.RFC3339)}
}

// healthy returns the facts of an installation without problems.
func healthy(t *testing.T) *Facts {
	t.Helper()
	objects, err := Chart.Render(install.Namespace, &Values{})
	if err != nil {
		t.Fatal(err)
	}
	f := &Facts{Facts: install.Facts{TakenAt: now,
		Installation: &install.Installation{Namespace: install.Namespace, Named: install.Namespace},
		HelmRelease: &helm.Release{Namespace: install.Namespace, Name: Name, Version: 1,
			Info: &helm.Info{Status: common.StatusDeployed}}},
		Replicas: []Replica{replica("b", true), replica("a", false)}}
	for _, o := range objects {
		if o.GetKind() == "Deployment" {
			o.Object["status"] = map[string]any{"observedGeneration": int64(1), "replicas": int64(2),
				"readyReplicas": int64(2), "availableReplicas": int64(2), "updatedReplicas": int64(2),
				"conditions": []any{map[string]any{"type": "Available", "status": "True"}}}
			f.Deployment = o
		}
	}
	return f
}

// result is a check without its texts.
type result struct {
	Name    string
	State   install.State
	Details int
}

func TestEvaluate(t *testing.T) {
	t.Parallel()
	first := func(change func(*Replica)) func(*Facts) { return func(f *Facts) { change(&f.Replicas[0]) } }
	for _, tc := range []struct {
		name   string
		change func(*Facts)
		state  install.State
		// checks that are not OK
		checks []result
	}{
		{name: "nothing wrong", change: func(*Facts) {}, state: install.OK},
		{name: "not installed", state: install.Wrong, checks: []result{{"installed", install.Wrong, 0}},
			change: func(f *Facts) { f.Installation = &install.Installation{Namespace: install.Namespace} }},
		{name: "no Deployment", state: install.Wrong, checks: []result{{"deployment", install.Wrong, 0}},
			change: func(f *Facts) { f.Deployment = nil }},
		{name: "scaled to 0", state: install.Wrong, checks: []result{{"deployment", install.Wrong, 0}},
			change: func(f *Facts) {
				f.Deployment.Object["spec"] = map[string]any{"replicas": int64(0)}
			}},
		{name: "a replica is not ready", state: install.Wrong, checks: []result{{"deployment", install.Wrong, 1}},
			change: func(f *Facts) {
				f.Deployment.Object["status"] = map[string]any{"observedGeneration": int64(1), "replicas": int64(1)}
			}},
		{name: "nobody leads", state: install.Wrong, checks: []result{{"leader", install.Wrong, 1}},
			change: first(func(r *Replica) { r.Leader = ptr.To(false) })},
		{name: "nobody is known to lead", state: install.Unknown, checks: []result{{"leader", install.Unknown, 0}},
			change: first(func(r *Replica) { r.Leader = nil })},
		{name: "both lead", state: install.Wrong, checks: []result{{"leader", install.Wrong, 1}},
			change: func(f *Facts) { f.Replicas[1].Leader = ptr.To(true) }},
		{name: "one is not synced", state: install.Wrong, checks: []result{{"replica", install.Wrong, 1}},
			change: first(func(r *Replica) { r.Synced = ptr.To(false) })},
		{name: "one does not say whether it is synced", state: install.Unknown,
			checks: []result{{"replica", install.Unknown, 0}}, change: first(func(r *Replica) { r.Synced = nil })},
		{name: "gaps", state: install.Unknown, checks: []result{{"replica", install.Unknown, 1}},
			change: first(func(r *Replica) { r.Gaps = ptr.To(3) })},
		{name: "gaps are unknown", state: install.Unknown, checks: []result{{"replica", install.Unknown, 0}},
			change: first(func(r *Replica) { r.Gaps = nil })},
		{name: "no evaluation yet", state: install.Unknown, checks: []result{{"replica", install.Unknown, 0}},
			change: first(func(r *Replica) { r.LastEvaluation = "" })},
		{name: "metrics of one pod are unread", state: install.Unknown,
			checks: []result{{"replica", install.Unknown, 1}},
			change: func(f *Facts) { f.Replicas[1] = Replica{Pod: "a", Reason: "forbidden"} }},
		{name: "no pod runs", state: install.Unknown, change: func(f *Facts) { f.Replicas = nil },
			checks: []result{{"replica", install.Unknown, 0}, {"leader", install.Unknown, 0}}},
		{name: "pods are unread", state: install.Unknown,
			change: func(f *Facts) { f.Replicas, f.ReplicasReason = nil, "forbidden" },
			checks: []result{{"replica", install.Unknown, 0}, {"leader", install.Unknown, 0}}},
		{name: "no release", state: install.Note, checks: []result{{"release", install.Note, 0}},
			change: func(f *Facts) { f.HelmRelease = nil }},
		{name: "the release is unread", state: install.Unknown, checks: []result{{"release", install.Unknown, 0}},
			change: func(f *Facts) { f.HelmRelease, f.HelmReleaseReason = nil, "forbidden" }},
		{name: "the release failed", state: install.Wrong, checks: []result{{"release", install.Wrong, 1}},
			change: func(f *Facts) { f.HelmRelease.Info.Status = common.StatusFailed }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			f := healthy(t)
			tc.change(f)
			s := Evaluate(f)
			var checks []result
			for _, c := range s.Checks {
				if c.State != install.OK {
					checks = append(checks, result{c.Name, c.State, len(c.Details)})
				}
			}
			if diff := cmp.Diff(tc.checks, checks); diff != "" {
				t.Errorf("checks that are not OK (-want +got):\n%s", diff)
			}
			if s.State != tc.state {
				t.Errorf("state %s, want %s", s.State, tc.state)
			}
		})
	}
}

// TestRemedies checks that the status of an installation by Fleet does not name `auditor install`, which refuses to
// change it.
func TestRemedies(t *testing.T) {
	t.Parallel()
	for _, byFleet := range []bool{false, true} {
		f := healthy(t)
		f.Replicas[0].Gaps = ptr.To(1)
		if byFleet {
			f.Fleet = "other/doctor"
		}
		text := ""
		for _, c := range Evaluate(f).Checks {
			text += strings.Join(c.Details, " ")
		}
		if strings.Contains(text, "`auditor install`") == byFleet || strings.Contains(text, "by Fleet") != byFleet {
			t.Errorf("by Fleet: %t: %s", byFleet, text)
		}
	}
}

// TestStatusDocument checks who leads, and the order of the replicas.
func TestStatusDocument(t *testing.T) {
	t.Parallel()
	s := Evaluate(healthy(t))
	names := []string{s.Replicas[0].Pod, s.Replicas[1].Pod}
	if s.Leader != "b" || !slices.Equal(names, []string{"a", "b"}) || s.HelmRelease == "" {
		t.Errorf("leader %q of %v, release %q", s.Leader, names, s.HelmRelease)
	}
}

// TestReadReplica checks what is read from the metrics of a pod, and that metrics that could not be read have a reason.
func TestReadReplica(t *testing.T) {
	t.Parallel()
	const sample = `# TYPE fleetdoctor_auditor_leader gauge
fleetdoctor_auditor_leader 1
fleetdoctor_auditor_synced 0
fleetdoctor_auditor_last_evaluation_timestamp_seconds 1.767323045e+09
fleetdoctor_auditor_gaps{optional="false"} 2
fleetdoctor_auditor_gaps{optional="true"} 1
fleetdoctor_auditor_build_info{version="v1.2.3"} 1
go_goroutines 7
`
	pod := &unstructured.Unstructured{}
	pod.SetNamespace("ops")
	pod.SetName("a")
	read := func(body string, err error) Replica {
		open := func(_ context.Context, path string) (io.ReadCloser, error) {
			if path != "/api/v1/namespaces/ops/pods/a:8080/proxy/metrics" {
				t.Errorf("path %s", path)
			}
			return io.NopCloser(strings.NewReader(body)), err
		}
		return readReplica(t.Context(), &install.Cluster{Open: open}, pod)
	}
	want := Replica{Pod: "a", Version: "v1.2.3", Leader: ptr.To(true), Synced: ptr.To(false), Gaps: ptr.To(3),
		LastEvaluation: "2026-01-02T03:04:05Z"}
	if diff := cmp.Diff(want, read(sample, nil)); diff != "" {
		t.Errorf("metrics (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(Replica{Pod: "a"}, read("", nil)); diff != "" {
		t.Errorf("no metrics (-want +got):\n%s", diff)
	}
	if r := read("fleetdoctor_auditor_leader one\n", nil); r.Reason == "" || r.Leader != nil {
		t.Errorf("damaged metrics: %+v", r)
	}
	if r := read("", errors.New("refused")); r.Reason != "refused" {
		t.Errorf("a failed read: %+v", r)
	}
}

// TestParseReadRules checks that the role of `audit --print-rbac` is read, and what is refused.
func TestParseReadRules(t *testing.T) {
	t.Parallel()
	got, err := ParseReadRules([]byte("# a comment\napiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\n" +
		"metadata: {name: a}\nrules:\n- {apiGroups: [apps], resources: [deployments], verbs: [list]}\n"))
	want := []ReadRule{{APIGroups: []string{"apps"}, Resources: []string{"deployments"}}}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	for text, want := range map[string]string{
		"":                           `it has the kind "", not ClusterRole`,
		"kind: ConfigMap":            `it has the kind "ConfigMap", not ClusterRole`,
		"kind: ClusterRole":          "it has no rules",
		"kind: ClusterRole\nrule: 1": "decoding a ClusterRole",
		"kind: ClusterRole\nrules: [{apiGroups: [''], resources: [secrets], resourceNames: [a]}]": "resourceNames",
	} {
		if _, err := ParseReadRules([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}
