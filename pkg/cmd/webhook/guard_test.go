// SPDX-License-Identifier: Apache-2.0

package webhook_test

import (
	"context"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/install"
	"github.com/fleetdoctor/kubectl-fleetdoctor/test/cluster"
	"github.com/fleetdoctor/kubectl-fleetdoctor/webhook/installation"
)

// TestGuardOnly checks that the webhook does not count as working if only the validating handler answers.
func TestGuardOnly(t *testing.T) {
	f := onCluster(t)
	stamp := f.answering(t, "guard-only")
	guard := stamp.guard
	stamp.answer(pass)
	guard.answer(deny)
	f.until(t, "the validating handler denies", func(o outcome) bool { return o.remove == installation.Denied })
	guarding := func(*admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
		return &admissionv1.AdmissionResponse{Allowed: true, Warnings: []string{"fleetdoctor/Stripped: any text"}}
	}
	for _, tc := range []struct {
		name         string
		stamp, guard answer
		want         outcome
	}{
		{"the validating handler denies", pass, deny, outcome{install.Wrong, installation.ValidatingOnly,
			installation.NotAnswered, installation.Denied}},
		{"the validating handler warns", pass, guarding, outcome{install.Wrong, installation.ValidatingOnly,
			installation.NotAnswered, installation.Warned}},
		{"both handlers warn", warn, guarding, outcome{install.OK, installation.Works, installation.Warned,
			installation.Warned}},
		{"the mutating handler warns, and the validating handler denies", warn, deny, outcome{install.OK,
			installation.Works, installation.Warned, installation.Denied}},
		{"the mutating handler denies", deny, guarding, outcome{install.OK, installation.Works, installation.Denied,
			installation.Warned}},
		{"another webhook warns", pass, func(*admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
			return &admissionv1.AdmissionResponse{Allowed: true,
				Warnings: []string{"policy: configmap shop/settings lacks a label"}}
		}, outcome{install.Wrong, installation.NotCalled, installation.NotAnswered, installation.NotAnswered}},
		{"the validating handler denies a deletion", restore,
			func(r *admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
				if r.Operation != admissionv1.Delete {
					return pass(r)
				}
				return deny(r)
			}, outcome{install.OK, installation.Works, installation.Restored, installation.Denied}},
		{"the validating handler does not answer", restore, pass, outcome{install.Wrong, installation.MutatingOnly,
			installation.Restored, installation.NotAnswered}},
		{"the validating handler does not answer, and the mutating handler warns", warn, pass,
			outcome{install.OK, installation.Works, installation.Warned, installation.NotAnswered}},
	} {
		stamp.answer(tc.stamp)
		guard.answer(tc.guard)
		f.expect(t, tc.name, f.kubeconfig, tc.want)
	}
}

// TestIgnored checks that objects that the webhook ignores are not used for the test.
func TestIgnored(t *testing.T) {
	f := onCluster(t)
	// The API server lists the records of these releases before those of namespace shop.
	agent := cluster.ReleaseOptions{BundleID: "fleet-agent-here", Namespace: "agents",
		SetID: "default-fleet-agent-here", Hash: setHash,
		AgentNamespace: "cattle-fleet-system", Manifest: "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: agent\n"}
	deleted := cluster.ReleaseOptions{BundleID: "deleted", Namespace: "deleted", SetID: "default-deleted",
		Hash:           setHash,
		AgentNamespace: "cattle-fleet-system",
		Manifest: "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: deleted\n  finalizers: " +
			"[example.com/test]\n"}
	bare := cluster.ReleaseOptions{BundleID: "bare", Namespace: "bare", SetID: "default-bare", Hash: setHash,
		AgentNamespace: "cattle-fleet-system",
		Manifest:       "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: bare\n"}
	for _, o := range []cluster.ReleaseOptions{agent, deleted, bare} {
		f.InstallRelease(t, o)
	}
	f.patch(t, &corev1.ConfigMap{}, "bare", "bare", `{"metadata":{"labels":{"objectset.rio.cattle.io/hash":null}}}`)
	object := &corev1.ConfigMap{}
	f.get(t, object, "deleted", "deleted")
	if err := f.Client().Delete(t.Context(), object); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		freed := object.DeepCopy()
		freed.Finalizers = nil
		if err := f.Client().Patch(context.WithoutCancel(t.Context()), freed, client.MergeFrom(object)); err != nil {
			t.Error(err)
		}
		for _, o := range []cluster.ReleaseOptions{agent, deleted, bare} {
			if err := f.Uninstall(o); err != nil {
				t.Error(err)
			}
		}
	})
	f.answering(t, "ignored")
	d := f.expect(t, "with another object", f.kubeconfig, outcome{install.OK, installation.Works, installation.Restored,
		installation.Warned})
	if d.Strip.Object.Key().String() != "configmap shop/settings" {
		t.Errorf("it tested with %s", d.Strip.Object.Key())
	}
	f.ignoreShop(t)
	f.expect(t, "without another object", f.kubeconfig, outcome{install.Note, installation.NoObject, "", ""})
}

// TestGuardSilent checks that a silent validating handler is a problem unless it is switched off.
func TestGuardSilent(t *testing.T) {
	f := onCluster(t)
	a := f.answering(t, "silent")
	a.guard.answer(pass)
	silent := outcome{install.Wrong, installation.MutatingOnly, installation.Restored, installation.NotAnswered}
	works := func(v installation.Answer) outcome {
		return outcome{install.OK, installation.Works, installation.Restored, v}
	}
	f.expect(t, "it passes everything", f.kubeconfig, silent)

	f.patch(t, &corev1.Namespace{}, "", "shop", `{"metadata":{"labels":{"fleetdoctor.io/guard":"off"}}}`)
	t.Cleanup(func() {
		f.patchAfter(t, &corev1.Namespace{}, "shop", `{"metadata":{"labels":{"fleetdoctor.io/guard":null}}}`)
	})
	f.expect(t, "switched off by a label", f.kubeconfig, works(installation.Off))
	f.patch(t, &corev1.Namespace{}, "", "shop", `{"metadata":{"labels":{"fleetdoctor.io/guard":null}}}`)

	gone := &admissionregistrationv1.ValidatingWebhookConfiguration{}
	gone.Name = installation.Name
	if err := f.Client().Delete(t.Context(), gone); err != nil {
		t.Fatal(err)
	}
	f.expect(t, "without its configuration", f.kubeconfig, silent)
}

// lost returns an object that a release desires and that does not exist.
func (f *fixture) lost(t *testing.T) *corev1.ConfigMap {
	t.Helper()
	o := cluster.ReleaseOptions{BundleID: "absent", Namespace: "absent", SetID: "default-absent", Hash: setHash,
		AgentNamespace: "cattle-fleet-system",
		Manifest:       "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: lost\n  labels: {a: b}\n"}
	f.InstallRelease(t, o)
	t.Cleanup(func() {
		if err := f.Uninstall(o); err != nil {
			t.Error(err)
		}
	})
	lost := &corev1.ConfigMap{}
	lost.Namespace, lost.Name = "absent", "lost"
	if err := f.Client().Delete(t.Context(), lost); err != nil {
		t.Fatal(err)
	}
	return lost
}

// TestCreate checks that a desired object that does not exist is created in a dry run.
func TestCreate(t *testing.T) {
	f := onCluster(t)
	a := f.answering(t, "creating")
	lost := f.lost(t)
	for name, tc := range map[string]struct {
		answer answer
		want   installation.Answer
	}{"stamped": {restore, installation.Restored}, "denied": {deny, installation.Denied}, "passed": {pass,
		installation.NotAnswered}} {
		a.answer(tc.answer)
		d := f.test(t, f.kubeconfig)
		if d.Create == nil || d.Create.Answer != tc.want || d.Create.Object.Key().String() != "configmap absent/lost" {
			t.Errorf("%s: %+v", name, d.Create)
		}
		if d.Strip.Object.Key().String() != "configmap shop/settings" {
			t.Errorf("%s: the other requests were about %s", name, d.Strip.Object.Key())
		}
	}
	f.absent(t, lost, "absent", "lost")
}

// TestGuardOffByDefault checks that an installation with --guard-default=off works.
func TestGuardOffByDefault(t *testing.T) {
	f := onCluster(t)
	f.installed(t, "unguarded", "--guard-default=off")
	a := newAdmission(t)
	a.answer(restore)
	f.setURL(t, a.URL, a.ca())
	f.until(t, "the test succeeds without the validating handler", func(o outcome) bool {
		return o.state == install.OK && o.result == installation.Works && o.remove == installation.Off
	})
}
