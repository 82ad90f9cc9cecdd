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

// stripper is another program's webhook, which takes the hash from what is labelled strip=me, whatever it is called for.
func stripper(w http.ResponseWriter, r *http.Request) {
	review := &admissionv1.AdmissionReview{}
	if err := json.NewDecoder(r.Body).Decode(review); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	response := &admissionv1.AdmissionResponse{UID: review.Request.UID, Allowed: true}
	if strings.Contains(string(review.Request.Object.Raw), `"`+fleet.HashLabel+`"`) {
		kind := admissionv1.PatchTypeJSONPatch
		response.PatchType = &kind
		response.Patch = []byte(`[{"op":"remove","path":"/metadata/labels/` + strings.ReplaceAll(fleet.HashLabel, "/", "~1") + `"}]`)
	}
	review.Request, review.Response = nil, response
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(review); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
	}
}

// serveStripper has the server call the stripper after the webhook, and again after that.
func (f *fleetServer) serveStripper() {
	f.t.Helper()
	server := httptest.NewTLSServer(http.HandlerFunc(stripper))
	f.t.Cleanup(server.Close)
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	ignore, again, effects := admissionregistrationv1.Ignore, admissionregistrationv1.IfNeededReinvocationPolicy, admissionregistrationv1.SideEffectClassNone
	configuration := &admissionregistrationv1.MutatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: "zz-stripper"}, // they are called by name
		Webhooks: []admissionregistrationv1.MutatingWebhook{{
			Name: "stripper.example.com", ClientConfig: admissionregistrationv1.WebhookClientConfig{URL: &server.URL, CABundle: ca},
			Rules: []admissionregistrationv1.RuleWithOperations{{
				Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Update},
				Rule:       admissionregistrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"configmaps"}}}},
			ObjectSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"strip": "me"}},
			FailurePolicy:  &ignore, ReinvocationPolicy: &again, SideEffects: &effects, AdmissionReviewVersions: []string{"v1"},
		}},
	}
	if err := f.Client().Create(f.t.Context(), configuration); err != nil {
		f.t.Fatal(err)
	}
	f.removeAtEnd(object("admissionregistration.k8s.io/v1", "MutatingWebhookConfiguration", "", "zz-stripper"))
}

// TestWebhookBrake has another webhook strip an object each time that it is stamped, while something writes to it without an end. The webhook
// lets go of that object, says so, and goes on with all others.
func TestWebhookBrake(t *testing.T) {
	f := newFleet(t, shared)
	b := f.deploy("guestbook", guestbook)
	f.merge("admin", configMap("texts"), `{"metadata":{"labels":{"strip":"me"}}}`)
	h := f.serveWebhook("default", "--kubeconfig", f.webhookAccount("default")) // which writes the Event
	f.serveStripper()
	admin, texts := f.person(""), configMap("texts")
	n := 0
	write := func() string {
		n++
		admin.must("writing", admin.patch(texts, fmt.Sprintf(`{"data":{"n":"%d"}}`, n)))
		return admin.told()
	}
	poll.Until(t, func() error {
		write()
		if _, there := f.get(texts).GetLabels()[fleet.HashLabel]; there {
			return errors.New("the stripper is not called")
		}
		return nil
	})
	told := ""
	for start := n; !strings.Contains(told, "fleetdoctor/RateLimited") && n < start+500; {
		told = write()
	}
	says(t, "the warning", told, "fleetdoctor/RateLimited: configmap apps/texts", "1h0m0s", "kubectl fleetdoctor owner")
	t.Logf("braked after %d writes, %d stamps", n, h.counted("stamp", "stamped", "Adopted")+h.counted("stamp", "stamped", "Restored"))
	stamped := h.counted("stamp", "stamped", "")
	for range 5 {
		says(t, "the next warning", write(), "fleetdoctor/RateLimited")
	}
	if got := h.counted("stamp", "stamped", ""); got != stamped {
		t.Errorf("it was stamped %d times more", got-stamped)
	}
	if got := h.gauge("brakes_total"); got != 1 {
		t.Errorf("%d brakes are counted", got)
	}
	f.expectPaused("texts")

	f.setMetadata(b.helmOnly(), configMap("settings"))
	f.merge("somebody", configMap("settings"), `{"data":{"touched":"yes"}}`)
	f.carries(b.stamps(), configMap("settings"))
	if got := f.audit("bundle/guestbook"); outcomeOf(got).Objects[textsKey] == "" {
		t.Errorf("the audit does not show what was left alone: %v", outcomeOf(got))
	}
}

// expectPaused holds that there is one Event, on the object.
func (f *fleetServer) expectPaused(name string) {
	f.t.Helper()
	uid := f.get(configMap(name)).GetUID()
	poll.Until(f.t, func() error {
		list := &eventsv1.EventList{}
		if err := f.Client().List(f.t.Context(), list, client.InNamespace(apps)); err != nil {
			return err
		}
		var of []eventsv1.Event
		for _, e := range list.Items {
			if e.Regarding.UID == uid {
				of = append(of, e)
			}
		}
		if len(of) != 1 || of[0].Reason != "StampingPaused" || of[0].Type != "Warning" || !strings.Contains(of[0].Note, "is ignored for") {
			return fmt.Errorf("events of the object: %+v", of)
		}
		f.removeAtEnd(object("v1", "Event", apps, of[0].Name))
		return nil
	})
}
