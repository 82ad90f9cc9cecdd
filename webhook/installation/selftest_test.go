// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"errors"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/install"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/webhook/admission"
)

// TestAnswerOf checks what the response to a request shows of a handler, with messages of an API server.
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
	for _, tc := range []struct {
		name    string
		webhook string
		got     *unstructured.Unstructured
		message string
		warned  bool
		want    Answer
	}{
		{"restored", StampWebhook, stamped, "", true, Restored},
		{"warned", StampWebhook, &unstructured.Unstructured{}, "", true, Warned},
		{"passed", StampWebhook, &unstructured.Unstructured{}, "", false, NotAnswered},
		{"denied", StampWebhook, nil, denies(StampWebhook), false, Denied},
		{"denied later, by the guard", StampWebhook, nil, denies(GuardWebhook), false, NotAnswered},
		{"warned, then denied by the guard", StampWebhook, nil, denies(GuardWebhook), true, Warned},
		{"denied later, by the exact webhook", StampWebhook, nil, denies(ExactWebhook), false, NotAnswered},
		{"did not answer", StampWebhook, nil, fails(StampWebhook), false, NotAnswered},
		{"another webhook denied", StampWebhook, nil, denies("policy.example.com"), false, Refused},
		{"another webhook did not answer", StampWebhook, nil, fails("policy.example.com"), false, Refused},
		{"forbidden", StampWebhook, nil, forbidden, false, Refused},
		{"deletion denied", GuardWebhook, nil, denies(GuardWebhook), false, Denied},
		{"deletion warned", GuardWebhook, nil, "", true, Warned},
		{"deletion warned, and denied by others", GuardWebhook, nil, denies("policy.example.com"), true, Warned},
		{"deletion passed", GuardWebhook, nil, "", false, NotAnswered},
		{"deletion forbidden", GuardWebhook, nil, forbidden, false, Refused},
		{"deletion not answered", GuardWebhook, nil, fails(GuardWebhook), false, NotAnswered},
	} {
		if got := answerOf(tc.got, tc.message, tc.warned, tc.webhook); got != tc.want {
			t.Errorf("%s: %s, want %s", tc.name, got, tc.want)
		}
	}
}

// TestResultOf checks the result of each pair of answers.
func TestResultOf(t *testing.T) {
	t.Parallel()
	answers := []Answer{Restored, Denied, Warned, NotAnswered, Refused, Off}
	want := map[Answer][]Result{
		Restored:    {Works, Works, Works, MutatingOnly, ResultUnknown, Works},
		Denied:      {Works, Works, Works, MutatingOnly, ResultUnknown, Works},
		Warned:      {Works, Works, Works, Works, ResultUnknown, Works},
		NotAnswered: {ValidatingOnly, ValidatingOnly, ValidatingOnly, NotCalled, NotCalled, NotCalled},
		Refused:     {ResultUnknown, ResultUnknown, ResultUnknown, ResultUnknown, ResultUnknown, ResultUnknown},
	}
	for strip, results := range want {
		for i, remove := range answers {
			got, message := resultOf(&Response{Answer: strip}, &Response{Answer: remove})
			if got != results[i] || (message == "") != (got == Works) {
				t.Errorf("%s, %s: %s %q, want %s", strip, remove, got, message, results[i])
			}
		}
	}
}

// TestResult checks that the result is unknown if data could not be read that can explain a missing answer, or if the
// user may not create an object.
func TestResult(t *testing.T) {
	t.Parallel()
	refused := &Response{Answer: Refused, forbidden: true}
	for name, tc := range map[string]struct {
		create                *Response
		strip, remove         Answer
		namespaces, forbidden bool // could not be read: the Namespaces, the Deployment
		want                  Result
	}{
		"no answer":                             {nil, NotAnswered, NotAnswered, false, false, NotCalled},
		"no answer, namespaces unread":          {nil, NotAnswered, NotAnswered, true, false, ResultUnknown},
		"no answer, Deployment unread":          {nil, NotAnswered, NotAnswered, false, true, NotCalled},
		"mutating silent, namespaces unread":    {nil, NotAnswered, Warned, true, false, ResultUnknown},
		"validating silent":                     {nil, Restored, NotAnswered, false, false, MutatingOnly},
		"validating silent, namespaces unread":  {nil, Restored, NotAnswered, true, false, ResultUnknown},
		"validating silent, Deployment unread":  {nil, Restored, NotAnswered, false, true, ResultUnknown},
		"both answer, namespaces unread":        {nil, Restored, Warned, true, true, Works},
		"the user may not create":               {refused, Restored, Warned, false, false, ResultUnknown},
		"the user may not create, no answer":    {refused, NotAnswered, NotAnswered, false, false, NotCalled},
		"the creation fails for another reason": {&Response{Answer: Refused}, Restored, Warned, false, false, Works},
		"the mutating handler denies a creation": {&Response{Answer: Denied, forbidden: true}, Restored, Warned, false,
			false, Works},
		"the mutating handler ignores a creation": {&Response{Answer: NotAnswered}, Restored, Warned, false, false,
			Works},
	} {
		f := &Facts{Facts: install.Facts{Objects: map[object.Key]install.Reading{}}}
		if tc.namespaces {
			f.LabelsReason = "forbidden"
		}
		if tc.forbidden {
			f.Objects[install.RefTo(install.DeploymentKind, "", Name).Key()] = install.Reading{Reason: "forbidden"}
		}
		tester := &Tester{Facts: f, doc: &Test{Create: tc.create, Strip: &Response{Answer: tc.strip},
			Delete: &Response{Answer: tc.remove}}}
		if got, message := tester.result(); got != tc.want || (message == "") != (got == Works) {
			t.Errorf("%s: %s %q, want %s", name, got, message, tc.want)
		}
	}
}

// TestExcluded checks for which objects the API server certainly does not call the mutating handler.
func TestExcluded(t *testing.T) {
	t.Parallel()
	ignore := func(value string) map[string]string { return map[string]string{admission.IgnoreLabel: value} }
	for name, tc := range map[string]struct {
		kind, namespace string
		labels          map[string]string
		isUnread        bool // the Namespaces
		want            bool
	}{
		"an object of a bundle":           {"v1 ConfigMap", "shop", nil, false, false},
		"a cluster-scoped object":         {"rbac.authorization.k8s.io/v1 ClusterRole", "", nil, false, false},
		"in kube-system":                  {"v1 ConfigMap", "kube-system", nil, false, true},
		"in kube-system, labels unread":   {"v1 ConfigMap", "kube-system", nil, true, false},
		"in a namespace with the label":   {"v1 ConfigMap", "ignored", nil, false, true},
		"in the namespace of a cluster":   {"v1 ConfigMap", "managed", nil, false, true},
		"with the label":                  {"v1 ConfigMap", "shop", ignore("true"), false, true},
		"with another value of the label": {"v1 ConfigMap", "shop", ignore("no"), false, false},
		"an object of the webhook": {"v1 ConfigMap", "shop", map[string]string{install.NameLabel: Name}, false,
			true},
		"another webhook's configuration": {"admissionregistration.k8s.io/v1 MutatingWebhookConfiguration", "", nil,
			false, true},
		"in a namespace without the guard": {"v1 ConfigMap", "guarded", nil, false, false},
	} {
		f := healthy(t, newAuthority(t), Values{})
		f.Labels = map[string]map[string]string{"ignored": {admission.IgnoreLabel: "true"},
			"managed": {"fleet.cattle.io/managed": "true"}, "guarded": {admission.GuardLabel: "off"},
			"kube-system": {"kubernetes.io/metadata.name": "kube-system"}}
		if tc.isUnread {
			f.Labels, f.LabelsReason = nil, "forbidden"
		}
		o := &unstructured.Unstructured{Object: map[string]any{}}
		version, kind, _ := strings.Cut(tc.kind, " ")
		o.SetAPIVersion(version)
		o.SetKind(kind)
		o.SetNamespace(tc.namespace)
		o.SetLabels(tc.labels)
		if got := (&Tester{Facts: f}).excluded(o); got != tc.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// TestWarned checks which handler each code is from.
func TestWarned(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		warnings             []admission.Warning
		mutating, validating bool
	}{
		"none":                      {},
		"of another webhook":        {warnings: []admission.Warning{{Message: "any text"}}},
		"of the mutating handler":   {warnings: []admission.Warning{{Code: "Contested"}}, mutating: true},
		"of a forged record":        {warnings: []admission.Warning{{Code: "Unconfirmed"}}, mutating: true},
		"of the validating handler": {warnings: []admission.Warning{{Code: "Deleted"}}, validating: true},
		"of both handlers": {warnings: []admission.Warning{{Code: "Stripped"}, {Code: "Restored"}}, mutating: true,
			validating: true},
	} {
		if warned(tc.warnings, StampWebhook) != tc.mutating || warned(tc.warnings, GuardWebhook) != tc.validating {
			t.Errorf("%s: %v", name, tc.warnings)
		}
	}
}

// TestSupportsDryRun checks that no deletion is sent to an API server that may ignore the dry run.
func TestSupportsDryRun(t *testing.T) {
	t.Parallel()
	client := fake.NewSimpleDynamicClient(runtime.NewScheme())
	client.PrependReactor("get", "apiservices", func(action clienttesting.Action) (bool, runtime.Object, error) {
		get, _ := action.(clienttesting.GetActionImpl)
		name := get.Name
		o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "apiregistration.k8s.io/v1",
			"kind": "APIService"}}
		switch name {
		case "v1.custom.example.com":
		case "v1.aggregated.example.com":
			o.Object["spec"] = map[string]any{"service": map[string]any{"name": "server"}}
		default:
			return true, nil, apierrors.NewForbidden(schema.GroupResource{Resource: "apiservices"}, name,
				errors.New("forbidden"))
		}
		return true, o, nil
	})
	tester := &Tester{Cluster: &install.Cluster{Dynamic: client}}
	for version, want := range map[string]bool{"v1": true, "apps/v1": true, "custom.example.com/v1": true,
		"aggregated.example.com/v1": false, "unread.example.com/v1": false} {
		if got := tester.supportsDryRun(t.Context(), object.Ref{APIVersion: version, Kind: "Kind"}); got != want {
			t.Errorf("%s: %t", version, got)
		}
	}
}
