// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
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

// TestWebhookFaultCertificate serves a certificate that the API server does not trust, and then a trusted one.
func TestWebhookFaultCertificate(t *testing.T) {
	for name, test := range map[string]struct {
		options certutil.SelfSignedCertKeyOptions // of the served certificate
		another bool                              // the server trusts another certificate authority
		ready   int                               // status of readyz
	}{
		"another authority": {another: true, ready: http.StatusOK},
		"expired": {
			options: certutil.SelfSignedCertKeyOptions{MaxAge: 30 * time.Minute}, // it starts an hour ago
			ready:   http.StatusInternalServerError,
		},
		"another name": {options: certutil.SelfSignedCertKeyOptions{Host: "elsewhere.example"}, ready: http.StatusOK},
	} {
		t.Run(name, func(t *testing.T) {
			h, b := serveWithGreetings(t, "texts")
			wrong, trusted := newPair(t, test.options), newPair(t, certutil.SelfSignedCertKeyOptions{})
			h.install(wrong)
			if !test.another {
				trusted = wrong
			}
			h.registerAs(trusting(trusted.authority()))
			b.awaitFailOpen("texts")
			b.expectHelmOnly("texts")
			if got := h.probe("readyz"); got != test.ready {
				t.Errorf("readyz: status %d, want %d", got, test.ready)
			}
			right := newPair(t, certutil.SelfSignedCertKeyOptions{})
			h.install(right)
			h.registerAs(trusting(right.authority()))
			b.awaitStampedByWrite("texts")
			b.awaitStamped("texts")
			b.expectAllReady()
			h.awaitReady()
		})
	}
}

// TestWebhookFaultRotation replaces the certificate files during continuous writes.
func TestWebhookFaultRotation(t *testing.T) {
	f := newFleet(t, shared)
	b := f.deploy("hello", greetings("texts", "busy-0", "busy-1"))
	h, next := f.newWebhook(), newPair(t, certutil.SelfSignedCertKeyOptions{})
	w := h.serveThroughProxy(trusting(h.authority(), next.authority()))
	l := b.startLoad("busy-0", "busy-1")
	l.awaitMore(20)
	h.install(next)
	l.awaitMore(20)
	h.awaitReconnected(w, b)
	l.awaitMore(20)
	l.end()
	b.awaitStamped("texts")
	b.expectAllReady()
}

// awaitReconnected closes the connections of the API server, and returns when a write on a new connection was
// stamped. A request in flight at that moment is lost, and its write passes unstamped.
func (h *webhookProcess) awaitReconnected(w *tcpProxy, b *bundle) {
	h.t.Helper()
	before := w.connectionCount()
	w.closeAll()
	poll.Until(h.t, func() error {
		switch stamped := b.mustRecreate("texts"); {
		case w.connectionCount() == before:
			return errors.New("the server has not opened a new connection")
		case !stamped:
			return errors.New("texts is not stamped")
		}
		return nil
	})
}

// serveSelfSigned serves a webhook that creates its certificate and writes the caBundle itself, as in a cluster.
func (f *fleetServer) serveSelfSigned() (*webhookProcess, *tcpProxy) {
	f.t.Helper()
	f.namespace("fleetdoctor-system")
	for _, o := range rendered(f.t, "default") {
		if o.GetKind() == "Secret" {
			f.Apply(f.t, "admin", o)
		}
	}
	h := f.newWebhook("--certificates=self-signed", "--cert-dir", f.t.TempDir(), "--extra-names=localhost")
	h.start()
	h.awaitReady()
	w := h.tcpProxy()
	h.registerAs(h.at("localhost", w.port), func(clientConfig map[string]any) { delete(clientConfig, "caBundle") })
	h.awaitCalls()
	return h, w
}

// TestWebhookFaultSelfSigned has the self-signed certificate and its authority created again during continuous
// writes.
func TestWebhookFaultSelfSigned(t *testing.T) {
	f := newFleet(t, shared)
	b := f.deploy("hello", greetings("texts", "busy-0", "busy-1"))
	h, w := f.serveSelfSigned()
	l := b.startLoad("busy-0", "busy-1")
	l.awaitMore(20)
	trusted, served := h.caBundles(), string(h.served())
	f.merge("admin", object("v1", "Secret", "fleetdoctor-system", "fleetdoctor-webhook-cert"), `{"data":null}`)
	poll.Until(t, func() error {
		now := h.caBundles()
		switch {
		case string(h.served()) == served:
			return errors.New("the certificate is still the old one")
		case slices.ContainsFunc(now, func(bundle string) bool {
			return bundle == "" || slices.Contains(trusted, bundle)
		}):
			return errors.New("the configurations do not have the new certificate authority")
		}
		return nil
	})
	h.awaitReconnected(w, b)
	l.awaitMore(20)
	l.end()
	b.awaitStamped("texts")
	b.awaitStamped("busy-0")
	b.awaitStamped("busy-1")
	b.expectAllReady()
	h.awaitReady()
}

// TestWebhookFaultAPIServer stops and starts the API server. The webhook keeps serving, and sees later releases.
func TestWebhookFaultAPIServer(t *testing.T) {
	// A stopping server waits for watches as long as for other requests.
	c := cluster.Start(t, cluster.WithCertDir(t.TempDir()), cluster.WithFleetCRDs(),
		cluster.WithAPIServerFlag("request-timeout", "10s"))
	f := newFleet(t, c)
	b := f.deploy("hello", greetings("texts"))
	h, _ := f.serveSelfSigned()
	b.awaitStamped("texts")
	c.StopAPIServer(t)
	for _, name := range []string{"livez", "readyz"} {
		if got := h.probe(name); got != http.StatusOK {
			t.Errorf("%s without an API server: status %d", name, got)
		}
	}
	c.StartAPIServer(t)
	b.awaitStamped("texts")
	later := f.deploy("later", greetings("more"))
	later.awaitStamped("more")
	f.removeRecords(b)
	poll.Until(t, func() error {
		if stamped := b.mustRecreate("texts"); stamped {
			return errors.New("an object that no release desires is stamped")
		}
		return nil
	})
	h.awaitReady()
}

// TestWebhookFaultWatch closes the webhook's watches and refuses new ones for some time. The webhook answers from
// its cache, and later sees what it missed.
func TestWebhookFaultWatch(t *testing.T) {
	f := newFleet(t, shared)
	b := f.deploy("hello", greetings("texts"))
	p := f.proxy()
	disconnect := p.disconnectable(t)
	h := f.serveWebhook("default", "--kubeconfig", p.kubeconfig)
	b.awaitStamped("texts")
	disconnect()
	later := f.deploy("later", greetings("more"))
	later.awaitPassed(h, "more", "NotWanted")
	b.awaitStamped("texts")
	for _, name := range []string{"livez", "readyz"} {
		if got := h.probe(name); got != http.StatusOK {
			t.Errorf("%s without a watch: status %d", name, got)
		}
	}
	later.expectHelmOnly("more")
	p.onRequest(nil)
	later.awaitStampedByWrite("more")
	later.awaitStamped("more")
	b.awaitStamped("texts")
	f.expectAllReady()
}

// disconnectable returns a function that ends every current request of the proxy, and every later one at once.
func (p *proxy) disconnectable(t *testing.T) (disconnect func()) {
	t.Helper()
	connected, disconnect := context.WithCancel(t.Context())
	p.onRequest(func(r *http.Request) {
		ctx, end := context.WithCancel(r.Context())
		if connected.Err() != nil {
			end() // AfterFunc would call it later, maybe after the answer
		} else {
			context.AfterFunc(connected, end)
		}
		*r = *r.WithContext(ctx)
	})
	return disconnect
}

// awaitPassed creates an object until the webhook was called and let it pass for this reason.
func (b *bundle) awaitPassed(h *webhookProcess, name, reason string) {
	b.t.Helper()
	poll.Until(b.t, func() error {
		before := h.requestCount("stamp", "", reason)
		stamped := b.mustRecreate(name)
		switch {
		case stamped:
			return fmt.Errorf("%s is stamped", name)
		case h.requestCount("stamp", "", reason) == before:
			return fmt.Errorf("no request passed with reason %s; log of the webhook:\n%s", reason, h.log)
		}
		return nil
	})
}

// TestWebhookFaultRecord has a release record that cannot be used, before the webhook starts and while it runs.
// Its objects are not known, unknown owners in its namespace are not overwritten, and everything else works.
func TestWebhookFaultRecord(t *testing.T) {
	huge, err := pack(map[string]any{"name": "second", "manifest": strings.Repeat("a", 65<<20)})
	if err != nil {
		t.Fatal(err)
	}
	base64twice := func(s string) string {
		return base64.StdEncoding.EncodeToString([]byte(base64.StdEncoding.EncodeToString([]byte(s))))
	}
	for name, test := range map[string]struct {
		// data of the second bundle's record; if empty, another namespace has a record of the first bundle
		value  string
		logged string
	}{
		"not a record": {value: base64twice("not a record"), logged: "A release record could not be read"},
		"empty":        {value: `""`, logged: "A release record could not be read"},
		"huge":         {value: huge, logged: "unpacks to more than 4 MiB"},
		"forged":       {logged: "it names another release than its secret does"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFleet(t, shared)
			b, second := f.deploy("hello", greetings("texts")), f.deploy("second", greetings("more"))
			damage := func() { f.writeRecordData(second.record(1), test.value) }
			whole := f.recordData(second.record(1))
			repair := func() { f.writeRecordData(second.record(1), whole) }
			if test.value == "" {
				f.namespace("elsewhere")
				forged := object("v1", "Secret", "elsewhere", b.record(1).GetName())
				damage = func() { f.writeRecordData(forged, b.forgedRecord("stolen")) }
				repair = func() { f.remove(forged) }
			}
			damage()
			h := f.serveWebhook("default")
			h.awaitDamagedRecords(1)
			expectContains(t, "the log", h.log.String(), test.logged)
			if test.value != "" {
				second.awaitPassed(h, "more", "NotWanted")
				b.awaitUnknownHash(h, "Foreign")
			} else { // the records of the object's namespace are whole
				b.awaitPassed(h, "stolen", "NotWanted")
				f.remove(configMap("stolen")) // an audit would report it as abandoned
				second.awaitStamped("more")
				b.awaitUnknownHash(h, "Adopted")
			}
			b.awaitStamped("texts")

			repair()
			h.awaitDamagedRecords(0)
			if test.value != "" {
				second.expectHelmOnly("more")
				second.awaitStampedByWrite("more")
			}
			b.awaitUnknownHash(h, "Adopted")
			second.awaitStamped("more")
			f.expectAllReady()

			damage()
			h.awaitDamagedRecords(1)
			h.awaitReady()
			b.awaitStamped("texts")
		})
	}
}

// awaitDamagedRecords returns when the webhook counts this many unreadable records.
func (h *webhookProcess) awaitDamagedRecords(want int) {
	h.t.Helper()
	poll.Until(h.t, func() error {
		if got := h.gauge("cache_damaged_records"); got != want {
			return fmt.Errorf("%d damaged records, want %d", got, want)
		}
		return nil
	})
}

// awaitUnknownHash creates object texts with the hash of an unknown set, and checks that the webhook keeps the
// hash if the reason is Foreign, and replaces it otherwise.
func (b *bundle) awaitUnknownHash(h *webhookProcess, reason string) {
	b.t.Helper()
	nobody := fleet.Hash("default-nobody")
	poll.Until(b.t, func() error {
		before := h.requestCount("stamp", "", reason)
		cm := b.withHelmOwnership(configMap("texts"))
		cm.SetLabels(map[string]string{"app.kubernetes.io/managed-by": "Helm", "objectset.rio.cattle.io/hash": nobody})
		cm.Object["data"] = map[string]any{"greeting": "hello"}
		b.remove(configMap("texts"))
		if err := b.Client().Create(b.t.Context(), cm); err != nil {
			return err
		}
		unchanged := cm.GetLabels()["objectset.rio.cattle.io/hash"] == nobody
		if want := reason == "Foreign"; unchanged != want || h.requestCount("stamp", "", reason) == before {
			return fmt.Errorf("the hash is unchanged: %t, want %t with reason %s; log of the webhook:\n%s", unchanged,
				want, reason, h.log)
		}
		return nil
	})
}

// recordData is the data of a record's Secret.
func (f *fleetServer) recordData(record *unstructured.Unstructured) string {
	f.t.Helper()
	value, _, err := unstructured.NestedString(f.get(record).Object, "data", "release")
	if err != nil {
		f.t.Fatal(err)
	}
	return value
}

// writeRecordData creates or changes the Secret of a record.
func (f *fleetServer) writeRecordData(record *unstructured.Unstructured, value string) {
	f.t.Helper()
	f.ApplyYAML(f.t, "kubectl",
		fmt.Sprintf("{apiVersion: v1, kind: Secret, type: helm.sh/release.v1, metadata: {name: %s, namespace: %s}, "+
			"data: {release: %s}}",
			record.GetName(), record.GetNamespace(), value))
}

// forgedRecord is the record of the bundle's release with one more object.
func (b *bundle) forgedRecord(name string) string {
	b.t.Helper()
	var record map[string]any
	if err := unpack(b.recordData(b.record(1)), &record); err != nil {
		b.t.Fatalf("unpacking a record: %v", err)
	}
	record["manifest"] = fmt.Sprint(record["manifest"]) + greetings(name)
	packed, err := pack(record)
	if err != nil {
		b.t.Fatalf("packing a record: %v", err)
	}
	return packed
}

// TestWebhookFaultForbidden runs the webhook without permissions, and grants them later.
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
	b.awaitPassed(h, "texts", "NotReady")
	b.expectHelmOnly("texts")
	poll.Until(t, func() error {
		for _, kind := range []string{"secrets", "namespaces"} {
			if missing := `User \"webhook\" cannot list resource \"` + kind +
				`\"`; !strings.Contains(strings.ReplaceAll(h.log.String(), `\\`, `\`), missing) {
				return fmt.Errorf("the log does not contain %q: %s", missing, h.log)
			}
		}
		return nil
	})
	if got := h.probe("readyz"); got != http.StatusInternalServerError {
		t.Errorf("readyz: status %d", got)
	}
	f.grant("webhook", rule("", "namespaces", "list", "watch"))
	b.awaitPassed(h, "texts", "NotReady")
	f.grant("webhook", rule("", "secrets", "list", "watch"))
	h.awaitReady()
	b.awaitStampedByWrite("texts")
	b.awaitStamped("texts")
	f.expectAllReady()
}
