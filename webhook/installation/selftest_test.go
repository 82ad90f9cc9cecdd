// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"errors"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/install"
	"github.com/fleetdoctor/kubectl-fleetdoctor/webhook/admission"
)

// TestAnswerOf checks what the response shows of the mutating handler, with messages of an API server.
func TestAnswerOf(t *testing.T) {
	t.Parallel()
	stamped := &unstructured.Unstructured{}
	stamped.SetLabels(map[string]string{TestedLabel: "0a"})
	denies := func(webhook string) string {
		return `admission webhook "` + webhook +
			`" denied the request: configmap shop/settings is owned by bundle guestbook`
	}
	fails := func(webhook string) string {
		return `Internal error occurred: failed calling webhook "` + webhook +
			`": failed to call webhook: context deadline exceeded`
	}
	const forbidden = `configmaps "settings" is forbidden: User "somebody" cannot patch resource "configmaps"`
	restoredCode := []admission.Warning{{Code: "Restored"}}
	for _, tc := range []struct {
		name     string
		got      *unstructured.Unstructured
		message  string
		warnings []admission.Warning
		want     Answer
	}{
		{"restored", stamped, "", restoredCode, Restored},
		{"warned", &unstructured.Unstructured{}, "", []admission.Warning{{Code: "Contested"}}, Warned},
		{"warned of a forged record", &unstructured.Unstructured{}, "", []admission.Warning{{Code: "Unconfirmed"}},
			Warned},
		{"another webhook warned", &unstructured.Unstructured{}, "", []admission.Warning{{Message: "any text"}},
			NotAnswered},
		{"the validating handler warned", &unstructured.Unstructured{}, "", []admission.Warning{{Code: "Stripped"}},
			NotAnswered},
		{"both handlers warned", &unstructured.Unstructured{}, "", []admission.Warning{{Code: "Stripped"},
			{Code: "Restored"}}, Warned},
		{"passed", &unstructured.Unstructured{}, "", nil, NotAnswered},
		{"denied", nil, denies(StampWebhook), nil, Denied},
		{"denied later, by the guard", nil, denies(GuardWebhook), nil, NotAnswered},
		{"warned, then denied by the guard", nil, denies(GuardWebhook), restoredCode, Warned},
		{"denied later, by the exact webhook", nil, denies(ExactWebhook), nil, NotAnswered},
		{"did not answer", nil, fails(StampWebhook), nil, NotAnswered},
		{"another webhook denied", nil, denies("policy.example.com"), nil, Refused},
		{"another webhook did not answer", nil, fails("policy.example.com"), nil, Refused},
		{"forbidden", nil, forbidden, nil, Refused},
	} {
		if got := answerOf(tc.got, tc.message, tc.warnings); got != tc.want {
			t.Errorf("%s: %s, want %s", tc.name, got, tc.want)
		}
	}
}

// TestResultOf checks the result of each answer.
func TestResultOf(t *testing.T) {
	t.Parallel()
	for answer, want := range map[Answer]Result{Restored: Works, Denied: Works, Warned: Works, NotAnswered: NotCalled,
		Refused: ResultUnknown} {
		if got, message := resultOf(answer); got != want || (message == "") != (got == Works) {
			t.Errorf("%s: %s %q, want %s", answer, got, message, want)
		}
	}
}

// TestExcluded checks for which objects the API server does not call the mutating handler, or may not call it because
// their Namespace could not be read.
func TestExcluded(t *testing.T) {
	t.Parallel()
	ignore := func(value string) map[string]string { return map[string]string{admission.IgnoreLabel: value} }
	for name, tc := range map[string]struct {
		namespace string
		labels    map[string]string
		want      bool
	}{
		"an object of a bundle":            {"shop", nil, false},
		"in kube-system":                   {"kube-system", nil, true},
		"in a namespace with the label":    {"ignored", nil, true},
		"in the namespace of a cluster":    {"managed", nil, true},
		"with the label":                   {"shop", ignore("true"), true},
		"with another value of the label":  {"shop", ignore("no"), false},
		"an object of the webhook":         {"shop", map[string]string{install.NameLabel: Name}, true},
		"in a namespace without the guard": {"guarded", nil, false},
		"in a namespace that is unread":    {"unread", nil, true},
	} {
		client := fake.NewSimpleDynamicClient(runtime.NewScheme())
		client.PrependReactor("get", "namespaces", func(action clienttesting.Action) (bool, runtime.Object, error) {
			get, _ := action.(clienttesting.GetActionImpl)
			if get.Name == "unread" {
				return true, nil, apierrors.NewForbidden(schema.GroupResource{Resource: "namespaces"}, get.Name,
					errors.New("forbidden"))
			}
			o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Namespace"}}
			o.SetLabels(map[string]map[string]string{"ignored": {admission.IgnoreLabel: "true"},
				"managed": {"fleet.cattle.io/managed": "true"}, "guarded": {admission.GuardLabel: "off"},
				"kube-system": {"kubernetes.io/metadata.name": "kube-system"}}[get.Name])
			return true, o, nil
		})
		o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap"}}
		o.SetNamespace(tc.namespace)
		o.SetLabels(tc.labels)
		tester := &Tester{Cluster: &install.Cluster{Dynamic: client}, Mutating: healthy(t).Mutating}
		if got := tester.isExcluded(t.Context(), o); got != tc.want || (tester.unread != nil) != (name ==
			"in a namespace that is unread") {
			t.Errorf("%s: %t (%v)", name, got, tester.unread)
		}
	}
}
