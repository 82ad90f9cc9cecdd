// SPDX-License-Identifier: Apache-2.0

package auditor_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/auditor"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/install"
)

// status runs `auditor status -o json`, and compares its document with the schema.
func status(t *testing.T, kubeconfig, namespace string) (*auditor.Status, result) {
	t.Helper()
	r := run(t.Context(), kubeconfig, "status", "-n", namespace, "-o", "json")
	var s auditor.Status
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
func states(s *auditor.Status) map[string]install.State {
	out := map[string]install.State{}
	for _, c := range s.Checks {
		out[c.Name] = c.State
	}
	return out
}

// TestStatus checks the status on an API server without pods, and with a replica that has no metrics.
func TestStatus(t *testing.T) {
	admin := shared.Kubeconfig(t)
	if s, r := status(t, admin, "stat"); r.status != 1 || s.Installed {
		t.Errorf("before: status %d: %s", r.status, r.out)
	}
	installed(t, "stat")
	want := map[string]install.State{"release": install.OK, "deployment": install.Wrong, "replica": install.Unknown,
		"leader": install.Unknown}
	s, r := status(t, admin, "stat")
	if diff := cmp.Diff(want, states(s)); diff != "" || r.status != 1 || s.HelmRelease != "stat/fleetdoctor-auditor" {
		t.Errorf("without pods: status %d, release %q (-want +got):\n%s", r.status, s.HelmRelease, diff)
	}

	running(t, "stat", "one")
	if s, _ = status(t, admin, "stat"); s.Leader != "" || len(s.Replicas) != 1 || s.Replicas[0].Reason == "" {
		t.Errorf("with a pod that does not answer: leader %q, replicas %+v", s.Leader, s.Replicas)
	}
	for line := range strings.Lines(run(t.Context(), admin, "status", "-n", "stat").out) {
		if len(line) > 81 {
			t.Errorf("wider than 80 columns: %s", line)
		}
	}
}

// running creates a pod of the auditor that runs, at an address where nothing answers.
func running(t *testing.T, namespace, name string) {
	t.Helper()
	var d appsv1.Deployment
	err := shared.Client().Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: auditor.Name}, &d)
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

// TestStatusWithoutRights checks that data that may not be read are never OK.
func TestStatusWithoutRights(t *testing.T) {
	installed(t, "unread")
	user := shared.UserKubeconfig(t, "without-rights")
	if r := run(t.Context(), user, "status"); r.status != 3 || r.out != "" ||
		!strings.Contains(r.errOut, "cannot get resource \"clusterrolebindings\"") {
		t.Errorf("without any right: status %d: %s%s", r.status, r.out, r.errOut)
	}
	shared.Grant(t, "without-rights", "",
		rbacv1.PolicyRule{APIGroups: []string{"apps"}, Resources: []string{"deployments"}, Verbs: []string{"get"}},
		rbacv1.PolicyRule{APIGroups: []string{"rbac.authorization.k8s.io"}, Resources: []string{"clusterrolebindings"},
			Verbs: []string{"get"}})
	s, r := status(t, user, "unread")
	for _, c := range s.Checks {
		if c.State != install.Unknown && c.Name != "deployment" {
			t.Errorf("%s is %s: %s", c.Name, c.State, c.Message)
		}
	}
	if len(s.Checks) != 4 {
		t.Errorf("status %d, %d checks:\n%s", r.status, len(s.Checks), r.out)
	}
}
