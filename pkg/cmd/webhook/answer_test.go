// SPDX-License-Identifier: Apache-2.0

package webhook_test

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/install"
	"github.com/fleetdoctor/kubectl-fleetdoctor/test/poll"
	"github.com/fleetdoctor/kubectl-fleetdoctor/webhook/installation"
)

// silentServer listens and never answers. It returns its URL.
func silentServer(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() }) // no connection was accepted
	return "https://" + l.Addr().String()
}

// ready sets the status of the Deployment and the caBundles as in a running installation.
func (f *fixture) ready(t *testing.T, namespace, ca string) {
	t.Helper()
	f.caBundle(t, ca)
	d := &appsv1.Deployment{}
	f.get(t, d, namespace, installation.Name)
	n := *d.Spec.Replicas
	d.Status = appsv1.DeploymentStatus{ObservedGeneration: d.Generation, Replicas: n, ReadyReplicas: n,
		AvailableReplicas: n, UpdatedReplicas: n,
		Conditions: []appsv1.DeploymentCondition{{Type: appsv1.DeploymentAvailable, Status: corev1.ConditionTrue},
			{Type: appsv1.DeploymentProgressing, Status: corev1.ConditionTrue, Reason: "NewReplicaSetAvailable"}}}
	if err := f.Client().Status().Update(t.Context(), d); err != nil {
		t.Fatal(err)
	}
}

func (f *fixture) caBundle(t *testing.T, ca string) {
	t.Helper()
	patch := func(n int) string {
		var all []string
		for i := range n {
			all = append(all, fmt.Sprintf(`{"op":"add","path":"/webhooks/%d/clientConfig/caBundle","value":%q}`, i, ca))
		}
		return "[" + strings.Join(all, ",") + "]"
	}
	f.patch(t, &admissionregistrationv1.MutatingWebhookConfiguration{}, "", installation.Name,
		patch(len(f.mutating(t).Webhooks)))
	f.patch(t, &admissionregistrationv1.ValidatingWebhookConfiguration{}, "", installation.Name, patch(1))
}

// setURL sets the URL of the mutating webhook.
func (f *fixture) setURL(t *testing.T, address string, ca []byte) {
	t.Helper()
	f.patch(t, &admissionregistrationv1.MutatingWebhookConfiguration{}, "", installation.Name,
		urlPatch(t, address+"/stamp", ca))
}

// urlPatch returns the patch that sets the URL of the first webhook of a configuration.
func urlPatch(t *testing.T, address string, ca []byte) string {
	t.Helper()
	c := map[string]any{"url": address}
	if ca != nil {
		c["caBundle"] = ca
	}
	text, err := json.Marshal([]map[string]any{{"op": "replace", "path": "/webhooks/0/clientConfig", "value": c}})
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func (f *fixture) patchAfter(t *testing.T, o client.Object, name, patch string) {
	t.Helper()
	o.SetName(name)
	if err := f.Client().Patch(context.WithoutCancel(t.Context()), o, client.RawPatch(types.MergePatchType,
		[]byte(patch))); err != nil {
		t.Error(err)
	}
}

// admission is a webhook with an answer that each test sets.
type admission struct {
	*httptest.Server
	with    atomic.Pointer[answer]
	guard   *admission             // the validating webhook of the same installation
	manager atomic.Pointer[string] // the field manager of the last request
}

type answer func(*admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse

func (a *admission) answer(with answer) { a.with.Store(&with) }

func newAdmission(t *testing.T) *admission {
	t.Helper()
	a := &admission{}
	a.Server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var review admissionv1.AdmissionReview
		if err := json.NewDecoder(r.Body).Decode(&review); err != nil || review.Request == nil {
			http.Error(w, "no review", http.StatusBadRequest)
			return
		}
		var o metav1.PatchOptions
		if json.Unmarshal(review.Request.Options.Raw, &o) == nil {
			a.manager.Store(&o.FieldManager)
		}
		review.Response = (*a.with.Load())(review.Request)
		review.Response.UID = review.Request.UID
		review.Request = nil
		w.Header().Set("Content-Type", "application/json")
		if err := json.NewEncoder(w).Encode(review); err != nil {
			t.Logf("answering: %v", err)
		}
	}))
	t.Cleanup(a.Close)
	return a
}

func (a *admission) ca() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.Certificate().Raw})
}

func pass(*admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
	return &admissionv1.AdmissionResponse{Allowed: true}
}

func restore(*admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
	kind := admissionv1.PatchTypeJSONPatch
	return &admissionv1.AdmissionResponse{Allowed: true, PatchType: &kind,
		Warnings: []string{"fleetdoctor/Restored: any text"},
		Patch: []byte(`[{"op":"add","path":"/metadata/labels/objectset.rio.cattle.io~1hash","value":"` + setHash +
			`"}]`)}
}

func deny(*admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
	return &admissionv1.AdmissionResponse{Result: &metav1.Status{Code: http.StatusForbidden,
		Message: "configmap shop/settings is owned by bundle guestbook"}}
}

func warn(*admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
	return &admissionv1.AdmissionResponse{Allowed: true, Warnings: []string{"fleetdoctor/Foreign: any text"}}
}

// outcome is what status shows of the test, without texts.
type outcome struct {
	state  install.State // of the check
	result installation.Result
	answer installation.Answer
}

func outcomeOf(s *installation.Status) outcome {
	out := outcome{state: states(s)["test"]}
	if s.Test == nil {
		return out
	}
	out.result = s.Test.Result
	if s.Test.Strip != nil {
		out.answer = s.Test.Strip.Answer
	}
	return out
}

// test runs `webhook status` and returns its test, nil if it has none.
func (f *fixture) test(t *testing.T, kubeconfig string) *installation.Test {
	t.Helper()
	s, _ := f.status(t, kubeconfig, "")
	return s.Test
}

// expect compares the outcome of the test in status.
func (f *fixture) expect(t *testing.T, name, kubeconfig string, want outcome) *installation.Test {
	t.Helper()
	s, r := f.status(t, kubeconfig, "")
	if diff := cmp.Diff(want, outcomeOf(s), cmp.AllowUnexported(outcome{})); diff != "" {
		t.Errorf("%s (-want +got):\n%s%s%s", name, diff, r.out, r.errOut)
	}
	if want.state == install.Wrong && r.status != 1 {
		t.Errorf("%s: status %d, want 1", name, r.status)
	}
	return s.Test
}

// until waits until the outcome of the test fulfils a condition.
func (f *fixture) until(t *testing.T, name string, condition func(outcome) bool) {
	t.Helper()
	poll.True(t, name, func() bool {
		s, _ := f.status(t, f.kubeconfig, "")
		return condition(outcomeOf(s))
	})
}

// TestAnswers checks what status shows for each answer of the mutating handler.
func TestAnswers(t *testing.T) {
	f := onCluster(t)
	f.expect(t, "not installed", f.kubeconfig, outcome{})
	a := f.answering(t, "probe")
	if m := *a.manager.Load(); m != "fleetdoctor-webhook-test" {
		t.Errorf("the field manager of the request is %q", m)
	}
	works := func(answer installation.Answer) outcome { return outcome{install.OK, installation.Works, answer} }
	for _, tc := range []struct {
		name   string
		answer answer
		want   outcome
	}{
		{"restored", restore, works(installation.Restored)},
		{"denied", deny, works(installation.Denied)},
		{"warned", warn, works(installation.Warned)},
		{"not answered", pass, outcome{install.Wrong, installation.NotCalled, installation.NotAnswered}},
	} {
		a.answer(tc.answer)
		d := f.expect(t, tc.name, f.kubeconfig, tc.want)
		if d.Release != "shop/guestbook" || d.Strip.Object.Key().String() != "configmap shop/settings" {
			t.Errorf("%s: %+v", tc.name, d)
		}
	}
	a.answer(restore)
	want := `OK test Works - a dry run that removes objectset.rio.cattle.io/hash from configmap shop/settings: ` +
		`Restored (in … - its warning: Restored: any text - object of release shop/guestbook`
	took := regexp.MustCompile(`\(in [^)]*\)`)
	if text := took.ReplaceAllString(f.call(t, "status").text(), "(in …"); !strings.HasSuffix(text, want) {
		t.Errorf("text:\n%s\ndoes not end with\n%s", text, want)
	}
	for format, want := range map[string]string{"name": "stamp.fleetdoctor.io\nguard.fleetdoctor.io\n",
		"jsonpath={.test.result}": "Works", "go-template={{.kind}}": "WebhookStatus"} {
		if r := f.call(t, "status", "-o", format); r.out != want {
			t.Errorf("-o %s: %q, want %q", format, r.out, want)
		}
	}
	settings := &corev1.ConfigMap{}
	f.get(t, settings, "shop", "settings")
	if settings.Labels[fleet.HashLabel] != setHash {
		t.Error("the test removed the label")
	}
}

// answering installs into a namespace, and sets the URLs of both webhooks to servers in the test.
func (f *fixture) answering(t *testing.T, namespace string) *admission {
	t.Helper()
	f.installed(t, namespace)
	a := newAdmission(t)
	a.guard = newAdmission(t)
	f.setURL(t, a.URL, a.ca())
	f.patch(t, &admissionregistrationv1.ValidatingWebhookConfiguration{}, "", installation.Name,
		urlPatch(t, a.guard.URL+"/guard", a.guard.ca()))
	f.raiseTimeouts(t)
	a.answer(restore)
	a.guard.answer(pass)
	f.until(t, "the test succeeds", func(o outcome) bool { return o.state == install.OK })
	return a
}

// raiseTimeouts raises the timeouts of the webhooks, for slow machines.
func (f *fixture) raiseTimeouts(t *testing.T) {
	t.Helper()
	const patch = `[{"op":"replace","path":"/webhooks/0/timeoutSeconds","value":30}]`
	f.patch(t, &admissionregistrationv1.MutatingWebhookConfiguration{}, "", installation.Name, patch)
	f.patch(t, &admissionregistrationv1.ValidatingWebhookConfiguration{}, "", installation.Name, patch)
}

// TestExcluded checks that an object that a label excludes is not used for the test: the API server does not call the
// webhook for it. The label is named as a possible reason.
func TestExcluded(t *testing.T) {
	f := onCluster(t)
	f.answering(t, "excluded")
	f.ignoreShop(t)
	d := f.expect(t, "without another object", f.kubeconfig, outcome{install.Note, installation.NoObject, ""})
	if !strings.Contains(d.Message, "fleetdoctor.io/ignore") {
		t.Errorf("reason: %s", d.Message)
	}
}

// ignoreShop excludes the namespace of the deployed bundle.
func (f *fixture) ignoreShop(t *testing.T) {
	t.Helper()
	f.patch(t, &corev1.Namespace{}, "", "shop", `{"metadata":{"labels":{"fleetdoctor.io/ignore":"true"}}}`)
	t.Cleanup(func() {
		f.patchAfter(t, &corev1.Namespace{}, "shop", `{"metadata":{"labels":{"fleetdoctor.io/ignore":null}}}`)
	})
}

// TestHung checks that a webhook that hangs does not count as working.
func TestHung(t *testing.T) {
	f := onCluster(t)
	f.installed(t, "hung")
	f.setURL(t, silentServer(t), nil)
	f.until(t, "status waits for the webhook", func(o outcome) bool {
		return o.state == install.Wrong && o.answer == installation.NotAnswered
	})
	f.patch(t, &admissionregistrationv1.MutatingWebhookConfiguration{}, "", installation.Name,
		`[{"op":"replace","path":"/webhooks/0/failurePolicy","value":"Fail"}]`)
	poll.True(t, "a write is refused", func() bool {
		d := f.test(t, f.kubeconfig)
		return d.Result == installation.NotCalled && strings.Contains(d.Strip.Message, "failed calling webhook")
	})
}
