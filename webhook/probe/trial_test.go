// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/go-logr/logr"
	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	ctrladmission "sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/test/record"
	"github.com/fleetdoctor/kubectl-fleetdoctor/webhook/admission"
	"github.com/fleetdoctor/kubectl-fleetdoctor/webhook/index"
)

// TestRefusal holds whom a refusal is put down to, by the API server's own texts.
func TestRefusal(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]Answer{
		`admission webhook "stamp.fleetdoctor.io" denied the request: configmap shop/settings is owned by bundle guestbook`:               Denied,
		`admission webhook "guard.fleetdoctor.io" denied the request without explanation`:                                                 Guarded,
		`admission webhook "stamp-exact.fleetdoctor.io" denied the request: configmap shop/settings is owned by bundle guestbook`:         Guarded,
		`Internal error occurred: failed calling webhook "stamp-exact.fleetdoctor.io": failed to call webhook: context deadline exceeded`: Broken,
		`admission webhook "policy.example.com" denied the request: label missing`:                                                        Refused,
		`Internal error occurred: failed calling webhook "policy.example.com": failed to call webhook: connection refused`:                Refused,
		`configmaps "settings" is forbidden: User "somebody" cannot patch resource "configmaps" in API group "" in the namespace "shop"`:  Refused,
	} {
		if got := refusal(errors.New(text)); got != want {
			t.Errorf("%s:\n%s, want %s", text, got, want)
		}
	}
}

// TestJudge holds what each answer comes to, of an object that a release desires.
func TestJudge(t *testing.T) {
	t.Parallel()
	for answer, want := range map[Answer]Verdict{Stamped: Works, Denied: Works, Warned: Works, Guarded: GuardOnly, Unmarked: NotCalled, Broken: NotCalled, Refused: CannotSay} {
		r := &Result{}
		if r.judge(&Trial{Answer: answer}); r.Verdict != want {
			t.Errorf("%s: %s, want %s", answer, r.Verdict, want)
		}
		if known := r.Reasons == nil; known == (answer == Refused) {
			t.Errorf("%s: reasons %q", answer, r.Reasons)
		}
	}
}

type namespaces struct{}

func (namespaces) Labels(string) map[string]string { return nil }

// TestSpoke holds that the webhooks are told apart by what they really say of a request that strips the mark.
func TestSpoke(t *testing.T) {
	t.Parallel()
	r := index.New()
	for bundle, namespace := range map[string]string{"one": "web", "two": "web", "three": "web", "other": "elsewhere"} {
		o := record.ConfigMaps(namespace, 1)
		if bundle == "two" || bundle == "three" {
			o[0].Name = "contested"
		}
		e, err := index.Read(record.Record{Bundle: bundle, Namespace: namespace, Objects: o}.Value())
		if err != nil {
			t.Fatal(err)
		}
		r.Set(e)
	}
	o := admission.Options{Index: r, Namespaces: namespaces{}, Ready: func() bool { return true }, Live: func(string) bool { return true }, GuardDefault: admission.GuardWarn,
		RateLimiter: admission.NewRateLimiter(time.Now), Observe: func(admission.Outcome) {}, Log: logr.Discard()}
	hash := func(bundle string) string { return fleet.Hash(fleet.SetID(bundle, "")) }
	for _, tc := range []struct {
		name, object string
		handler      ctrladmission.Handler
		hash         string // of the stored object
		annotations  map[string]string
		stamp, guard bool
	}{
		{"the stamp puts the mark back, and says the guard's too", "object-0", admission.Mutating(o), hash("one"), nil, true, true},
		{"the guard", "object-0", admission.Validating(o), hash("one"), nil, false, true},
		{"the stamp finds another owner", "object-0", admission.Mutating(o), hash("other"), map[string]string{fleet.IDAnnotation: fleet.SetID("other", "")}, true, false},
		{"the stamp finds several releases", "contested", admission.Mutating(o), "0a", nil, true, false},
		{"the guard has nothing to say", "contested", admission.Validating(o), "0a", nil, false, false},
	} {
		meta := func(labels map[string]string) runtime.RawExtension {
			raw, err := json.Marshal(map[string]any{"metadata": map[string]any{"namespace": "web", "name": tc.object, "labels": labels, "annotations": tc.annotations}})
			if err != nil {
				t.Fatal(err)
			}
			return runtime.RawExtension{Raw: raw}
		}
		response := tc.handler.Handle(t.Context(), ctrladmission.Request{AdmissionRequest: admissionv1.AdmissionRequest{Operation: admissionv1.Update, DryRun: new(true),
			Kind: metav1.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}, Namespace: "web", Name: tc.object,
			OldObject: meta(map[string]string{Mark: tc.hash}), Object: meta(nil)}})
		key := object.Key{Kind: "ConfigMap", Namespace: "web", Name: tc.object}
		if stamp, guard := spoke(response.Warnings, key); stamp != tc.stamp || guard != tc.guard {
			t.Errorf("%s: stamp %t, guard %t, of %q", tc.name, stamp, guard, response.Warnings)
		}
		if stamp, guard := spoke(response.Warnings, object.Key{Kind: "ConfigMap", Namespace: "web", Name: "another"}); stamp || guard {
			t.Errorf("%s: %q is taken to be of another object", tc.name, response.Warnings)
		}
	}
	theirs := []string{"policy.example.com: configmap web/object-0 lacks a label", "configmap web/object-0 is too large"}
	if stamp, guard := spoke(theirs, object.Key{Kind: "ConfigMap", Namespace: "web", Name: "object-0"}); stamp || guard {
		t.Errorf("%q are taken for ours", theirs)
	}
}
