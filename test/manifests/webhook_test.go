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

// witness stands where the webhook would: it admits everything as it is, and remembers who was asked.
type witness struct {
	t      *testing.T
	server *httptest.Server

	mu    sync.Mutex // guards what follows
	asked []string
}

func newWitness(t *testing.T) *witness {
	t.Helper()
	w := &witness{t: t}
	w.server = httptest.NewTLSServer(http.HandlerFunc(w.serve))
	t.Cleanup(w.server.Close)
	return w
}

func (w *witness) serve(rw http.ResponseWriter, r *http.Request) {
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

// take returns who was asked since it was last called, in alphabetical order. The server asks before it answers a request.
func (w *witness) take() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	asked := w.asked
	w.asked = nil
	slices.Sort(asked)
	return asked
}

// register applies both configurations of an overlay as they are, but that they lead here, and that a call is not given up by the time the
// machine has stood still for a moment: then it would be counted with the next request.
func (w *witness) register(overlay string) {
	w.t.Helper()
	authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: w.server.Certificate().Raw})
	lead := func(to *admissionv1.WebhookClientConfig) {
		*to = admissionv1.WebhookClientConfig{URL: ptr.To(w.server.URL + *to.Service.Path), CABundle: authority}
	}
	objs := rendered(w.t, overlay)
	mutating := pick[admissionv1.MutatingWebhookConfiguration](w.t, objs, "MutatingWebhookConfiguration", "fleetdoctor-webhook")
	for i := range mutating.Webhooks {
		lead(&mutating.Webhooks[i].ClientConfig)
		mutating.Webhooks[i].TimeoutSeconds = ptr.To[int32](30)
	}
	validating := pick[admissionv1.ValidatingWebhookConfiguration](w.t, objs, "ValidatingWebhookConfiguration", "fleetdoctor-webhook")
	for i := range validating.Webhooks {
		lead(&validating.Webhooks[i].ClientConfig)
		validating.Webhooks[i].TimeoutSeconds = ptr.To[int32](30)
	}
	for _, configuration := range []client.Object{mutating, validating} {
		shared.Apply(w.t, "test", configuration)
		removeAfter(w.t, configuration)
	}
}

// removeAfter deletes an object when the test has ended.
func removeAfter(t *testing.T, obj client.Object) {
	t.Helper()
	given, ok := obj.DeepCopyObject().(client.Object)
	if !ok {
		t.Fatalf("%T is no object", obj)
	}
	ctx := context.WithoutCancel(t.Context())
	t.Cleanup(func() {
		if err := client.IgnoreNotFound(shared.Client().Delete(ctx, given)); err != nil {
			t.Error(err)
		}
	})
}

// object returns an object that a server takes, of a kind of which the test needs some.
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
		content = map[string]any{"eventTime": "2026-01-02T03:04:05.000000Z", "reportingController": "test", "reportingInstance": "test",
			"action": "Testing", "reason": "Test", "type": "Normal",
			"regarding": map[string]any{"kind": "ConfigMap", "namespace": namespace, "name": "any"}}
	case "ClusterRole":
		apiVersion = "rbac.authorization.k8s.io/v1"
	case "Issuer":
		apiVersion = "cert-manager.io/v1"
		content["spec"] = map[string]any{"selfSigned": map[string]any{}}
	case "SubjectAccessReview", "LocalSubjectAccessReview":
		apiVersion, name = "authorization.k8s.io/v1", ""
		content["spec"] = map[string]any{"user": "jane", "resourceAttributes": map[string]any{"verb": "get", "resource": "pods", "namespace": namespace}}
	case "TokenReview":
		apiVersion, name = "authentication.k8s.io/v1", ""
		content["spec"] = map[string]any{"token": "invented"}
	default:
		t.Fatalf("there is no example of a %s", kind)
	}
	obj := &unstructured.Unstructured{Object: content}
	obj.SetAPIVersion(apiVersion)
	obj.SetKind(kind)
	obj.SetNamespace(namespace)
	obj.SetName(name)
	return obj
}
