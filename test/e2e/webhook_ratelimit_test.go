// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/test/poll"
)

// removeHash is a webhook of another program that removes the hash label from every object.
func removeHash(w http.ResponseWriter, r *http.Request) {
	review := &admissionv1.AdmissionReview{}
	if err := json.NewDecoder(r.Body).Decode(review); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	response := &admissionv1.AdmissionResponse{UID: review.Request.UID, Allowed: true}
	if strings.Contains(string(review.Request.Object.Raw), `"`+fleet.HashLabel+`"`) {
		kind := admissionv1.PatchTypeJSONPatch
		response.PatchType = &kind
		response.Patch = []byte(`[{"op":"remove","path":"/metadata/labels/` + strings.ReplaceAll(fleet.HashLabel, "/",
			"~1") + `"}]`)
	}
	review.Request, review.Response = nil, response
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(review); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
	}
}

// serveRemovingWebhook has the server call removeHash after our webhook, with reinvocation.
func (f *fleetServer) serveRemovingWebhook() {
	f.t.Helper()
	server := httptest.NewTLSServer(http.HandlerFunc(removeHash))
	f.t.Cleanup(server.Close)
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	ignore, again, effects := admissionregistrationv1.Ignore, admissionregistrationv1.IfNeededReinvocationPolicy,
		admissionregistrationv1.SideEffectClassNone
	configuration := &admissionregistrationv1.MutatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: "zz-remove-hash"}, // the server calls webhooks in the order of their names
		Webhooks: []admissionregistrationv1.MutatingWebhook{{
			Name: "remove-hash.example.com", ClientConfig: admissionregistrationv1.WebhookClientConfig{URL: &server.URL,
				CABundle: ca},
			Rules: []admissionregistrationv1.RuleWithOperations{{
				Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Update},
				Rule: admissionregistrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"},
					Resources: []string{"configmaps"}}}},
			ObjectSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"remove-hash": "true"}},
			FailurePolicy:  &ignore, ReinvocationPolicy: &again, SideEffects: &effects,
			AdmissionReviewVersions: []string{"v1"},
		}},
	}
	if err := f.Client().Create(f.t.Context(), configuration); err != nil {
		f.t.Fatal(err)
	}
	f.removeAtEnd(object("admissionregistration.k8s.io/v1", "MutatingWebhookConfiguration", "", "zz-remove-hash"))
}

// TestWebhookRateLimit has another webhook remove the hash label each time that our webhook adds it, while a
// client writes to the object without a pause. Our webhook stops to change that object, warns, and continues with
// all other objects.
func TestWebhookRateLimit(t *testing.T) {
	f := newFleet(t, shared)
	b := f.deploy("guestbook", guestbook)
	f.merge("admin", configMap("texts"), `{"metadata":{"labels":{"remove-hash":"true"}}}`)
	h := f.serveWebhook("default", "--kubeconfig", f.webhookAccount("default")) // the account may write the Event
	f.serveRemovingWebhook()
	admin, texts := f.clientAs(""), configMap("texts")
	n := 0
	write := func() string {
		n++
		admin.must("writing", admin.patch(texts, fmt.Sprintf(`{"data":{"n":"%d"}}`, n)))
		return admin.takeWarnings()
	}
	poll.Until(t, func() error {
		write()
		if _, there := f.get(texts).GetLabels()[fleet.HashLabel]; there {
			return errors.New("the other webhook is not called")
		}
		return nil
	})
	warnings := ""
	for start := n; !strings.Contains(warnings, "fleetdoctor/RateLimited") && n < start+500; {
		warnings = write()
	}
	expectContains(t, "the warning", warnings, "fleetdoctor/RateLimited: configmap apps/texts", "1h0m0s",
		"kubectl fleetdoctor owner")
	t.Logf("limited after %d writes, %d stamps", n, h.requestCount("stamp", "stamped",
		"Adopted")+h.requestCount("stamp", "stamped", "Restored"))
	stamped := h.requestCount("stamp", "stamped", "")
	for range 5 {
		expectContains(t, "the next warning", write(), "fleetdoctor/RateLimited")
	}
	if got := h.requestCount("stamp", "stamped", ""); got != stamped {
		t.Errorf("the object was stamped %d more times", got-stamped)
	}
	if got := h.gauge("brakes_total"); got != 1 {
		t.Errorf("%d rate limits are counted, want 1", got)
	}
	f.expectRateLimitEvent("texts")

	f.setOwnershipAsAdopt(b.helmOwnership(), configMap("settings"))
	f.merge("somebody", configMap("settings"), `{"data":{"touched":"yes"}}`)
	f.expectOwnership(b.ownership(), configMap("settings"))
	if got := f.audit("bundle/guestbook"); outcomeOf(got).Objects[textsKey] == "" {
		t.Errorf("the audit does not report the limited object: %v", outcomeOf(got))
	}
}

// expectRateLimitEvent checks that the object has exactly one Event of the rate limit. Others name the user.
func (f *fleetServer) expectRateLimitEvent(name string) {
	f.t.Helper()
	uid := f.get(configMap(name)).GetUID()
	poll.Until(f.t, func() error {
		list := &eventsv1.EventList{}
		if err := f.Client().List(f.t.Context(), list, client.InNamespace(apps)); err != nil {
			return err
		}
		var of []eventsv1.Event
		for _, e := range list.Items {
			if e.Regarding.UID == uid && e.Reason == "StampingPaused" {
				of = append(of, e)
			}
		}
		if len(of) != 1 || of[0].Type != "Warning" || !strings.Contains(of[0].Note, "is ignored for") {
			return fmt.Errorf("events of the object: %+v", list.Items)
		}
		for _, e := range list.Items {
			f.removeAtEnd(object("v1", "Event", apps, e.Name))
		}
		return nil
	})
}
