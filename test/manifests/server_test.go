// SPDX-License-Identifier: Apache-2.0

package manifests

import (
	"context"
	"encoding/pem"
	"errors"
	"slices"
	"sync"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// warnings collects the warnings of the server.
type warnings struct {
	mu    sync.Mutex
	texts []string
}

// HandleWarningHeaderWithContext implements rest.WarningHandlerWithContext.
func (w *warnings) HandleWarningHeaderWithContext(_ context.Context, _ int, _, text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.texts = append(w.texts, text)
}

func (w *warnings) take() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	texts := w.texts
	w.texts = nil
	return texts
}

// createNamespaces creates the webhook's namespace as the program defines it, and the release namespaces
// of the variants.
func createNamespaces(t *testing.T) {
	t.Helper()
	for _, name := range []string{"guestbook", "shop"} {
		shared.Namespace(t, name)
	}
	for _, obj := range rendered(t, "default") {
		if obj.GetKind() == "Namespace" {
			shared.Apply(t, "test", obj)
		}
	}
}

// TestServerAccepts checks that a server accepts every object of every variant without unknown fields and without
// warnings, for example about pod security.
func TestServerAccepts(t *testing.T) {
	createNamespaces(t)
	collected := &warnings{}
	config := shared.Config()
	config.WarningHandlerWithContext = collected
	c, err := client.New(config, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, variant := range variantNames() {
		for _, obj := range rendered(t, variant) {
			if err := c.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(obj.DeepCopy()),
				client.FieldOwner("test"), client.DryRunAll); err != nil {
				t.Errorf("variant %s: %s %s: %v", variant, obj.GetKind(), obj.GetName(), err)
			}
			if warned := collected.take(); len(warned) > 0 {
				t.Errorf("variant %s: %s %s: warnings: %q", variant, obj.GetKind(), obj.GetName(), warned)
			}
		}
	}
}

// TestPodsAreRestricted checks that the namespace enforces the restricted pod security standard, and that the pods
// meet it.
func TestPodsAreRestricted(t *testing.T) {
	createNamespaces(t)
	tests := []struct {
		name    string
		change  func(*corev1.PodSpec)
		refused bool
	}{
		{name: "unchanged", change: func(*corev1.PodSpec) {}},
		{name: "as root", change: func(s *corev1.PodSpec) { s.SecurityContext.RunAsNonRoot = nil }, refused: true},
		{name: "without a profile", change: func(s *corev1.PodSpec) {
			s.SecurityContext.SeccompProfile = nil
		}, refused: true},
		{name: "with capabilities", change: func(s *corev1.PodSpec) {
			s.Containers[0].SecurityContext.Capabilities = nil
		}, refused: true},
	}
	for _, variant := range variantNames() {
		template := pick[appsv1.Deployment](t, rendered(t, variant), "Deployment", "fleetdoctor-webhook").Spec.Template
		if root := template.Spec.Containers[0].SecurityContext.ReadOnlyRootFilesystem; root == nil || !*root {
			t.Errorf("variant %s: the root file system is writable", variant) // the standard permits this
		}
		for _, tt := range tests {
			pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: systemNamespace, Name: "webhook",
				Labels: template.Labels}, Spec: *template.Spec.DeepCopy()}
			tt.change(&pod.Spec)
			err := shared.Client().Create(t.Context(), pod, client.DryRunAll)
			if refused := apierrors.IsForbidden(err); refused != tt.refused || err != nil && !refused {
				t.Errorf("variant %s, %s: %v, want refused %t", variant, tt.name, err, tt.refused)
			}
		}
	}
}

// TestApplyAgain checks that a repeated installation keeps the certificate and the caBundles.
func TestApplyAgain(t *testing.T) {
	createNamespaces(t)
	objs := slices.DeleteFunc(rendered(t, "exact"), isNot("Secret", "MutatingWebhookConfiguration",
		"ValidatingWebhookConfiguration"))
	for _, obj := range objs {
		shared.Apply(t, "installer", obj)
		removeAfter(t, obj)
	}
	secret := &corev1.Secret{}
	mutating, validating := &admissionv1.MutatingWebhookConfiguration{}, &admissionv1.ValidatingWebhookConfiguration{}
	read := func() {
		t.Helper()
		err := errors.Join(
			shared.Client().Get(t.Context(), client.ObjectKey{Namespace: systemNamespace,
				Name: "fleetdoctor-webhook-cert"}, secret),
			shared.Client().Get(t.Context(), client.ObjectKey{Name: "fleetdoctor-webhook"}, mutating),
			shared.Client().Get(t.Context(), client.ObjectKey{Name: "fleetdoctor-webhook"}, validating))
		if err != nil {
			t.Fatal(err)
		}
	}
	read()
	authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: newWitness(t).server.Certificate().Raw})
	secret.Data = map[string][]byte{"ca.crt": authority}
	mutating.Webhooks[0].ClientConfig.CABundle = authority
	mutating.Webhooks[1].ClientConfig.CABundle = authority
	validating.Webhooks[0].ClientConfig.CABundle = authority
	for _, obj := range []client.Object{secret, mutating, validating} {
		if err := shared.Client().Update(t.Context(), obj, client.FieldOwner("cert-controller")); err != nil {
			t.Fatal(err)
		}
	}
	for _, obj := range objs {
		shared.Apply(t, "installer", obj)
	}
	read()
	if len(secret.Data) != 1 {
		t.Errorf("the Secret has %d keys after it was applied again, want 1", len(secret.Data))
	}
	for _, bundle := range [][]byte{mutating.Webhooks[0].ClientConfig.CABundle,
		mutating.Webhooks[1].ClientConfig.CABundle, validating.Webhooks[0].ClientConfig.CABundle} {
		if !slices.Equal(bundle, authority) {
			t.Error("a webhook lost its caBundle when it was applied again")
		}
	}
}
