// SPDX-License-Identifier: Apache-2.0

package webhook_test

import (
	"context"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fleetdoctor/kubectl-fleetdoctor/test/cluster"
	"github.com/fleetdoctor/kubectl-fleetdoctor/test/poll"
	"github.com/fleetdoctor/kubectl-fleetdoctor/webhook/install"
)

// TestTestGuardOnly holds that a guard which answers is not taken for a webhook that works.
func TestTestGuardOnly(t *testing.T) {
	f := onCluster(t)
	stamp := f.answering(t, "half")
	guard := stamp.guard
	stamp.answer(pass)
	guard.answer(deny)
	poll.True(t, "the guard refuses", func() bool {
		return strings.Contains(f.call(t, "test").said(), `admission webhook "guard.fleetdoctor.io" denied`)
	})
	guarding := func(*admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
		return &admissionv1.AdmissionResponse{Allowed: true, Warnings: []string{"fleetdoctor/Stripped: configmap shop/settings is owned by bundle guestbook, and this request removes its hash"}}
	}
	for _, tc := range []struct {
		name         string
		stamp, guard answer
		status       int
		says         string
	}{
		{"the guard denies", pass, deny, 1, "Result: the guard answers, the stamp does not"},
		{"the guard warns", pass, guarding, 1, "Result: the guard answers, the stamp does not"},
		{"the stamp warns too", warn, guarding, 0, "Result: works"},
		{"the stamp warns, and the guard denies", warn, deny, 0, "Result: works"},
		{"the stamp denies", deny, guarding, 0, "Result: works"},
		{"nobody of ours warns", pass, func(*admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
			return &admissionv1.AdmissionResponse{Allowed: true, Warnings: []string{"policy: configmap shop/settings lacks a label"}}
		}, 1, "Result: not called"},
		{"the guard denies a deletion", restamp, func(r *admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
			if r.Operation != admissionv1.Delete {
				return pass(r)
			}
			return deny(r)
		}, 0, `Guard: denied: admission webhook "guard.fleetdoctor.io" denied`},
		{"the guard says nothing", restamp, pass, 1, "Guard: not called Result: the stamp answers, the guard does not - nothing was said when configmap shop/settings was to be deleted"},
		{"the guard says nothing of what two releases claim", warn, pass, 0, "Guard: not known: it says nothing of an object whose mark"},
	} {
		stamp.answer(tc.stamp)
		guard.answer(tc.guard)
		for _, args := range [][]string{{"test"}, {"test", "cm/settings", "-n", "shop"}} {
			r := f.call(t, args...)
			if r.status != tc.status || !strings.Contains(r.said(), tc.says) {
				t.Errorf("%s, %v: status %d, want %d, and %q:\n%s%s", tc.name, args, r.status, tc.status, tc.says, r.out, r.errOut)
			}
		}
	}
}

// TestTestLeftAlone holds that what the webhook leaves alone is no object to test with.
func TestTestLeftAlone(t *testing.T) {
	f := onCluster(t)
	a := f.answering(t, "alone")
	// Both come before namespace shop, in the order in which a cluster lists release records.
	agent := cluster.ReleaseOptions{BundleID: "fleet-agent-here", Namespace: "agents", SetID: "default-fleet-agent-here", Hash: setHash,
		AgentNamespace: "cattle-fleet-system", Manifest: "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: agent\n"}
	dying := cluster.ReleaseOptions{BundleID: "dying", Namespace: "dying", SetID: "default-dying", Hash: setHash,
		AgentNamespace: "cattle-fleet-system", Manifest: "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: dying\n  finalizers: [example.com/stays]\n"}
	for _, o := range []cluster.ReleaseOptions{agent, dying} {
		f.InstallRelease(t, o)
	}
	leaves := &corev1.ConfigMap{}
	f.get(t, leaves, "dying", "dying")
	if err := f.Client().Delete(t.Context(), leaves); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		freed := leaves.DeepCopy()
		freed.Finalizers = nil
		if err := f.Client().Patch(context.WithoutCancel(t.Context()), freed, client.MergeFrom(leaves)); err != nil {
			t.Error(err)
		}
		for _, o := range []cluster.ReleaseOptions{agent, dying} {
			if err := f.Uninstall(o); err != nil {
				t.Error(err)
			}
		}
	})
	if r := f.call(t, "test"); r.status != 0 || !strings.Contains(r.said(), "configmap shop/settings, of bundle guestbook") {
		t.Errorf("with nothing named: status %d:\n%s%s", r.status, r.out, r.errOut)
	}
	a.answer(pass)
	for object, want := range map[string]string{
		"cm/agents/agent": "only bundle fleet-agent-here desires the object, Fleet's agent itself",
		"cm/dying/dying":  "testing with configmap dying/dying: it is being deleted, and the webhook leaves such objects alone",
	} {
		if r := f.call(t, "test", object); r.status != 3 || !strings.Contains(r.said(), "Result: no object to test with") || !strings.Contains(r.said(), want) {
			t.Errorf("%s: status %d, want 3, and %q:\n%s%s", object, r.status, want, r.out, r.errOut)
		}
	}
}

// TestTestGuardSilent holds that a guard which need not speak is no fault, and one that is gone is.
func TestTestGuardSilent(t *testing.T) {
	f := onCluster(t)
	a := f.answering(t, "mute")
	a.guard.answer(pass)
	says := func(kubeconfig string, status int, want string) {
		t.Helper()
		if r := f.as(t, kubeconfig, "test", "cm/settings", "-n", "shop"); r.status != status || !strings.Contains(r.said(), want) {
			t.Errorf("status %d, want %d, and %q:\n%s%s", r.status, status, want, r.out, r.errOut)
		}
	}
	agent := f.granted(t, "system:serviceaccount:cattle-fleet-system:fleet-agent", "",
		rbacv1.PolicyRule{APIGroups: []string{"*"}, Resources: []string{"*"}, Verbs: []string{"*"}})
	poll.True(t, "it works for the agent", func() bool { return f.as(t, agent, "test", "cm/settings", "-n", "shop").status == 0 })
	says(agent, 0, "Guard: not known: it passes system:serviceaccount:cattle-fleet-system:fleet-agent, as which Fleet deploys the object")
	says(f.kubeconfig, 1, "Result: the stamp answers, the guard does not")

	f.patch(t, &corev1.Namespace{}, "", "shop", `{"metadata":{"labels":{"fleetdoctor.io/guard":"off"}}}`)
	t.Cleanup(func() {
		f.patchAfter(t, &corev1.Namespace{}, "shop", `{"metadata":{"labels":{"fleetdoctor.io/guard":null}}}`)
	})
	says(f.kubeconfig, 0, "Guard: off for this namespace Result: works")
	f.patch(t, &corev1.Namespace{}, "", "shop", `{"metadata":{"labels":{"fleetdoctor.io/guard":null}}}`)

	gone := &admissionregistrationv1.ValidatingWebhookConfiguration{}
	gone.Name = install.Name
	if err := f.Client().Delete(t.Context(), gone); err != nil {
		t.Fatal(err)
	}
	says(f.kubeconfig, 1, "Guard: not called Result: the stamp answers, the guard does not - no webhook configuration with the label app.kubernetes.io/name=fleetdoctor-webhook holds guard.fleetdoctor.io")
}

// TestTestGuardOffByDefault holds that an installation without a guard works.
func TestTestGuardOffByDefault(t *testing.T) {
	f := onCluster(t)
	f.installed(t, "unguarded", "--guard-default=off")
	a := newAdmission(t)
	a.answer(restamp)
	f.point(t, a.URL, a.ca())
	poll.True(t, "it works without a guard", func() bool {
		r := f.call(t, "test")
		return r.status == 0 && strings.Contains(r.said(), "Guard: off by default Result: works")
	})
}
