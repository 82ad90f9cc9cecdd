// SPDX-License-Identifier: Apache-2.0

package webhook_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/install"
	"github.com/fleetdoctor/kubectl-fleetdoctor/webhook/installation"
)

// status runs `webhook status -o json` and returns its document.
func (f *fixture) status(t *testing.T, kubeconfig, namespace string) (*installation.Status, result) {
	t.Helper()
	r := f.as(t, kubeconfig, "status", "-o", "json", "-n", namespace)
	var s installation.Status
	if err := json.Unmarshal([]byte(r.out), &s); err != nil {
		t.Fatalf("status did not print JSON: %v\n%s%s", err, r.out, r.errOut)
	}
	followsSchema(t, "webhook-status", r.out)
	return &s, r
}

// states returns the states of the checks by name. For several checks with one name, it is the last state.
func states(s *installation.Status) map[string]install.State {
	out := map[string]install.State{}
	for _, c := range s.Checks {
		out[c.Name] = c.State
	}
	return out
}

func TestStatus(t *testing.T) {
	f := onCluster(t)
	if s, r := f.status(t, f.kubeconfig, "stat"); r.status != 1 || s.Installed {
		t.Errorf("before: status %d: %s", r.status, r.out)
	}
	f.installed(t, "stat", "--exact", "--release-namespaces=shop", "--guard-default=off", "--replicas=3")
	want := map[string]install.State{"release": install.OK, "deployment": install.Wrong, "mutating": install.Wrong,
		"validating": install.Wrong, "test": install.Wrong}
	s, r := f.status(t, f.kubeconfig, "stat")
	if diff := cmp.Diff(want, states(s)); diff != "" || r.status != 1 || !s.Installed ||
		s.HelmRelease != "stat/fleetdoctor-webhook" {
		t.Errorf("not running: status %d (-want +got):\n%s", r.status, diff)
	}

	f.ready(t, "stat", "Y2E=")
	s, _ = f.status(t, f.kubeconfig, "stat")
	for name, state := range states(s) {
		if name != "test" && state != install.OK {
			t.Errorf("in a running installation %s is %s: %v", name, state, s.Checks)
		}
	}
	if o := outcomeOf(s); o.result != installation.NotCalled { // no server has the address
		t.Errorf("in an installation that does not answer: %+v", o)
	}
	text := f.call(t, "status", "-n", "stat").out
	for line := range strings.Lines(text) {
		if len(line) > 81 {
			t.Errorf("wider than 80 columns: %s", line)
		}
	}

	f.patch(t, &admissionregistrationv1.ValidatingWebhookConfiguration{}, "", installation.Name,
		`[{"op":"replace","path":"/webhooks/0/failurePolicy","value":"Fail"}]`)
	if s, r = f.status(t, f.kubeconfig, "stat"); r.status != 1 || states(s)["validating"] != install.Wrong {
		t.Errorf("edited: status %d, %v", r.status, states(s))
	}
}

// TestStatusFresh checks that a healthy installation without an object to test with has no problem.
func TestStatusFresh(t *testing.T) {
	f := onCluster(t)
	f.installed(t, "fresh")
	f.ready(t, "fresh", "Y2E=")
	f.ignoreShop(t)
	s, r := f.status(t, f.kubeconfig, "fresh")
	want := map[string]install.State{"release": install.OK, "deployment": install.OK, "mutating": install.OK,
		"validating": install.OK, "test": install.Note}
	if diff := cmp.Diff(want, states(s)); diff != "" || r.status != 0 || s.Test.Result != installation.NoObject {
		t.Errorf("status %d, result %s, states (-want +got):\n%s", r.status, s.Test.Result, diff)
	}
}

// TestStatusWithoutRights checks that data that may not be read are never OK.
func TestStatusWithoutRights(t *testing.T) {
	f := onCluster(t)
	f.installed(t, "unread")
	user := f.UserKubeconfig(t, "without-rights")
	if r := f.as(t, user, "status"); r.status != 3 || r.out != "" ||
		!strings.Contains(r.errOut, "cannot get resource \"clusterrolebindings\"") ||
		!strings.Contains(r.errOut, "It requires get on") {
		t.Errorf("without any right: status %d: %s%s", r.status, r.out, r.errOut)
	}
	f.Grant(t, "without-rights", "",
		rbacv1.PolicyRule{APIGroups: []string{"apps"}, Resources: []string{"deployments"}, Verbs: []string{"get"}},
		rbacv1.PolicyRule{APIGroups: []string{"rbac.authorization.k8s.io"}, Resources: []string{"clusterrolebindings"},
			Verbs: []string{"get"}})
	f.ready(t, "unread", "Y2E=")
	s, r := f.status(t, user, "unread")
	for _, c := range s.Checks {
		if c.State != install.Unknown && c.Name != "deployment" {
			t.Errorf("%s is %s: %s", c.Name, c.State, c.Message)
		}
	}
	if r.status != 3 || len(s.Checks) != 5 {
		t.Errorf("status %d, %d checks:\n%s", r.status, len(s.Checks), r.out)
	}
}
