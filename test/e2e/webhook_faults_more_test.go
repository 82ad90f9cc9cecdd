// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	certutil "k8s.io/client-go/util/cert"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/test/cluster"
	"github.com/fleetdoctor/kubectl-fleetdoctor/test/poll"
)

// TestWebhookFaultCertificate gives the server a reason not to trust the webhook, and takes it away again.
func TestWebhookFaultCertificate(t *testing.T) {
	for name, test := range map[string]struct {
		made    certutil.SelfSignedCertKeyOptions // the certificate that is served
		another bool                              // the server trusts another authority
		ready   int                               // what readyz says
	}{
		"another authority": {another: true, ready: http.StatusOK},
		"expired": {
			made:  certutil.SelfSignedCertKeyOptions{MaxAge: 30 * time.Minute}, // it begins an hour ago
			ready: http.StatusInternalServerError,
		},
		"another name": {made: certutil.SelfSignedCertKeyOptions{Host: "elsewhere.example"}, ready: http.StatusOK},
	} {
		t.Run(name, func(t *testing.T) {
			h, b := faulty(t, "texts")
			wrong, trusted := newPair(t, test.made), newPair(t, certutil.SelfSignedCertKeyOptions{})
			h.install(wrong)
			if !test.another {
				trusted = wrong
			}
			h.registerAs(trusting(trusted.authority()))
			b.goesOn("texts")
			b.missed("texts")
			if got := h.probe("readyz"); got != test.ready {
				t.Errorf("readyz: status %d, want %d", got, test.ready)
			}
			right := newPair(t, certutil.SelfSignedCertKeyOptions{})
			h.install(right)
			h.registerAs(trusting(right.authority()))
			b.stampedByNextWrite("texts")
			b.isStamped("texts")
			b.allReady()
			h.awaitReady()
		})
	}
}

// TestWebhookFaultRotation replaces the certificate in its files while there are writes all the time.
func TestWebhookFaultRotation(t *testing.T) {
	f := newFleet(t, shared)
	b := f.deploy("hello", greetings("texts", "busy-0", "busy-1"))
	h := f.newWebhook()
	h.start()
	h.awaitReady()
	w, next := h.wire(), newPair(t, certutil.SelfSignedCertKeyOptions{})
	h.registerAs(h.at("127.0.0.1", w.port), trusting(h.authority(), next.authority()))
	h.awaitCalls()
	l := b.underLoad("busy-0", "busy-1")
	l.awaitMore(20)
	h.install(next)
	l.awaitMore(20)
	h.reconnected(w, b)
	l.awaitMore(20)
	l.end()
	b.isStamped("texts")
	b.allReady()
}

// reconnected has the server connect anew, and returns when a write was stamped after that. A request that is on its way just then is lost, and
// its write goes on unstamped.
func (h *hook) reconnected(w *wire, b *bundle) {
	h.t.Helper()
	before := w.connected()
	w.cut()
	poll.Until(h.t, func() error {
		switch stamped := b.takeOver("texts"); {
		case w.connected() == before:
			return errors.New("the server has not connected anew")
		case !stamped:
			return errors.New("texts is not stamped")
		}
		return nil
	})
}

// serveSelfSigned serves a webhook as it is served in a cluster: it makes its certificate itself, and tells the server whom to trust.
func (f *fleetServer) serveSelfSigned() (*hook, *wire) {
	f.t.Helper()
	f.namespace("fleetdoctor-system")
	secret, err := os.ReadFile(filepath.Join("..", "..", "manifests", "base", "secret.yaml"))
	if err != nil {
		f.t.Fatal(err)
	}
	f.ApplyYAML(f.t, "admin", string(secret))
	h := f.newWebhook("--certificates=self-signed", "--cert-dir", f.t.TempDir(), "--extra-names=localhost")
	h.start()
	h.awaitReady()
	w := h.wire()
	h.registerAs(h.at("localhost", w.port), func(clientConfig map[string]any) { delete(clientConfig, "caBundle") })
	h.awaitCalls()
	return h, w
}

// TestWebhookFaultSelfSigned has a self-signed certificate and its authority made anew while there are writes all the time.
func TestWebhookFaultSelfSigned(t *testing.T) {
	f := newFleet(t, shared)
	b := f.deploy("hello", greetings("texts", "busy-0", "busy-1"))
	h, w := f.serveSelfSigned()
	l := b.underLoad("busy-0", "busy-1")
	l.awaitMore(20)
	trusted, served := h.caBundles(), string(h.served())
	f.merge("admin", object("v1", "Secret", "fleetdoctor-system", "fleetdoctor-webhook-cert"), `{"data":null}`)
	poll.Until(t, func() error {
		now := h.caBundles()
		switch {
		case string(h.served()) == served:
			return errors.New("the certificate is the old one")
		case slices.ContainsFunc(now, func(bundle string) bool { return bundle == "" || slices.Contains(trusted, bundle) }):
			return errors.New("the server is not told of the new authority")
		}
		return nil
	})
	h.reconnected(w, b)
	l.awaitMore(20)
	l.end()
	b.isStamped("texts")
	b.isStamped("busy-0")
	b.isStamped("busy-1")
	b.allReady()
	h.awaitReady()
}

// TestWebhookFaultAPIServer has the API server go away and come back. The webhook answers on, and learns of what comes later.
func TestWebhookFaultAPIServer(t *testing.T) {
	// A server that stops waits as long for watches as for requests.
	c := cluster.Start(t, cluster.WithCertDir(t.TempDir()), cluster.WithFleetCRDs(), cluster.WithAPIServerFlag("request-timeout", "10s"))
	f := newFleet(t, c)
	b := f.deploy("hello", greetings("texts"))
	h, _ := f.serveSelfSigned()
	b.isStamped("texts")
	c.StopAPIServer(t)
	for _, name := range []string{"livez", "readyz"} {
		if got := h.probe(name); got != http.StatusOK {
			t.Errorf("%s without an API server: status %d", name, got)
		}
	}
	c.StartAPIServer(t)
	b.isStamped("texts")
	later := f.deploy("later", greetings("more"))
	later.isStamped("more")
	f.removeRecords(b)
	poll.Until(t, func() error {
		if stamped := b.takeOver("texts"); stamped {
			return errors.New("what no release desires any more is stamped")
		}
		return nil
	})
	h.awaitReady()
}

// TestWebhookFaultWatch cuts the webhook's watches and lets it have none for a while: it answers from what it knows, and later learns the rest.
func TestWebhookFaultWatch(t *testing.T) {
	f := newFleet(t, shared)
	b := f.deploy("hello", greetings("texts"))
	p := f.proxy()
	cut := p.severable(t)
	h := f.serveWebhook("default", "--kubeconfig", p.kubeconfig)
	b.isStamped("texts")
	cut()
	later := f.deploy("later", greetings("more"))
	later.passed(h, "more", "NotWanted")
	b.isStamped("texts")
	for _, name := range []string{"livez", "readyz"} {
		if got := h.probe(name); got != http.StatusOK {
			t.Errorf("%s without a watch: status %d", name, got)
		}
	}
	later.missed("more")
	p.intercept(nil)
	later.stampedByNextWrite("more")
	later.isStamped("more")
	b.isStamped("texts")
	f.allReady()
}

// severable has the proxy end every request that it has, and every later one at once, when cut is called.
func (p *proxy) severable(t *testing.T) (cut func()) {
	t.Helper()
	connected, cut := context.WithCancel(t.Context())
	p.intercept(func(r *http.Request) {
		ctx, end := context.WithCancel(r.Context())
		context.AfterFunc(connected, end)
		*r = *r.WithContext(ctx)
	})
	return cut
}

// passed takes a greeting over and holds that the webhook, which was called, let it pass for a reason.
func (b *bundle) passed(h *hook, name, reason string) {
	b.t.Helper()
	poll.Until(b.t, func() error {
		before := h.counted("stamp", "", reason)
		stamped := b.takeOver(name)
		switch {
		case stamped:
			return fmt.Errorf("%s is stamped", name)
		case h.counted("stamp", "", reason) == before:
			return fmt.Errorf("no request passed for reason %s; the webhook says:\n%s", reason, h.log)
		}
		return nil
	})
}

// TestWebhookFaultRecord has a release record that cannot be used, from before the webhook starts, and again while it runs. It keeps what it
// wants from being known, and who is not known from being overwritten; and nothing else.
func TestWebhookFaultRecord(t *testing.T) {
	huge, err := pack(map[string]any{"name": "second", "manifest": strings.Repeat("a", 65<<20)})
	if err != nil {
		t.Fatal(err)
	}
	base64twice := func(s string) string {
		return base64.StdEncoding.EncodeToString([]byte(base64.StdEncoding.EncodeToString([]byte(s))))
	}
	for name, test := range map[string]struct {
		value  string // of the second bundle's record; else another namespace has one of the first bundle's
		logged string
	}{
		"nonsense": {value: base64twice("not a record"), logged: "A release record could not be read"},
		"empty":    {value: `""`, logged: "A release record could not be read"},
		"huge":     {value: huge, logged: "64 MiB"},
		"forged":   {logged: "it names another release than its secret does"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFleet(t, shared)
			b, second := f.deploy("hello", greetings("texts")), f.deploy("second", greetings("more"))
			damage := func() { f.writeSecret(second.record(1), test.value) }
			whole := f.valueOf(second.record(1))
			mend := func() { f.writeSecret(second.record(1), whole) }
			if test.value == "" {
				f.namespace("elsewhere")
				forged := object("v1", "Secret", "elsewhere", b.record(1).GetName())
				damage = func() { f.writeSecret(forged, b.forged("stolen")) }
				mend = func() { f.remove(forged) }
			}
			damage()
			h := f.serveWebhook("default")
			h.damaged(1)
			says(t, "the log", h.log.String(), test.logged)
			if test.value != "" {
				second.passed(h, "more", "NotWanted")
			} else {
				b.passed(h, "stolen", "NotWanted")
				f.remove(configMap("stolen")) // an audit would take it for abandoned
				second.isStamped("more")
			}
			b.heldByNobody(h, "Foreign")
			b.isStamped("texts")

			mend()
			h.damaged(0)
			if test.value != "" {
				second.missed("more")
				second.stampedByNextWrite("more")
			}
			b.heldByNobody(h, "Adopted")
			second.isStamped("more")
			f.allReady()

			damage()
			h.damaged(1)
			h.awaitReady()
			b.isStamped("texts")
		})
	}
}

// damaged returns when the webhook knows of so many records that cannot be read.
func (h *hook) damaged(want int) {
	h.t.Helper()
	poll.Until(h.t, func() error {
		if got := h.gauge("cache_damaged_records"); got != want {
			return fmt.Errorf("%d damaged records, want %d", got, want)
		}
		return nil
	})
}

// heldByNobody makes the greeting texts anew with the hash of a set that nobody is known to have, and holds why it kept it, or did not.
func (b *bundle) heldByNobody(h *hook, reason string) {
	b.t.Helper()
	nobody := fleet.Hash("default-nobody")
	poll.Until(b.t, func() error {
		before := h.counted("stamp", "", reason)
		cm := b.helmMarked(configMap("texts"))
		cm.SetLabels(map[string]string{"app.kubernetes.io/managed-by": "Helm", "objectset.rio.cattle.io/hash": nobody})
		cm.Object["data"] = map[string]any{"greeting": "hello"}
		b.remove(configMap("texts"))
		if err := b.Client().Create(b.t.Context(), cm); err != nil {
			return err
		}
		kept := cm.GetLabels()["objectset.rio.cattle.io/hash"] == nobody
		if want := reason == "Foreign"; kept != want || h.counted("stamp", "", reason) == before {
			return fmt.Errorf("the hash was kept: %t, want %t, for reason %s; the webhook says:\n%s", kept, want, reason, h.log)
		}
		return nil
	})
}

// valueOf is what a record's Secret holds, as the API has it.
func (f *fleetServer) valueOf(record *unstructured.Unstructured) string {
	f.t.Helper()
	value, _, err := unstructured.NestedString(f.get(record).Object, "data", "release")
	if err != nil {
		f.t.Fatal(err)
	}
	return value
}

// writeSecret makes or changes a record.
func (f *fleetServer) writeSecret(record *unstructured.Unstructured, value string) {
	f.t.Helper()
	f.ApplyYAML(f.t, "kubectl", fmt.Sprintf("{apiVersion: v1, kind: Secret, type: helm.sh/release.v1, metadata: {name: %s, namespace: %s}, data: {release: %s}}",
		record.GetName(), record.GetNamespace(), value))
}

// forged is the record of the bundle's release, with one more greeting in it.
func (b *bundle) forged(name string) string {
	b.t.Helper()
	var record map[string]any
	if err := unpack(b.valueOf(b.record(1)), &record); err != nil {
		b.t.Fatalf("unpacking a record: %v", err)
	}
	record["manifest"] = fmt.Sprint(record["manifest"]) + greetings(name)
	packed, err := pack(record)
	if err != nil {
		b.t.Fatalf("packing a record: %v", err)
	}
	return packed
}

// TestWebhookFaultForbidden runs the webhook as somebody who may read nothing, until he may.
func TestWebhookFaultForbidden(t *testing.T) {
	f := newFleet(t, shared)
	b := f.deploy("hello", greetings("texts"))
	h := f.newWebhook("--kubeconfig", f.user("webhook"))
	h.start()
	poll.Until(t, func() error {
		if got := h.probe("livez"); got != http.StatusOK {
			return fmt.Errorf("livez: status %d", got)
		}
		return nil
	})
	h.register("default")
	h.awaitCalls()
	b.passed(h, "texts", "NotReady")
	b.missed("texts")
	poll.Until(t, func() error {
		for _, kind := range []string{"secrets", "namespaces"} {
			if missing := `User \"webhook\" cannot list resource \"` + kind + `\"`; !strings.Contains(strings.ReplaceAll(h.log.String(), `\\`, `\`), missing) {
				return fmt.Errorf("the log does not say %q: %s", missing, h.log)
			}
		}
		return nil
	})
	if got := h.probe("readyz"); got != http.StatusInternalServerError {
		t.Errorf("readyz: status %d", got)
	}
	f.grant("webhook", rule("", "namespaces", "list", "watch"))
	b.passed(h, "texts", "NotReady")
	f.grant("webhook", rule("", "secrets", "list", "watch"))
	h.awaitReady()
	b.stampedByNextWrite("texts")
	b.isStamped("texts")
	f.allReady()
}
