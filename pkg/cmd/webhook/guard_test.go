// SPDX-License-Identifier: Apache-2.0

package webhook_test

import (
	"context"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/install"
	"github.com/fleetdoctor/kubectl-fleetdoctor/test/cluster"
	"github.com/fleetdoctor/kubectl-fleetdoctor/test/poll"
	"github.com/fleetdoctor/kubectl-fleetdoctor/webhook/installation"
)

// TestGuardOnly checks that the webhook does not count as working if only the validating handler answers.
func TestGuardOnly(t *testing.T) {
	f := onCluster(t)
	stamp := f.answering(t, "guard-only")
	guard := stamp.guard
	stamp.answer(pass)
	guard.answer(deny)
	silent := outcome{install.Wrong, installation.NotCalled, installation.NotAnswered}
	works := func(a installation.Answer) outcome { return outcome{install.OK, installation.Works, a} }
	poll.True(t, "the validating handler denies", func() bool {
		d := f.test(t, f.kubeconfig)
		return d.Strip != nil && strings.Contains(d.Strip.Message, `webhook "guard.fleetdoctor.io" denied the request`)
	})
	warning := func(text string) answer {
		return func(*admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
			return &admissionv1.AdmissionResponse{Allowed: true, Warnings: []string{text}}
		}
	}
	guarding := warning("fleetdoctor/Stripped: any text")
	for _, tc := range []struct {
		name         string
		stamp, guard answer
		want         outcome
	}{
		{"the validating handler denies", pass, deny, silent},
		{"the validating handler warns", pass, guarding, silent},
		{"both handlers warn", warn, guarding, works(installation.Warned)},
		{"the mutating handler warns, and the validating handler denies", warn, deny, works(installation.Warned)},
		{"the mutating handler denies", deny, guarding, works(installation.Denied)},
		{"another webhook warns", pass, warning("policy: configmap shop/settings lacks a label"), silent},
		{"the validating handler does not answer", restore, pass, works(installation.Restored)},
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
	d := f.expect(t, "with another object", f.kubeconfig, outcome{install.OK, installation.Works,
		installation.Restored})
	if d.Strip.Object.Key().String() != "configmap shop/settings" {
		t.Errorf("it tested with %s", d.Strip.Object.Key())
	}
	f.ignoreShop(t)
	f.expect(t, "without another object", f.kubeconfig, outcome{install.Note, installation.NoObject, ""})
}
