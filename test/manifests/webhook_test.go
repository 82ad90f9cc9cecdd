// SPDX-License-Identifier: Apache-2.0

package manifests

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	admissionreviewv1 "k8s.io/api/admission/v1"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// recordingWebhook replaces the webhook: it allows everything and records which webhooks are called.
type recordingWebhook struct {
	t      *testing.T
	server *httptest.Server

	mu    sync.Mutex // guards the fields below
	asked []string
}

func newWitness(t *testing.T) *recordingWebhook {
	t.Helper()
	w := &recordingWebhook{t: t}
	w.server = httptest.NewTLSServer(http.HandlerFunc(w.serve))
	t.Cleanup(w.server.Close)
	return w
}

func (w *recordingWebhook) serve(rw http.ResponseWriter, r *http.Request) {
	review := &admissionreviewv1.AdmissionReview{}
	if err := json.NewDecoder(r.Body).Decode(review); err != nil || review.Request == nil {
		http.Error(rw, "no review", http.StatusBadRequest)
		return
	}
	w.mu.Lock()
	w.asked = append(w.asked, strings.TrimPrefix(r.URL.Path, "/"))
	w.mu.Unlock()
	review.Response = &admissionreviewv1.AdmissionResponse{UID: review.Request.UID, Allowed: true}
	review.Request = nil
	rw.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(rw).Encode(review); err != nil {
		w.t.Errorf("answering: %v", err)
	}
}

// take returns the webhooks that were called since its last call, in alphabetical order. The server calls webhooks
// before it answers a request.
func (w *recordingWebhook) take() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	asked := w.asked
	w.asked = nil
	slices.Sort(asked)
	return asked
}

// register applies both configurations of a variant with its own address, and with a timeout that a slow machine
// meets: a late call would be counted with the next request.
func (w *recordingWebhook) register(variant string) {
	w.t.Helper()
	authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: w.server.Certificate().Raw})
	redirect := func(to *admissionv1.WebhookClientConfig) {
		*to = admissionv1.WebhookClientConfig{URL: ptr.To(w.server.URL + *to.Service.Path), CABundle: authority}
	}
	objs := rendered(w.t, variant)
	mutating := pick[admissionv1.MutatingWebhookConfiguration](w.t, objs, "MutatingWebhookConfiguration",
		"fleetdoctor-webhook")
	for i := range mutating.Webhooks {
		redirect(&mutating.Webhooks[i].ClientConfig)
		mutating.Webhooks[i].TimeoutSeconds = ptr.To[int32](30)
	}
	validating := pick[admissionv1.ValidatingWebhookConfiguration](w.t, objs, "ValidatingWebhookConfiguration",
		"fleetdoctor-webhook")
	for i := range validating.Webhooks {
		redirect(&validating.Webhooks[i].ClientConfig)
		validating.Webhooks[i].TimeoutSeconds = ptr.To[int32](30)
	}
	for _, configuration := range []client.Object{mutating, validating} {
		shared.Apply(w.t, "test", configuration)
		removeAfter(w.t, configuration)
	}
}

// removeAfter deletes an object at the end of the test.
func removeAfter(t *testing.T, obj client.Object) {
	t.Helper()
	object, ok := obj.DeepCopyObject().(client.Object)
	if !ok {
		t.Fatalf("%T is not an object", obj)
	}
	ctx := context.WithoutCancel(t.Context())
	t.Cleanup(func() {
		if err := client.IgnoreNotFound(shared.Client().Delete(ctx, object)); err != nil {
			t.Error(err)
		}
	})
}

// object returns a valid object of a kind that the table uses.
func object(t *testing.T, kind, namespace, name string) *unstructured.Unstructured {
	t.Helper()
	apiVersion, content := "v1", map[string]any{}
	pod := map[string]any{"containers": []any{map[string]any{"name": "app", "image": "app"}}}
	switch kind {
	case "ConfigMap", "Namespace":
	case "Secret":
		content["type"] = "Opaque"
	case "Pod":
		content["spec"] = pod
	case "Deployment":
		apiVersion = "apps/v1"
		labels := map[string]any{"app": name}
		content["spec"] = map[string]any{"selector": map[string]any{"matchLabels": labels},
			"template": map[string]any{"metadata": map[string]any{"labels": labels}, "spec": pod}}
	case "Lease":
		apiVersion = "coordination.k8s.io/v1"
	case "Event":
		content["involvedObject"] = map[string]any{"kind": "ConfigMap", "namespace": namespace, "name": "any"}
	case "NewEvent":
		kind, apiVersion = "Event", "events.k8s.io/v1"
		content = map[string]any{"eventTime": "2026-01-02T03:04:05.000000Z", "reportingController": "test",
			"reportingInstance": "test",
			"action":            "Testing", "reason": "Test", "type": "Normal",
			"regarding": map[string]any{"kind": "ConfigMap", "namespace": namespace, "name": "any"}}
	case "ClusterRole":
		apiVersion = "rbac.authorization.k8s.io/v1"
	case "Issuer":
		apiVersion = "cert-manager.io/v1"
		content["spec"] = map[string]any{"selfSigned": map[string]any{}}
	case "SubjectAccessReview", "LocalSubjectAccessReview":
		apiVersion, name = "authorization.k8s.io/v1", ""
		content["spec"] = map[string]any{"user": "jane", "resourceAttributes": map[string]any{"verb": "get",
			"resource": "pods", "namespace": namespace}}
	case "TokenReview":
		apiVersion, name = "authentication.k8s.io/v1", ""
		content["spec"] = map[string]any{"token": "invented"}
	default:
		t.Fatalf("no example of kind %s", kind)
	}
	obj := &unstructured.Unstructured{Object: content}
	obj.SetAPIVersion(apiVersion)
	obj.SetKind(kind)
	obj.SetNamespace(namespace)
	obj.SetName(name)
	return obj
}
