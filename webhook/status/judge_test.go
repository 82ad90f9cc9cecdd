// SPDX-License-Identifier: Apache-2.0

package status

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"math/big"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/fleetdoctor/kubectl-fleetdoctor/manifests"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/webhook/admission"
	"github.com/fleetdoctor/kubectl-fleetdoctor/webhook/install"
)

var now = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// authority makes certificates.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	pem  string // base64 of PEM, as in the API
}

func encoded(der []byte) string {
	return base64.StdEncoding.EncodeToString(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "invented"}, NotBefore: now.AddDate(-1, 0, 0), NotAfter: now.AddDate(10, 0, 0),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return &authority{cert, key, encoded(der)}
}

// issue makes a certificate for a name, base64 of PEM.
func (a *authority) issue(t *testing.T, name string, from, to time.Time) string {
	t.Helper()
	template := &x509.Certificate{SerialNumber: big.NewInt(2), DNSNames: []string{name}, NotBefore: from, NotAfter: to,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, &a.key.PublicKey, a.key)
	if err != nil {
		t.Fatal(err)
	}
	return encoded(der)
}

const serviceName = "fleetdoctor-webhook.fleetdoctor-system.svc"

// healthy are the facts of an installation that nothing is wrong with, but that cert-manager's has no certificate.
func healthy(t *testing.T, a *authority, o install.Options) *Facts {
	t.Helper()
	desired, err := install.Render(manifests.Files, o)
	if err != nil {
		t.Fatal(err)
	}
	f := &Facts{Namespace: install.Namespace, TakenAt: now, Desired: desired, Objects: map[object.Key]Found{}, Ready: 2,
		Labels: map[string]map[string]string{}, Calls: map[string]Calls{install.StampWebhook: {Total: 10, MeanSeconds: 0.002}, install.GuardWebhook: {Total: 1}}}
	for _, d := range f.Desired {
		o := d.DeepCopy()
		for _, w := range install.WebhooksOf(o) {
			set(w, a.pem, "clientConfig", "caBundle")
		}
		switch o.GetKind() {
		case "Deployment":
			o.Object["status"] = map[string]any{"readyReplicas": int64(2), "availableReplicas": int64(2), "updatedReplicas": int64(2)}
		case "Secret":
			set(o.Object, a.issue(t, serviceName, now.AddDate(0, 0, -3), now.AddDate(1, 0, 0)), "data", certificateKey)
		}
		f.Objects[install.RefOf(o).Key()] = Found{Object: o}
	}
	return f
}

// set writes a value into a map of maps.
func set(in map[string]any, value any, fields ...string) {
	last := len(fields) - 1
	for _, f := range fields[:last] {
		next, ok := in[f].(map[string]any)
		if !ok {
			next = map[string]any{}
			in[f] = next
		}
		in = next
	}
	in[fields[last]] = value
}

// change changes what was read of an object of a kind.
func (f *Facts) change(kind, name string, how func(*Found)) {
	for k, o := range f.Objects {
		if k.Kind == kind && k.Name == name {
			how(&o)
			f.Objects[k] = o
		}
	}
}

func unread(o *Found) { *o = Found{Reason: "forbidden"} }
func gone(o *Found)   { *o = Found{} }

func TestJudge(t *testing.T) {
	t.Parallel()
	a, other := newAuthority(t), newAuthority(t)
	certificate := func(value string) func(*Facts) {
		return func(f *Facts) {
			f.change("Secret", install.SecretName, func(o *Found) { set(o.Object.Object, value, "data", certificateKey) })
		}
	}
	for _, tc := range []struct {
		name   string
		change func(*Facts)
		state  State
		// checks that are not OK
		checks []Check
	}{
		{name: "nothing wrong", change: func(*Facts) {}, state: OK},
		{
			name: "not installed", state: Wrong, checks: []Check{{Name: "installed", State: Wrong, Message: "the webhook is not installed"}},
			change: func(f *Facts) { f.Objects = map[object.Key]Found{} },
		},
		{
			name: "failurePolicy is edited", state: Wrong, checks: []Check{
				{"mutating", Wrong, "stamp.fleetdoctor.io: failurePolicy Fail, timeout 2s", []string{"failurePolicy is Fail: while the webhook does not answer, what it is called for cannot be written at all"}},
				{"manifests", Wrong, "it is not as the program has it; `webhook install` puts it right", []string{"mutatingwebhookconfiguration.admissionregistration.k8s.io fleetdoctor-webhook: webhooks[stamp.fleetdoctor.io].failurePolicy is Fail, wants Ignore"}},
			},
			change: func(f *Facts) {
				f.change(mutating, install.Name, func(o *Found) { set(install.WebhooksOf(o.Object)[0], "Fail", "failurePolicy") })
			},
		},
		{
			name: "the caBundle is of somebody else", state: Wrong, checks: []Check{{"validating", Wrong, "guard.fleetdoctor.io: failurePolicy Ignore, timeout 2s",
				[]string{`the caBundle does not fit the certificate: every call fails (x509: certificate signed by unknown authority (possibly because of "x509: ECDSA verification failure" while trying to verify candidate authority certificate "invented"))`}}},
			change: func(f *Facts) {
				f.change(validating, install.Name, func(o *Found) { set(install.WebhooksOf(o.Object)[0], other.pem, "clientConfig", "caBundle") })
			},
		},
		{
			name: "the Secret may not be read", state: Unknown, checks: []Check{
				{"certificate", Unknown, "Secret fleetdoctor-webhook-cert could not be read: forbidden", nil},
				{"mutating", Unknown, "stamp.fleetdoctor.io: failurePolicy Ignore, timeout 2s", []string{"whether the caBundle fits the certificate is not known: the Secret was not read"}},
				{"validating", Unknown, "guard.fleetdoctor.io: failurePolicy Ignore, timeout 2s", []string{"whether the caBundle fits the certificate is not known: the Secret was not read"}},
				{"manifests", Unknown, "as far as could be read, as the program has it; 1 object could not be read", nil},
			},
			change: func(f *Facts) { f.change("Secret", install.SecretName, unread) },
		},
		{
			name: "nothing may be read", state: Unknown, checks: []Check{
				{"certificate", Unknown, "Secret fleetdoctor-webhook-cert could not be read: forbidden", nil},
				{"mutating", Unknown, "MutatingWebhookConfiguration fleetdoctor-webhook could not be read: forbidden", nil},
				{"validating", Unknown, "ValidatingWebhookConfiguration fleetdoctor-webhook could not be read: forbidden", nil},
				{"deployment", Unknown, "Deployment fleetdoctor-webhook could not be read: forbidden", nil},
				{"endpoints", Unknown, "the EndpointSlices could not be read: forbidden", nil},
				{"manifests", Unknown, "nothing of it could be read: 17 objects", nil},
				{"namespaces", Unknown, "the Namespaces could not be read: forbidden", nil},
				{"calls", Unknown, "the API server's /metrics could not be read: forbidden", nil},
			},
			change: func(f *Facts) {
				for k := range f.Objects {
					f.Objects[k] = Found{Reason: "forbidden"}
				}
				f.EndpointsReason, f.LabelsReason, f.CallsReason, f.Ready = "forbidden", "forbidden", "forbidden", 0
			},
		},
		{
			name: "disabled", state: Wrong, checks: []Check{
				{"mutating", Wrong, "MutatingWebhookConfiguration fleetdoctor-webhook is not there: the API server does not call the webhook", nil},
				{"validating", Wrong, "ValidatingWebhookConfiguration fleetdoctor-webhook is not there: the API server does not call the webhook", nil},
				{"manifests", Wrong, "it is not as the program has it; `webhook install` puts it right", []string{
					"mutatingwebhookconfiguration.admissionregistration.k8s.io fleetdoctor-webhook is not there",
					"validatingwebhookconfiguration.admissionregistration.k8s.io fleetdoctor-webhook is not there"}},
			},
			change: func(f *Facts) {
				f.change(mutating, install.Name, gone)
				f.change(validating, install.Name, gone)
			},
		},
		{
			name: "no certificate yet", state: Wrong, change: certificate(""), checks: []Check{
				{"certificate", Wrong, "Secret fleetdoctor-webhook-cert: there is no certificate in it yet", nil},
				{"mutating", Unknown, "stamp.fleetdoctor.io: failurePolicy Ignore, timeout 2s", []string{"whether the caBundle fits the certificate is not known: the Secret holds none"}},
				{"validating", Unknown, "guard.fleetdoctor.io: failurePolicy Ignore, timeout 2s", []string{"whether the caBundle fits the certificate is not known: the Secret holds none"}},
			},
		},
		{
			name: "nearly over", state: Wrong, change: certificate(a.issue(t, serviceName, now.AddDate(-1, 0, 0), now.Add(30*time.Hour))), checks: []Check{
				{"certificate", Wrong, "expires in 30 hours, on 2026-01-03: it should have been renewed", nil},
			},
		},
		{
			name: "nobody serves", state: Wrong, checks: []Check{
				{"deployment", Wrong, "1 of 2 replicas are ready", nil},
				{"endpoints", Wrong, "no address is ready: the API server reaches nobody", nil},
			},
			change: func(f *Facts) {
				f.Ready = 0
				f.change("Deployment", install.Name, func(o *Found) {
					o.Object.Object["status"] = map[string]any{"readyReplicas": int64(1), "availableReplicas": int64(1), "updatedReplicas": int64(2)}
				})
			},
		},
		{
			name: "labels", state: Wrong, checks: []Check{{"namespaces", Wrong, "3 labels without effect", []string{
				"a: fleetdoctor.io/guard=denny is no mode: off, warn or deny",
				"b: fleetdoctor.io/ignore=yes is no value that means anything: only true does",
				"d: fleetdoctor.io/adopt=exact has no effect: `webhook install --exact` adds the webhook for it",
				"c: fleetdoctor.io/guard=deny", "c: fleetdoctor.io/ignore=true, the webhook is not called here"}}},
			change: func(f *Facts) {
				f.Labels = map[string]map[string]string{"a": {admission.GuardLabel: "denny"}, "b": {admission.IgnoreLabel: "yes"}, "c": {admission.IgnoreLabel: "true", admission.GuardLabel: "deny"}, "d": {adoptLabel: "exact"}}
			},
		},
		{
			name: "some calls failed", state: Note, checks: []Check{{"calls", Note, "stamp.fleetdoctor.io: 10 calls, 2.0 ms each", []string{
				"without an answer: 3, of which 0 were refused for it and the others went on; since that API server was started (`webhook test` says whether it answers now)"}}},
			change: func(f *Facts) {
				f.Calls[install.StampWebhook] = Calls{Total: 10, FailedOpen: 3, MeanSeconds: 0.002}
			},
		},
		{
			name: "all calls failed", state: Wrong, checks: []Check{{"calls", Wrong, "stamp.fleetdoctor.io: 3 calls, 2000.0 ms each", []string{
				"without an answer: 3, of which 0 were refused for it and the others went on; since that API server was started (`webhook test` says whether it answers now)"}}},
			change: func(f *Facts) { f.Calls[install.StampWebhook] = Calls{Total: 3, FailedOpen: 3, MeanSeconds: 2} },
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			f := healthy(t, a, install.Options{})
			tc.change(f)
			s := Judge(f)
			checks := slices.DeleteFunc(s.Checks, func(c Check) bool { return c.State == OK })
			if diff := cmp.Diff(tc.checks, checks, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("checks that are not OK (-want +got):\n%s", diff)
			}
			if s.State != tc.state {
				t.Errorf("state %s, want %s", s.State, tc.state)
			}
		})
	}
}

// TestJudgeUnsure holds that nothing is missed, or found to be wrong, that only other options than those which can be read would want.
func TestJudgeUnsure(t *testing.T) {
	t.Parallel()
	a := newAuthority(t)
	for _, tc := range []struct {
		name    string
		options install.Options
		unread  []string
		unsure  int
		state   State
	}{
		{"all is read", install.Options{ReleaseNamespaces: []string{"shop"}}, nil, 0, OK},
		{"a scoped installation without its Deployment", install.Options{ReleaseNamespaces: []string{"shop"}}, []string{"Deployment"}, 1, Unknown},
		{"one that is not scoped", install.Options{}, []string{"Deployment"}, 1, Unknown},
		{"one of cert-manager's, without its configurations", install.Options{Certificates: install.CertManager}, []string{mutating, validating}, 0, Unknown},
		{"one of cert-manager's, with one of them", install.Options{Certificates: install.CertManager}, []string{mutating}, 0, Unknown},
		{"one of cert-manager's, without either", install.Options{Certificates: install.CertManager, ReleaseNamespaces: []string{"shop"}}, []string{"Deployment", mutating, validating}, 6, Unknown},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			f := healthy(t, a, tc.options)
			for _, kind := range tc.unread {
				f.change(kind, install.Name, unread)
			}
			if err := f.want(manifests.Files); err != nil {
				t.Fatal(err)
			}
			s := Judge(f)
			i := slices.IndexFunc(s.Checks, func(c Check) bool { return c.Name == "manifests" })
			c := s.Checks[i]
			if c.State != tc.state || c.Details != nil {
				t.Errorf("%s: %s %q, want %s", c.State, c.Message, c.Details, tc.state)
			}
			if want := "what " + plural(tc.unsure, "object") + " should be like"; tc.unsure > 0 && !strings.Contains(c.Message, want) {
				t.Errorf("%q, want %q", c.Message, want)
			}
		})
	}
}
