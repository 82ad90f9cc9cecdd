// SPDX-License-Identifier: Apache-2.0

package webhook_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"

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
	if s, r := f.status(t, f.kubeconfig, "stat"); r.status != 1 || s.Installed == nil || *s.Installed {
		t.Errorf("before: status %d: %s", r.status, r.out)
	}
	f.installed(t, "stat", "--exact", "--release-namespaces=shop", "--guard-default=off", "--replicas=3")
	want := map[string]install.State{"certificate": install.Wrong, "mutating": install.Wrong,
		"validating": install.Wrong, "deployment": install.Wrong,
		"endpoints": install.Wrong, "manifests": install.OK, "namespaces": install.OK, "test": install.Wrong}
	s, r := f.status(t, f.kubeconfig, "stat")
	got := states(s)
	delete(got, "calls") // this state depends on the other tests
	if diff := cmp.Diff(want, got); diff != "" || r.status != 1 || s.Installed == nil || !*s.Installed {
		t.Errorf("not running: status %d (-want +got):\n%s", r.status, diff)
	}

	ca, cert := certificate(t, "fleetdoctor-webhook.stat.svc")
	f.ready(t, "stat", ca)
	f.patch(t, &corev1.Secret{}, "stat", "fleetdoctor-webhook-cert", `{"data":{"tls.crt":"`+cert+`"}}`)
	f.endpoint(t, "stat")
	s, _ = f.status(t, f.kubeconfig, "stat")
	for name, state := range states(s) {
		if name != "calls" && name != "test" && state != install.OK {
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
	f.patch(t, &corev1.Namespace{}, "", "shop", `{"metadata":{"labels":{"fleetdoctor.io/guard":"denny"}}}`)
	t.Cleanup(func() {
		f.patchAfter(t, &corev1.Namespace{}, "shop", `{"metadata":{"labels":{"fleetdoctor.io/guard":null}}}`)
	})
	s, r = f.status(t, f.kubeconfig, "stat")
	if got := states(s); r.status != 1 || got["validating"] != install.Wrong ||
		got["manifests"] != install.Wrong || got["namespaces"] != install.Wrong {
		t.Errorf("edited: status %d, %v", r.status, got)
	}
}

// TestStatusFresh checks that a healthy installation without an object to test with has no problem.
func TestStatusFresh(t *testing.T) {
	f := onCluster(t)
	f.installed(t, "fresh")
	ca, cert := certificate(t, "fleetdoctor-webhook.fresh.svc")
	f.ready(t, "fresh", ca)
	f.patch(t, &corev1.Secret{}, "fresh", "fleetdoctor-webhook-cert", `{"data":{"tls.crt":"`+cert+`"}}`)
	f.endpoint(t, "fresh")
	f.ignoreShop(t)
	s, r := f.status(t, f.kubeconfig, "fresh")
	got := states(s)
	if got["calls"] != install.Wrong && r.status != 0 { // this state depends on the other tests
		t.Errorf("status %d: %s", r.status, r.out)
	}
	delete(got, "calls")
	want := map[string]install.State{"certificate": install.OK, "mutating": install.OK, "validating": install.OK,
		"deployment": install.OK, "endpoints": install.OK, "manifests": install.OK, "namespaces": install.Note,
		"test": install.Note}
	if diff := cmp.Diff(want, got); diff != "" || s.Test.Result != installation.NoObject {
		t.Errorf("result %s, states (-want +got):\n%s", s.Test.Result, diff)
	}
}

// TestStatusWithoutRights checks that data that may not be read are Unknown, never OK.
func TestStatusWithoutRights(t *testing.T) {
	f := onCluster(t)
	f.installed(t, "unread")
	s, r := f.status(t, f.UserKubeconfig(t, "without-rights"), "unread")
	for _, c := range s.Checks {
		if c.State != install.Unknown {
			t.Errorf("%s is %s: %s", c.Name, c.State, c.Message)
		}
	}
	if r.status != 3 || len(s.Checks) != 9 || s.Installed != nil || strings.Contains(r.out, "no drift") {
		t.Errorf("status %d, %d checks:\n%s", r.status, len(s.Checks), r.out)
	}
}
