// SPDX-License-Identifier: Apache-2.0

package server

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/go-logr/logr"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fleetdoctor/kubectl-fleetdoctor/test/cluster"
	"github.com/fleetdoctor/kubectl-fleetdoctor/test/poll"
	"github.com/fleetdoctor/kubectl-fleetdoctor/webhook/admission"
)

const (
	system = "fleetdoctor-system"
	user   = "system:serviceaccount:" + system + ":" + Name
)

// only is the label of the objects for which the API server calls the webhook.
var only = map[string]string{"test": "stamp"}

func create(t *testing.T, c client.Client, objects ...client.Object) {
	t.Helper()
	for _, o := range objects {
		if err := c.Create(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
}

// configurations returns webhook configurations without a caBundle, with the failurePolicy Fail.
func configurations(port int) []client.Object {
	fail, none, timeout, all := admissionv1.Fail, admissionv1.SideEffectClassNone, int32(30), admissionv1.AllScopes
	url := func(path string) admissionv1.WebhookClientConfig {
		at := fmt.Sprintf("https://localhost:%d%s", port, path)
		return admissionv1.WebhookClientConfig{URL: &at}
	}
	rules := []admissionv1.RuleWithOperations{{Operations: []admissionv1.OperationType{admissionv1.Create},
		Rule: admissionv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"configmaps"},
			Scope: &all}}}
	meta := metav1.ObjectMeta{Name: Name}
	return []client.Object{
		&admissionv1.MutatingWebhookConfiguration{ObjectMeta: meta,
			Webhooks: []admissionv1.MutatingWebhook{{Name: "stamp.fleetdoctor.io",
				ClientConfig: url(StampPath), Rules: rules, FailurePolicy: &fail, SideEffects: &none,
				TimeoutSeconds:          &timeout,
				AdmissionReviewVersions: []string{"v1"}, ObjectSelector: &metav1.LabelSelector{MatchLabels: only}}}},
		&admissionv1.ValidatingWebhookConfiguration{ObjectMeta: meta,
			Webhooks: []admissionv1.ValidatingWebhook{{Name: "guard.fleetdoctor.io",
				ClientConfig: url(GuardPath), Rules: rules, FailurePolicy: &fail, SideEffects: &none,
				TimeoutSeconds:          &timeout,
				AdmissionReviewVersions: []string{"v1"}, ObjectSelector: &metav1.LabelSelector{MatchLabels: only}}}},
	}
}

// grants returns exactly the permissions that the webhook needs.
func grants(secret string) []client.Object {
	rule := func(group, resource string, verbs ...string) rbacv1.PolicyRule {
		return rbacv1.PolicyRule{APIGroups: []string{group}, Resources: []string{resource}, Verbs: verbs}
	}
	configurations := []string{"mutatingwebhookconfigurations", "validatingwebhookconfigurations"}
	subject := []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: user}}
	meta := metav1.ObjectMeta{Name: Name}
	local := metav1.ObjectMeta{Namespace: system, Name: Name}
	return []client.Object{
		&rbacv1.ClusterRole{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{
			rule("", "secrets", "list", "watch"),
			rule("", "namespaces", "list", "watch"),
			rule("events.k8s.io", "events", "create", "patch"),
			{APIGroups: []string{admissionv1.GroupName}, Resources: configurations,
				Verbs: []string{"list", "watch", "patch"}, ResourceNames: []string{Name}},
		}},
		&rbacv1.ClusterRoleBinding{ObjectMeta: meta, Subjects: subject,
			RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: Name}},
		&rbacv1.Role{ObjectMeta: local, Rules: []rbacv1.PolicyRule{{APIGroups: []string{""},
			Resources: []string{"secrets"}, Verbs: []string{"update"},
			ResourceNames: []string{secret}}}},
		&rbacv1.RoleBinding{ObjectMeta: local, Subjects: subject,
			RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: Name}},
	}
}

// TestCluster serves a real API server with self-signed certificates, from a start without permissions until the
// shutdown.
func TestCluster(t *testing.T) {
	c := cluster.Start(t)
	admin := c.Client()
	port := freePort(t)
	secret := fmt.Sprintf("%s-cert-%d", Name, port) // unique, because the name of a controller contains it
	create(t, admin, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: system}},
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: system, Name: secret}})
	create(t, admin, configurations(port)...)
	config, err := clientcmd.BuildConfigFromFlags("", c.UserKubeconfig(t, user))
	if err != nil {
		t.Fatal(err)
	}
	o := Options{Config: config, Namespace: system, Host: "localhost", Port: port, Metrics: loopback(t),
		Probes: loopback(t), GuardDefault: admission.GuardWarn,
		Certificates: Certificates{Dir: t.TempDir(), Secret: secret, Service: Name, Configuration: Name,
			ExtraNames: []string{"localhost"}}, Log: logr.Discard()}
	s, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, end := context.WithCancel(t.Context())
	f := offline{Server: s, addresses: map[string]string{Metrics: o.Metrics, Probes: o.Probes}, end: end,
		ended: make(chan error, 1)}
	go func() { f.ended <- s.Run(ctx) }()

	poll.True(t, "readyz with the failed checks", func() bool {
		status, body := f.probe(t, Probes, "/readyz")
		return status == http.StatusInternalServerError && strings.Contains(body, "[-]certificate failed") &&
			strings.Contains(body, "[-]records failed") && strings.Contains(body, "[-]namespaces failed")
	})
	if status, _ := f.probe(t, Probes, "/livez"); status != http.StatusOK {
		t.Errorf("livez: got %d", status)
	}
	if conn, err := tls.Dial("tcp", fmt.Sprintf("localhost:%d", port),
		&tls.Config{InsecureSkipVerify: true}); err == nil {
		t.Errorf("a handshake without a certificate: %v", conn.Close())
	}
	create(t, admin, grants(secret)...)
	poll.True(t, "readyz", func() bool {
		status, _ := f.probe(t, Probes, "/readyz")
		return status == http.StatusOK
	})
	poll.True(t, "a call of the API server", func() bool { return tryOne(t.Context(), admin) == nil })
	_, body := f.probe(t, Metrics, "/metrics")
	for _, want := range []string{`fleetdoctor_webhook_requests_total{decision="passed",handler="stamp",` +
		`reason="NotWanted"}`,
		`fleetdoctor_webhook_requests_total{decision="passed",handler="guard"`,
		"fleetdoctor_webhook_certificate_expiration_timestamp_seconds ",
		"fleetdoctor_webhook_cache_age_seconds ", "fleetdoctor_webhook_cache_objects 0", "go_goroutines "} {
		if !strings.Contains(body, want) {
			t.Errorf("metrics: missing %s", want)
		}
	}
	rotate(t, admin, port, secret)
	trusted(t, admin)
	end()
	if err := <-f.ended; err != nil {
		t.Error(err)
	}
	recordEvent(t, admin, o)
}

// tryOne makes the API server call the webhook, in a dry run.
func tryOne(ctx context.Context, c client.Client) error {
	o := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", GenerateName: "try-", Labels: only}}
	return c.Create(ctx, o, client.DryRunAll)
}

// rotate replaces the certificate while the API server calls the webhook, and checks that no call fails. Then it
// replaces the authority too.
func rotate(t *testing.T, admin client.Client, port int, secret string) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	var calling sync.WaitGroup
	var calls atomic.Int64
	for range 2 {
		calling.Go(func() {
			for ctx.Err() == nil {
				if err := tryOne(t.Context(), admin); err != nil {
					t.Errorf("a call while the certificate was replaced: %v", err)
					return
				}
				calls.Add(1)
			}
		})
	}
	first, bundle := served(t, port), bundleOf(t, admin)
	if len(bundle) == 0 {
		t.Error("no caBundle")
	}
	removeFromSecret(t, admin, secret, CertName)
	poll.True(t, "another certificate", func() bool { return !bytes.Equal(served(t, port), first) })
	before := calls.Load()
	poll.True(t, "calls with the other certificate", func() bool { return calls.Load() > before+20 })
	stop()
	calling.Wait()
	if !bytes.Equal(bundleOf(t, admin), bundle) {
		t.Error("the authority changed with the certificate")
	}
	removeFromSecret(t, admin, secret, CertName, KeyName, "ca.crt", "ca.key")
	poll.True(t, "another authority", func() bool { return !bytes.Equal(bundleOf(t, admin), bundle) })
	poll.True(t, "a call with the other authority", func() bool { return tryOne(t.Context(), admin) == nil })
}

// trusted changes and deletes a configuration, and checks that the webhook restores only the caBundle.
func trusted(t *testing.T, admin client.Client) {
	t.Helper()
	before := bundleOf(t, admin)
	m := &admissionv1.MutatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: Name}}
	others := `[{"op":"replace","path":"/webhooks/0/timeoutSeconds","value":7},{"op":"remove",` +
		`"path":"/webhooks/0/clientConfig/caBundle"}]`
	if err := admin.Patch(t.Context(), m, client.RawPatch("application/json-patch+json", []byte(others))); err != nil {
		t.Fatal(err)
	}
	poll.True(t, "the restored caBundle", func() bool { return bytes.Equal(bundleOf(t, admin), before) })
	if err := admin.Get(t.Context(), client.ObjectKey{Name: Name}, m); err != nil {
		t.Fatal(err)
	}
	if *m.Webhooks[0].TimeoutSeconds != 7 {
		t.Errorf("the timeout is %d: a field of another owner was written", *m.Webhooks[0].TimeoutSeconds)
	}
	const own = `{"f:webhooks":{"k:{\"name\":\"stamp.fleetdoctor.io\"}":{".":{},"f:clientConfig":{"f:caBundle":{}},` +
		`"f:name":{}}}}`
	for _, entry := range m.ManagedFields {
		if entry.Manager == Name && (entry.Operation != metav1.ManagedFieldsOperationApply ||
			entry.FieldsV1.GetRawString() != own) {
			t.Errorf("with %s it owns %s", entry.Operation, entry.FieldsV1.GetRawString())
		}
	}
	// A deleted configuration is not created again: it would have no rules.
	if err := admin.Delete(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	if err := tryOne(t.Context(), admin); err != nil {
		t.Error(err)
	}
}

func served(t *testing.T, port int) []byte {
	t.Helper()
	c, err := tls.Dial("tcp", fmt.Sprintf("localhost:%d", port), &tls.Config{InsecureSkipVerify: true})
	if err != nil {
		t.Fatal(err)
	}
	raw := c.ConnectionState().PeerCertificates[0].Raw
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	return raw
}

// bundleOf returns the caBundle of both configurations; nil if they differ.
func bundleOf(t *testing.T, c client.Client) []byte {
	t.Helper()
	var m admissionv1.MutatingWebhookConfiguration
	var v admissionv1.ValidatingWebhookConfiguration
	for _, o := range []client.Object{&m, &v} {
		if err := c.Get(t.Context(), client.ObjectKey{Name: Name}, o); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(m.Webhooks[0].ClientConfig.CABundle, v.Webhooks[0].ClientConfig.CABundle) {
		return nil
	}
	return m.Webhooks[0].ClientConfig.CABundle
}

func removeFromSecret(t *testing.T, c client.Client, secret string, keys ...string) {
	t.Helper()
	patch := `{"data":{"` + strings.Join(keys, `":null,"`) + `":null}}`
	s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: system, Name: secret}}
	if err := c.Patch(t.Context(), s, client.RawPatch("application/merge-patch+json", []byte(patch))); err != nil {
		t.Fatal(err)
	}
}

// recordEvent records an Event with the permissions of the webhook.
func recordEvent(t *testing.T, admin client.Client, o Options) {
	t.Helper()
	m, err := newManager(o)
	if err != nil {
		t.Fatal(err)
	}
	source, err := newCertificateFiles(options(t).Certificates.Dir)
	if err != nil {
		t.Fatal(err)
	}
	p, err := newComponents(m, o, source)
	if err != nil {
		t.Fatal(err)
	}
	recorder := eventRecorder{m.GetEventRecorder(Name), p.metrics.limited}
	ctx, end := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- m.Start(ctx) }()
	recorder.RateLimited(corev1.ObjectReference{APIVersion: "v1", Kind: "ConfigMap", Namespace: "default",
		Name: "settings", UID: "1"}, "it is ignored")
	poll.True(t, "an Event", func() bool {
		var all eventsv1.EventList
		if err := admin.List(t.Context(), &all, client.InNamespace("default")); err != nil {
			t.Fatal(err)
		}
		for _, e := range all.Items {
			got := []string{e.Regarding.Name, e.Note, e.ReportingController, e.Type}
			if slices.Equal(got, []string{"settings", "it is ignored", Name, corev1.EventTypeWarning}) {
				return true
			}
		}
		return false
	})
	end()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
