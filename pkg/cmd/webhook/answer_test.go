// SPDX-License-Identifier: Apache-2.0

package webhook_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/test/poll"
	"github.com/fleetdoctor/kubectl-fleetdoctor/webhook/install"
)

// silence listens and never answers.
func silence(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() }) // nobody was let in
	return "https://" + l.Addr().String()
}

// certificate makes an authority and a certificate of its for a name, both base64 of PEM.
func certificate(t *testing.T, name string) (ca, cert string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	sign := func(template, parent *x509.Certificate) []byte {
		template.NotBefore, template.NotAfter = time.Now().Add(-time.Hour), time.Now().AddDate(1, 0, 0)
		der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, key)
		if err != nil {
			t.Fatal(err)
		}
		return der
	}
	authority := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "invented"}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	encode := func(der []byte) string {
		return base64.StdEncoding.EncodeToString(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
	}
	ca = encode(sign(authority, authority))
	return ca, encode(sign(&x509.Certificate{SerialNumber: big.NewInt(2), DNSNames: []string{name}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}, authority))
}

// ready makes an installation look as if its pods ran and its configurations had the caBundle.
func (f *fixture) ready(t *testing.T, namespace, ca string) {
	t.Helper()
	f.caBundle(t, ca)
	d := &appsv1.Deployment{}
	f.get(t, d, namespace, install.Name)
	n := *d.Spec.Replicas
	d.Status = appsv1.DeploymentStatus{ObservedGeneration: d.Generation, Replicas: n, ReadyReplicas: n, AvailableReplicas: n, UpdatedReplicas: n}
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
	f.patch(t, &admissionregistrationv1.MutatingWebhookConfiguration{}, "", install.Name, patch(len(f.mutating(t).Webhooks)))
	f.patch(t, &admissionregistrationv1.ValidatingWebhookConfiguration{}, "", install.Name, patch(1))
}

// endpoint adds an address to the Service, that nobody is at.
func (f *fixture) endpoint(t *testing.T, namespace string) {
	t.Helper()
	s := &discoveryv1.EndpointSlice{AddressType: discoveryv1.AddressTypeIPv4, Endpoints: []discoveryv1.Endpoint{{Addresses: []string{"192.0.2.1"}}}}
	s.Namespace, s.Name, s.Labels = namespace, "made-by-hand", map[string]string{discoveryv1.LabelServiceName: install.Name}
	if err := f.Client().Create(t.Context(), s); err != nil {
		t.Fatal(err)
	}
}

// point has the API server call the stamp webhook at an address; the guard it is to call nowhere.
func (f *fixture) point(t *testing.T, address string, ca []byte) {
	t.Helper()
	f.patch(t, &admissionregistrationv1.MutatingWebhookConfiguration{}, "", install.Name, pointed(t, address+"/stamp", ca))
}

// pointed is the patch by which the first webhook of a configuration is called at an address.
func pointed(t *testing.T, address string, ca []byte) string {
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
	if err := f.Client().Patch(context.WithoutCancel(t.Context()), o, client.RawPatch(types.MergePatchType, []byte(patch))); err != nil {
		t.Error(err)
	}
}

// admission is a tiny webhook whose answer is chosen by each test.
type admission struct {
	*httptest.Server
	with    atomic.Pointer[answer]
	guard   *admission             // of an installation that answers
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

func restamp(*admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
	kind := admissionv1.PatchTypeJSONPatch
	return &admissionv1.AdmissionResponse{Allowed: true, PatchType: &kind, Warnings: []string{"fleetdoctor/Restored: the ownership metadata of configmap shop/settings was restored"},
		Patch: []byte(`[{"op":"add","path":"/metadata/labels/objectset.rio.cattle.io~1hash","value":"` + setHash + `"}]`)}
}

// warnOfDeletion is what the guard says where nothing else is wrong.
func warnOfDeletion(r *admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
	if r.Operation != admissionv1.Delete {
		return pass(r)
	}
	return &admissionv1.AdmissionResponse{Allowed: true, Warnings: []string{"fleetdoctor/Deleted: configmap " + r.Namespace + "/" + r.Name + " is owned by bundle guestbook: Fleet will report it as missing, and guestbook will be at most 0/1"}}
}

func deny(*admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
	return &admissionv1.AdmissionResponse{Result: &metav1.Status{Code: http.StatusForbidden, Message: "configmap shop/settings is owned by bundle guestbook"}}
}

func warn(*admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
	return &admissionv1.AdmissionResponse{Allowed: true, Warnings: []string{"fleetdoctor/Foreign: configmap shop/settings is desired by bundle guestbook and owned by bundle other: its ownership metadata is not changed"}}
}

// TestTest holds what test says of each thing that a webhook may answer.
func TestTest(t *testing.T) {
	f := onCluster(t)
	if r := f.call(t, "test"); r.status != 1 || !strings.Contains(r.said(), "not installed, or disabled") {
		t.Errorf("not installed: status %d: %s", r.status, r.out)
	}
	a := f.answering(t, "probe")
	if m := *a.manager.Load(); m != "fleetdoctor-webhook-test" {
		t.Errorf("the field manager of the request is %q", m)
	}
	orphan := &corev1.ConfigMap{}
	orphan.Namespace, orphan.Name, orphan.Labels = "shop", "orphan", map[string]string{fleet.HashLabel: setHash}
	bare := &corev1.ConfigMap{}
	bare.Namespace, bare.Name = "shop", "bare"
	f.Create(t, orphan, bare)
	for _, tc := range []struct {
		name   string
		answer answer
		args   []string
		status int
		says   []string
	}{
		{"stamped", restamp, nil, 0, []string{"configmap shop/settings, of bundle guestbook (release shop/guestbook)", "Came back: with the mark", "Warning:   fleetdoctor/Restored: ", "Guard:     warned: fleetdoctor/Deleted: ", "Result:    works"}},
		{"stamped, named", restamp, []string{"cm/settings", "-n", "shop"}, 0, []string{"Result:    works"}},
		{"denied", deny, []string{"configmaps/shop/settings"}, 0, []string{"Came back: denied by the webhook", `admission webhook "stamp.fleetdoctor.io"`, "Result:    works"}},
		{"warned", warn, nil, 0, []string{"Came back: without the mark, and with a warning", "Warning:   fleetdoctor/Foreign: ", "Result:    works"}},
		{"not answered", pass, nil, 1, []string{"Came back: without the mark (", "Result:    not called", "- certificate: Secret fleetdoctor-webhook-cert: there is no certificate in it yet", "the API server called it, and it passed the request unchanged"}},
		{"not answered, named", pass, []string{"cm/settings", "-n", "shop"}, 1, []string{"of bundle guestbook", "Result:    not called"}},
		{"an orphan", pass, []string{"cm/orphan", "-n", "shop"}, 3, []string{"Result:    no object to test with", "it is an orphan"}},
		{"an object without the mark", pass, []string{"cm/bare", "-n", "shop"}, 3, []string{"Result:    no object to test with", "does not carry Fleet's mark"}},
		{"no such object", pass, []string{"cm/none", "-n", "shop"}, 3, []string{`configmaps "none" not found`}},
		{"no such kind", pass, []string{"nonsense/none"}, 3, []string{`looking up kind "nonsense"`}},
		{"no name", pass, []string{"cm"}, 2, []string{"KIND/NAME"}},
	} {
		a.answer(tc.answer)
		a.guard.answer(warnOfDeletion)
		if tc.status != 0 {
			a.guard.answer(pass)
		}
		r := f.call(t, append([]string{"test"}, tc.args...)...)
		said := r.said()
		for _, s := range tc.says {
			if !strings.Contains(said, strings.Join(strings.Fields(s), " ")) {
				t.Errorf("%s: it did not say %q:\n%s%s", tc.name, s, r.out, r.errOut)
			}
		}
		if r.status != tc.status {
			t.Errorf("%s: status %d, want %d", tc.name, r.status, tc.status)
		}
	}
	settings := &corev1.ConfigMap{}
	f.get(t, settings, "shop", "settings")
	if settings.Labels[fleet.HashLabel] != setHash {
		t.Error("the test took the mark away")
	}
}

// answering installs into a namespace, and has the API server call a tiny webhook.
func (f *fixture) answering(t *testing.T, namespace string) *admission {
	t.Helper()
	f.installed(t, namespace)
	a := newAdmission(t)
	a.guard = newAdmission(t)
	f.point(t, a.URL, a.ca())
	f.patch(t, &admissionregistrationv1.ValidatingWebhookConfiguration{}, "", install.Name, pointed(t, a.guard.URL+"/guard", a.guard.ca()))
	f.wait(t)
	a.answer(restamp)
	a.guard.answer(warnOfDeletion)
	poll.True(t, "it works", func() bool { return f.call(t, "test").status == 0 })
	return a
}

// wait has the API server wait for answers: on a machine that stands still for two seconds a webhook would seem not to be called.
func (f *fixture) wait(t *testing.T) {
	t.Helper()
	const patch = `[{"op":"replace","path":"/webhooks/0/timeoutSeconds","value":30}]`
	f.patch(t, &admissionregistrationv1.MutatingWebhookConfiguration{}, "", install.Name, patch)
	f.patch(t, &admissionregistrationv1.ValidatingWebhookConfiguration{}, "", install.Name, patch)
}

// TestTestKeptOut holds that a label that keeps the webhook away is named as the reason.
func TestTestKeptOut(t *testing.T) {
	f := onCluster(t)
	f.answering(t, "kept")
	f.patch(t, &corev1.Namespace{}, "", "shop", `{"metadata":{"labels":{"fleetdoctor.io/ignore":"true"}}}`)
	t.Cleanup(func() {
		f.patchAfter(t, &corev1.Namespace{}, "shop", `{"metadata":{"labels":{"fleetdoctor.io/ignore":null}}}`)
	})
	poll.True(t, "the namespace opted out", func() bool { return f.call(t, "test", "cm/settings", "-n", "shop").status == 1 })
	if r := f.call(t, "test", "cm/settings", "-n", "shop"); !strings.Contains(r.said(), "the namespace shop is labelled fleetdoctor.io/ignore=true") {
		t.Errorf("in a namespace that opted out: %s", r.out)
	}
	if r := f.call(t, "test"); r.status != 3 || !strings.Contains(r.said(), "no object to test with") {
		t.Errorf("with nothing else to test with: status %d: %s", r.status, r.out)
	}
}

// TestTestHung holds that a webhook that hangs is told by the time that it took.
func TestTestHung(t *testing.T) {
	f := onCluster(t)
	f.installed(t, "hung")
	f.point(t, silence(t), nil)
	hung := func() bool {
		r := f.call(t, "test")
		return r.status == 1 && strings.Contains(r.said(), "it hangs, or cannot be reached") && strings.Contains(r.said(), "the API server called it, and got no answer")
	}
	poll.True(t, "it hangs", hung)
	f.patch(t, &admissionregistrationv1.MutatingWebhookConfiguration{}, "", install.Name, `[{"op":"replace","path":"/webhooks/0/failurePolicy","value":"Fail"}]`)
	poll.True(t, "a write is refused", func() bool {
		r := f.call(t, "test")
		return r.status == 1 && strings.Contains(r.said(), "refused, because the webhook did not answer")
	})
}

// TestTestWithoutRights holds that what may not be asked is not answered.
func TestTestWithoutRights(t *testing.T) {
	f := onCluster(t)
	f.installed(t, "shy")
	a := newAdmission(t)
	a.answer(pass)
	f.point(t, a.URL, a.ca())
	user := f.UserKubeconfig(t, "tester")
	if r := f.as(t, user, "test"); r.status != 3 || !strings.Contains(r.said(), "reading release records") || !strings.Contains(r.said(), "name an object that a bundle wants: KIND/NAME") {
		t.Errorf("without any right: status %d: %s%s", r.status, r.out, r.errOut)
	}
	f.Grant(t, "tester", "shop", rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"get", "patch"}})
	poll.True(t, "the webhook is called", func() bool {
		return strings.Contains(f.as(t, user, "test", "cm/settings", "-n", "shop").out, "Came back")
	})
	r := f.as(t, user, "test", "cm/settings", "-n", "shop")
	if r.status != 3 || !strings.Contains(r.said(), "the mark did not come back, but whether a bundle wants the object is not known") {
		t.Errorf("without a look at the records: status %d: %s", r.status, r.out)
	}
	a.answer(restamp)
	if r := f.as(t, user, "test", "cm/settings", "-n", "shop"); r.status != 0 {
		t.Errorf("when it works: status %d: %s%s", r.status, r.out, r.errOut)
	}
}
