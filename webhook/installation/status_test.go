// SPDX-License-Identifier: Apache-2.0

package installation

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
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/install"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/webhook/admission"
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
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "invented"},
		NotBefore: now.AddDate(-1, 0, 0), NotAfter: now.AddDate(10, 0, 0),
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

// healthy returns the facts of an installation without problems. With cert-manager it has no certificate.
func healthy(t *testing.T, a *authority, v Values) *Facts {
	t.Helper()
	f := &Facts{Facts: install.Facts{Namespace: install.Namespace, TakenAt: now,
		Manifest: install.Manifest{Objects: render(t, v)}, Objects: map[object.Key]install.Reading{}}, Ready: 2,
		Labels: map[string]map[string]string{}, Calls: map[string]Calls{StampWebhook: {Total: 10, MeanSeconds: 0.002},
			GuardWebhook: {Total: 1}}, Test: &Test{Result: Works}}
	for _, d := range f.Manifest.Objects {
		o := d.DeepCopy()
		for _, w := range rawWebhooks(o) {
			set(w, a.pem, "clientConfig", "caBundle")
		}
		switch o.GetKind() {
		case "Deployment":
			o.Object["status"] = availableStatus(2)
		case "Secret":
			set(o.Object, a.issue(t, serviceName, now.AddDate(0, 0, -3), now.AddDate(1, 0, 0)), "data", certificateKey)
		}
		f.Objects[install.RefOf(o).Key()] = install.Reading{Object: o}
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

// change changes the reading of an object.
func (f *Facts) change(kind, name string, edit func(*install.Reading)) {
	for k, o := range f.Objects {
		if k.Kind == kind && k.Name == name {
			edit(&o)
			f.Objects[k] = o
		}
	}
}

func unread(o *install.Reading)        { *o = install.Reading{Reason: "forbidden"} }
func missingObject(o *install.Reading) { *o = install.Reading{} }

// result is a check without its texts.
type result struct {
	Name    string
	State   install.State
	Details int
}

func TestEvaluate(t *testing.T) {
	t.Parallel()
	a, other := newAuthority(t), newAuthority(t)
	certificate := func(value string) func(*Facts) {
		return func(f *Facts) {
			f.change("Secret", SecretName, func(o *install.Reading) {
				set(o.Object.Object, value, "data", certificateKey)
			})
		}
	}
	for _, tc := range []struct {
		name   string
		change func(*Facts)
		state  install.State
		// checks that are not OK
		checks []result
	}{
		{name: "nothing wrong", change: func(*Facts) {}, state: install.OK},
		{
			name: "not installed", state: install.Wrong, checks: []result{{"installed", install.Wrong, 0}},
			change: func(f *Facts) { f.Objects = map[object.Key]install.Reading{} },
		},
		{
			name: "failurePolicy is edited", state: install.Wrong, checks: []result{
				{"mutating", install.Wrong, 1},
				{"manifests", install.Wrong, 1},
			},
			change: func(f *Facts) {
				f.change(install.MutatingKind.Kind, Name, func(o *install.Reading) {
					set(rawWebhooks(o.Object)[0], "Fail", "failurePolicy")
				})
			},
		},
		{
			name: "the caBundle is that of another authority", state: install.Wrong,
			checks: []result{{"validating", install.Wrong, 1}},
			change: func(f *Facts) {
				f.change(install.ValidatingKind.Kind, Name, func(o *install.Reading) {
					set(rawWebhooks(o.Object)[0], other.pem, "clientConfig", "caBundle")
				})
			},
		},
		{
			name: "the Secret is forbidden", state: install.Unknown, checks: []result{
				{"certificate", install.Unknown, 0},
				{"mutating", install.Unknown, 1},
				{"validating", install.Unknown, 1},
				{"manifests", install.Unknown, 0},
			},
			change: func(f *Facts) { f.change("Secret", SecretName, unread) },
		},
		{
			name: "all reads are forbidden", state: install.Unknown, checks: []result{
				{"certificate", install.Unknown, 0},
				{"mutating", install.Unknown, 0},
				{"validating", install.Unknown, 0},
				{"deployment", install.Unknown, 0},
				{"endpoints", install.Unknown, 0},
				{"manifests", install.Unknown, 0},
				{"namespaces", install.Unknown, 0},
				{"calls", install.Unknown, 0},
			},
			change: func(f *Facts) {
				for k := range f.Objects {
					f.Objects[k] = install.Reading{Reason: "forbidden"}
				}
				f.EndpointsReason, f.LabelsReason, f.CallsReason, f.Ready = "forbidden", "forbidden", "forbidden", 0
			},
		},
		{
			name: "disabled", state: install.Wrong, checks: []result{
				{"mutating", install.Wrong, 0},
				{"validating", install.Wrong, 0},
				{"manifests", install.Wrong, 2},
			},
			change: func(f *Facts) {
				f.change(install.MutatingKind.Kind, Name, missingObject)
				f.change(install.ValidatingKind.Kind, Name, missingObject)
			},
		},
		{
			name: "no certificate yet", state: install.Wrong, change: certificate(""), checks: []result{
				{"certificate", install.Wrong, 0},
				{"mutating", install.Unknown, 1},
				{"validating", install.Unknown, 1},
			},
		},
		{
			name: "the certificate expires soon", state: install.Wrong,
			change: certificate(a.issue(t, serviceName, now.AddDate(-1, 0, 0), now.Add(30*time.Hour))),
			checks: []result{
				{"certificate", install.Wrong, 0},
			},
		},
		{
			name: "no replica is ready", state: install.Wrong, checks: []result{
				{"deployment", install.Wrong, 0},
				{"endpoints", install.Wrong, 0},
			},
			change: func(f *Facts) {
				f.Ready = 0
				f.change("Deployment", Name, func(o *install.Reading) {
					o.Object.Object["status"] = availableStatus(1)
				})
			},
		},
		{
			name: "labels", state: install.Wrong, checks: []result{{"namespaces", install.Wrong, 5}},
			change: func(f *Facts) {
				f.Labels = map[string]map[string]string{"a": {admission.GuardLabel: "denny"},
					"b": {admission.IgnoreLabel: "yes"}, "c": {admission.IgnoreLabel: "true",
						admission.GuardLabel: "deny"}, "d": {exactLabel: "exact"}}
			},
		},
		{
			name: "some calls failed", state: install.Note, checks: []result{{"calls", install.Note, 1}},
			change: func(f *Facts) {
				f.Calls[StampWebhook] = Calls{Total: 10, FailedOpen: 3, MeanSeconds: 0.002}
			},
		},
		{
			name: "no object to test with", state: install.Note, checks: []result{{"test", install.Note, 0}},
			change: func(f *Facts) { f.Test = &Test{Result: NoObject} },
		},
		{
			name: "the test is not allowed", state: install.Unknown, checks: []result{{"test", install.Unknown, 2}},
			change: func(f *Facts) {
				f.Test = &Test{Result: ResultUnknown, Strip: &Response{Answer: Refused},
					Delete: &Response{Answer: Refused}}
			},
		},
		{
			name: "no handler answers", state: install.Wrong, checks: []result{{"test", install.Wrong, 0}},
			change: func(f *Facts) { f.Test = &Test{Result: NotCalled} },
		},
		{
			name: "only the mutating handler answers", state: install.Wrong,
			checks: []result{{"test", install.Wrong, 0}},
			change: func(f *Facts) { f.Test = &Test{Result: MutatingOnly} },
		},
		{
			name: "only the validating handler answers", state: install.Wrong,
			checks: []result{{"test", install.Wrong, 0}},
			change: func(f *Facts) { f.Test = &Test{Result: ValidatingOnly} },
		},
		{
			name: "all calls failed", state: install.Wrong, checks: []result{{"calls", install.Wrong, 1}},
			change: func(f *Facts) { f.Calls[StampWebhook] = Calls{Total: 3, FailedOpen: 3, MeanSeconds: 2} },
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			f := healthy(t, a, Values{})
			tc.change(f)
			s := Evaluate(f)
			var checks []result
			for _, c := range s.Checks {
				if c.State != install.OK {
					checks = append(checks, result{c.Name, c.State, len(c.Details)})
				}
			}
			if diff := cmp.Diff(tc.checks, checks); diff != "" {
				t.Errorf("checks that are not OK (-want +got):\n%s", diff)
			}
			if s.State != tc.state {
				t.Errorf("state %s, want %s", s.State, tc.state)
			}
		})
	}
}

// availableStatus is the status of a Deployment whose replicas are all available.
func availableStatus(n int64) map[string]any {
	condition := func(kind, reason string) any {
		return map[string]any{"type": kind, "status": "True", "reason": reason}
	}
	return map[string]any{"observedGeneration": int64(1), "replicas": n, "readyReplicas": n, "availableReplicas": n,
		"updatedReplicas": n,
		"conditions":      []any{condition("Available", ""), condition("Progressing", "NewReplicaSetAvailable")}}
}

// TestStatusManifest checks that an installation without a Helm release, or with one that could not be read, is not
// compared, and never counts as equal.
func TestStatusManifest(t *testing.T) {
	t.Parallel()
	a := newAuthority(t)
	for want, manifest := range map[install.State]install.Manifest{install.Note: {},
		install.Unknown: {Reason: "forbidden"}} {
		f := healthy(t, a, Values{})
		f.Manifest = manifest
		s := Evaluate(f)
		i := slices.IndexFunc(s.Checks, func(c install.Check) bool { return c.Name == "manifests" })
		if s.Checks[i].State != want || s.State != want {
			t.Errorf("%s: %+v", want, s.Checks[i])
		}
	}
}
