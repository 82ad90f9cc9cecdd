// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/install"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
)

var now = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// lease is a Lease that was renewed some time ago.
func lease(t *testing.T, holder string, age time.Duration) *unstructured.Unstructured {
	t.Helper()
	l := coordinationv1.Lease{Spec: coordinationv1.LeaseSpec{HolderIdentity: &holder,
		LeaseDurationSeconds: ptr.To[int32](15), RenewTime: ptr.To(metav1.NewMicroTime(now.Add(-age)))}}
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&l)
	if err != nil {
		t.Fatal(err)
	}
	return &unstructured.Unstructured{Object: fields}
}

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
	f := &Facts{Facts: install.Facts{Namespace: install.Namespace, TakenAt: now,
		Manifest: install.Manifest{Release: install.Namespace + "/" + Name, Objects: objects},
		Objects:  map[object.Key]install.Reading{}},
		Lease:    install.Reading{Object: lease(t, "b", time.Second)},
		Replicas: []Replica{replica("b", true), replica("a", false)}, Asked: 12}
	for _, o := range objects {
		live := o.DeepCopy()
		if live.GetKind() == "Deployment" {
			live.Object["status"] = map[string]any{"observedGeneration": int64(1), "replicas": int64(2),
				"readyReplicas": int64(2), "availableReplicas": int64(2), "updatedReplicas": int64(2),
				"conditions": []any{map[string]any{"type": "Available", "status": "True"}}}
		}
		f.Objects[install.RefOf(o).Key()] = install.Reading{Object: live}
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
			change: func(f *Facts) { f.Objects = map[object.Key]install.Reading{} }},
		{name: "nobody leads", state: install.Wrong, checks: []result{{"leader", install.Wrong, 1}},
			change: func(f *Facts) { f.Lease.Object = nil }},
		{name: "the lease is old", state: install.Wrong, checks: []result{{"leader", install.Wrong, 1}},
			change: func(f *Facts) { f.Lease.Object = lease(t, "b", time.Minute) }},
		{name: "the lease is forbidden", state: install.Unknown, checks: []result{{"leader", install.Unknown, 0}},
			change: func(f *Facts) { f.Lease = install.Reading{Reason: "forbidden"} }},
		{name: "both lead", state: install.Wrong, checks: []result{{"leader", install.Wrong, 1}},
			change: func(f *Facts) { f.Replicas[1].Leader = ptr.To(true) }},
		{name: "one is not synced", state: install.Wrong, checks: []result{{"synced", install.Wrong, 1}},
			change: first(func(r *Replica) { r.Synced = ptr.To(false) })},
		{name: "gaps", state: install.Unknown, checks: []result{{"coverage", install.Unknown, 1}},
			change: first(func(r *Replica) { r.Gaps = ptr.To(3) })},
		{name: "no evaluation yet", state: install.Unknown, checks: []result{{"evaluation", install.Unknown, 0}},
			change: first(func(r *Replica) { r.LastEvaluation = "" })},
		{name: "an upgrade", state: install.Note, checks: []result{{"version", install.Note, 1}},
			change: first(func(r *Replica) { r.Version = "v1.2.4" })},
		{name: "metrics of one pod are unread", state: install.Unknown,
			checks: []result{{"metrics", install.Unknown, 2}},
			change: first(func(r *Replica) { *r = Replica{Pod: r.Pod, Reason: "forbidden"} })},
		{name: "no pod runs", state: install.Unknown, change: func(f *Facts) { f.Replicas = nil },
			checks: []result{{"metrics", install.Unknown, 0}, {"synced", install.Unknown, 0},
				{"evaluation", install.Unknown, 0}, {"coverage", install.Unknown, 0}, {"version", install.Unknown, 0}}},
		{name: "rights are missing", state: install.Wrong, checks: []result{{"rights", install.Wrong, 3}},
			change: func(f *Facts) { f.Lacking = []string{"list *.*", "watch *.*"} }},
		{name: "rights are unread", state: install.Unknown, checks: []result{{"rights", install.Unknown, 1}},
			change: func(f *Facts) { f.RightsReason = "forbidden" }},
		{name: "no release", state: install.Unknown, checks: []result{{"rights", install.Unknown, 0},
			{"manifests", install.Note, 0}},
			change: func(f *Facts) { f.Manifest, f.Asked = install.Manifest{}, 0 }},
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
		f.Lacking, f.Replicas[0].Gaps = []string{"list *.*"}, ptr.To(1)
		for key, r := range f.Objects {
			if byFleet {
				r.Object.SetLabels(map[string]string{fleet.HashLabel: "0a"})
			}
			if key.Kind == "ServiceAccount" {
				delete(f.Objects, key)
			}
		}
		texts := 0
		for _, c := range Evaluate(f).Checks {
			text := c.Message + strings.Join(c.Details, " ")
			if c.Name == "coverage" || c.Name == "rights" || c.Name == "manifests" {
				texts++
				named := strings.Contains(text, "`auditor install`")
				if named == byFleet || strings.Contains(text, "by Fleet") != byFleet {
					t.Errorf("by Fleet: %t: %s", byFleet, text)
				}
			}
		}
		if texts != 3 {
			t.Errorf("%d texts, want 3", texts)
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
