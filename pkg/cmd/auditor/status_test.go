// SPDX-License-Identifier: Apache-2.0

package auditor_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"
	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/auditor/installation"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/install"
	"github.com/fleetdoctor/kubectl-fleetdoctor/test/poll"
)

// status runs `auditor status -o json`, and compares its document with the schema.
func status(t *testing.T, kubeconfig, namespace string) (*installation.Status, result) {
	t.Helper()
	r := run(t.Context(), kubeconfig, "status", "-n", namespace, "-o", "json")
	var s installation.Status
	if err := json.Unmarshal([]byte(r.out), &s); err != nil {
		t.Fatalf("status did not print JSON: %v\n%s%s", err, r.out, r.errOut)
	}
	schema, err := jsonschema.NewCompiler().Compile("../../../docs/auditor-status.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	value, err := jsonschema.UnmarshalJSON(strings.NewReader(r.out))
	if err != nil {
		t.Fatal(err)
	}
	if err := schema.Validate(value); err != nil {
		t.Errorf("%v:\n%s", err, r.out)
	}
	return &s, r
}

// states returns the states of the checks by name.
func states(s *installation.Status) map[string]install.State {
	out := map[string]install.State{}
	for _, c := range s.Checks {
		out[c.Name] = c.State
	}
	return out
}

// TestStatus checks the status on an API server without pods, with a replica that has no metrics, and without a right.
func TestStatus(t *testing.T) {
	admin := shared.Kubeconfig(t)
	if s, r := status(t, admin, "stat"); r.status != 1 || !s.IsAbsent() {
		t.Errorf("before: status %d: %s", r.status, r.out)
	}
	installed(t, "stat")
	unknown, wrong, ok := install.Unknown, install.Wrong, install.OK
	want := map[string]install.State{"deployment": wrong, "leader": wrong, "metrics": unknown, "synced": unknown,
		"evaluation": unknown, "coverage": unknown, "version": unknown, "rights": ok, "manifests": ok}
	var s *installation.Status
	var r result
	poll.True(t, "the server enforces the new roles", func() bool {
		s, r = status(t, admin, "stat")
		return states(s)["rights"] == ok
	})
	if diff := cmp.Diff(want, states(s)); diff != "" || r.status != 1 || s.HelmRelease != "stat/fleetdoctor-auditor" {
		t.Errorf("without pods: status %d, release %q (-want +got):\n%s", r.status, s.HelmRelease, diff)
	}

	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: "stat", Name: installation.Name},
		Spec: coordinationv1.LeaseSpec{HolderIdentity: ptr.To("one"), LeaseDurationSeconds: ptr.To[int32](3600),
			RenewTime: ptr.To(metav1.NowMicro())}}
	shared.Create(t, lease)
	running(t, "stat", "one")
	if s, _ = status(t, admin, "stat"); s.Leader != "one" || len(s.Replicas) != 1 || s.Replicas[0].Reason == "" {
		t.Errorf("with a pod that does not answer: leader %q, replicas %+v", s.Leader, s.Replicas)
	}
	for line := range strings.Lines(run(t.Context(), admin, "status", "-n", "stat").out) {
		if len(line) > 81 {
			t.Errorf("wider than 80 columns: %s", line)
		}
	}

	binding := &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: installation.Name}}
	if err := shared.Client().Delete(t.Context(), binding); err != nil {
		t.Fatal(err)
	}
	poll.True(t, "the lost rights are reported", func() bool {
		s, _ = status(t, admin, "stat")
		return states(s)["rights"] == wrong && states(s)["manifests"] == wrong
	})
}

// running creates a pod of the auditor that runs, at an address where nothing answers.
func running(t *testing.T, namespace, name string) {
	t.Helper()
	var d appsv1.Deployment
	err := shared.Client().Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: installation.Name}, &d)
	if err != nil {
		t.Fatal(err)
	}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name,
		Labels: d.Spec.Template.Labels}, Spec: d.Spec.Template.Spec}
	shared.Create(t, pod)
	pod.Status.Phase, pod.Status.PodIP = corev1.PodRunning, "127.0.0.1" // to which no API server connects
	pod.Status.PodIPs = []corev1.PodIP{{IP: pod.Status.PodIP}}
	if err := shared.Client().Status().Update(t.Context(), pod); err != nil {
		t.Fatal(err)
	}
}

// TestStatusWithoutRights checks that data that may not be read are Unknown, never OK.
func TestStatusWithoutRights(t *testing.T) {
	installed(t, "unread")
	s, r := status(t, shared.UserKubeconfig(t, "without-rights"), "unread")
	for _, c := range s.Checks {
		if c.State != install.Unknown {
			t.Errorf("%s is %s: %s", c.Name, c.State, c.Message)
		}
	}
	if r.status != 3 || len(s.Checks) != 9 || s.Installed != nil {
		t.Errorf("status %d, %d checks:\n%s", r.status, len(s.Checks), r.out)
	}
}
