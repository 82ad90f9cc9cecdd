// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	certutil "k8s.io/client-go/util/cert"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fleetdoctor/kubectl-fleetdoctor/test/poll"
)

// greetings is a manifest of ConfigMaps.
func greetings(names ...string) string {
	var b strings.Builder
	for _, name := range names {
		fmt.Fprintf(&b, "---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: %s}, data: {greeting: hello}}\n", name)
	}
	return b.String()
}

// serveWithGreetings deploys greetings as bundle "hello" and serves a webhook.
func serveWithGreetings(t *testing.T, names ...string) (*webhookProcess, *bundle) {
	t.Helper()
	f := newFleet(t, shared)
	b := f.deploy("hello", greetings(names...))
	return f.serveWebhook("default"), b
}

// recreate creates one of the greetings again, as helm.takeOwnership leaves it: with Helm's ownership metadata
// only. stamped reports whether the webhook added the rest.
func (b *bundle) recreate(ctx context.Context, name string, padding ...string) (stamped bool, err error) {
	cm := b.withHelmOwnership(configMap(name))
	data := map[string]any{"greeting": "hello"}
	for i, s := range padding {
		data[fmt.Sprintf("padding-%d", i)] = s
	}
	cm.Object["data"] = data
	if err := client.IgnoreNotFound(b.Client().Delete(ctx, configMap(name))); err != nil {
		return false, fmt.Errorf("deleting %s: %w", name, err)
	}
	if err := b.Client().Create(ctx, cm, client.FieldOwner("helm")); err != nil {
		return false, fmt.Errorf("creating %s: %w", name, err)
	}
	return maps.Equal(ownershipOf(cm), b.ownership()), nil
}

// mustRecreate is recreate; the write itself must succeed in any state of the webhook.
func (b *bundle) mustRecreate(name string) (stamped bool) {
	b.t.Helper()
	stamped, err := b.recreate(b.t.Context(), name)
	if err != nil {
		b.t.Fatalf("a write failed: %v", err)
	}
	return stamped
}

// awaitFailOpen returns when a write passed unstamped because the API server could not call the webhook.
func (b *bundle) awaitFailOpen(name string) {
	b.t.Helper()
	poll.Until(b.t, func() error {
		before := b.failedOpen()[stampWebhook]
		stamped := b.mustRecreate(name)
		switch {
		case stamped:
			return errors.New("the webhook still stamps objects")
		case b.failedOpen()[stampWebhook] == before:
			return errors.New("the webhook was not called")
		}
		return nil
	})
}

// awaitStamped returns when a new object is stamped.
func (b *bundle) awaitStamped(name string) {
	b.t.Helper()
	poll.Until(b.t, func() error {
		if stamped := b.mustRecreate(name); !stamped {
			return fmt.Errorf("%s is not stamped", name)
		}
		return nil
	})
}

// awaitStampedByWrite returns when a write of another field has stamped the object.
func (b *bundle) awaitStampedByWrite(name string) {
	b.t.Helper()
	n := 0
	poll.Until(b.t, func() error {
		n++
		b.merge("kubectl", configMap(name), fmt.Sprintf(`{"metadata":{"annotations":{"touched":"%d"}}}`, n))
		if got := ownershipOf(b.get(configMap(name))); !maps.Equal(got, b.ownership()) {
			return fmt.Errorf("%s has only the metadata %v", name, got)
		}
		return nil
	})
}

// expectHelmOnly checks that an audit reports exactly these objects, with Helm's metadata only.
func (b *bundle) expectHelmOnly(names ...string) {
	b.t.Helper()
	want := outcome{Status: 1, Deployments: map[string]string{}, Objects: map[string]string{}}
	for _, other := range b.bundles {
		want.Deployments[other.name] = "Ready"
	}
	want.Deployments[b.name] = "Modified"
	for _, name := range names {
		want.Objects["configmap apps/"+name] = "Unowned HelmOnly"
		want.Findings = append(want.Findings, "FD102 configmap apps/"+name)
	}
	expect(b.t, b.audit("--server-check", "never"), want)
}

// adoptAll adopts all unowned objects.
func (b *bundle) adoptAll() {
	b.t.Helper()
	if a := b.adopt("--yes"); a.status != 0 {
		b.t.Errorf("adopt: status %d; stderr: %s", a.status, a.stderr)
	}
	b.expectAllReady()
}

// expectAllReady checks that an audit has no finding.
func (f *fleetServer) expectAllReady() {
	f.t.Helper()
	want := outcome{Deployments: map[string]string{}}
	for _, b := range f.bundles {
		want.Deployments[b.name] = "Ready"
	}
	expect(f.t, f.audit("--require-complete", "--server-check", "never"), want)
}

// load creates greetings again and again until it ends.
type load struct {
	b     *bundle
	done  chan struct{}
	ended sync.WaitGroup

	mu                sync.Mutex // guards the fields below
	writes, unstamped int
}

// startLoad starts one writer for each name. A write that fails fails the test.
func (b *bundle) startLoad(names ...string) *load {
	l := &load{b: b, done: make(chan struct{})}
	for _, name := range names {
		l.ended.Go(func() { l.write(name) })
	}
	b.t.Cleanup(func() { l.end() })
	return l
}

func (l *load) write(name string) {
	tick := time.NewTicker(poll.Interval)
	defer tick.Stop()
	for {
		stamped, err := l.b.recreate(l.b.t.Context(), name)
		if l.b.t.Context().Err() != nil {
			return
		}
		if err != nil {
			l.b.t.Errorf("a write failed: %v", err)
		}
		l.mu.Lock()
		l.writes++
		if !stamped {
			l.unstamped++
		}
		l.mu.Unlock()
		select {
		case <-l.done:
			return
		case <-tick.C:
		}
	}
}

// awaitMore returns after n more writes.
func (l *load) awaitMore(n int) {
	l.b.t.Helper()
	writes := func() int { l.mu.Lock(); defer l.mu.Unlock(); return l.writes }
	until := writes() + n
	poll.Until(l.b.t, func() error {
		if now := writes(); now < until {
			return fmt.Errorf("%d writes, want %d", now, until)
		}
		return nil
	})
}

// end stops the writers and logs the numbers.
func (l *load) end() {
	select {
	case <-l.done:
		return
	default:
	}
	close(l.done)
	l.ended.Wait()
	l.b.t.Logf("%d objects were written, %d of them unstamped", l.writes, l.unstamped)
}

// families reads metrics whose names begin with a prefix.
func families(t *testing.T, c *http.Client, url, prefix string) map[string]*dto.MetricFamily {
	t.Helper()
	r, err := c.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := r.Body.Close(); err != nil {
			t.Error(err)
		}
	}()
	var text bytes.Buffer
	lines := bufio.NewScanner(r.Body)
	for lines.Scan() {
		line := lines.Text()
		if strings.HasPrefix(line, prefix) || strings.HasPrefix(line, "# TYPE "+prefix) {
			text.WriteString(line + "\n")
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	out, err := parser.TextToMetricFamilies(&text)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// The names of the webhooks in manifests/webhook.
const (
	stampWebhook = "stamp.fleetdoctor.io"
	guardWebhook = "guard.fleetdoctor.io"
)

// failedOpen returns, by webhook, the number of requests that passed because the API server could not call the
// webhook. The API server counts them.
func (f *fleetServer) failedOpen() map[string]int {
	f.t.Helper()
	out := map[string]int{}
	for _, m := range f.serverMetric("apiserver_admission_webhook_fail_open_count").GetMetric() {
		out[labelsOf(m)["name"]] += int(m.GetCounter().GetValue())
	}
	return out
}

// registerAs creates or replaces the webhook configurations with a changed clientConfig.
func (h *webhookProcess) registerAs(changes ...func(clientConfig map[string]any)) {
	h.t.Helper()
	for _, obj := range h.configurations("default") {
		h.eachWebhook(obj, func(w map[string]any) {
			clientConfig, ok := w["clientConfig"].(map[string]any)
			if !ok {
				h.t.Fatalf("clientConfig is %T", w["clientConfig"])
			}
			for _, change := range changes {
				change(clientConfig)
			}
		})
		h.Apply(h.t, "admin", obj)
		h.removeAtEnd(obj)
	}
}

// at directs the server to another host and port.
func (h *webhookProcess) at(host string, port int) func(map[string]any) {
	return func(clientConfig map[string]any) {
		if url, ok := clientConfig["url"].(string); ok {
			clientConfig["url"] = strings.Replace(url, fmt.Sprintf("127.0.0.1:%d", h.port),
				fmt.Sprintf("%s:%d", host, port), 1)
		}
	}
}

// trusting makes the server trust these certificate authorities.
func trusting(authorities ...[]byte) func(map[string]any) {
	var all []byte
	for _, a := range authorities {
		all = append(all, a...)
	}
	return func(clientConfig map[string]any) { clientConfig["caBundle"] = base64.StdEncoding.EncodeToString(all) }
}

// caBundles are the certificate authorities in the configurations.
func (h *webhookProcess) caBundles() []string {
	h.t.Helper()
	var out []string
	for _, kind := range []string{"MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"} {
		h.eachWebhook(h.get(object("admissionregistration.k8s.io/v1", kind, "", "fleetdoctor-webhook")),
			func(w map[string]any) {
				bundle, _, err := unstructured.NestedString(w, "clientConfig", "caBundle")
				if err != nil {
					h.t.Fatal(err)
				}
				out = append(out, bundle)
			})
	}
	return out
}

// pair is a certificate followed by its authority, and its key, in PEM.
type pair struct{ cert, key []byte }

// newPair creates a pair with a new authority, by default for localhost.
func newPair(t *testing.T, o certutil.SelfSignedCertKeyOptions) pair {
	t.Helper()
	if o.Host == "" {
		o.Host, o.AlternateIPs = "localhost", []net.IP{net.IPv4(127, 0, 0, 1)}
	}
	cert, key, err := certutil.GenerateSelfSignedCertKeyWithOptions(o)
	if err != nil {
		t.Fatal(err)
	}
	return pair{cert, key}
}

func (p pair) leaf() []byte {
	block, _ := pem.Decode(p.cert)
	return block.Bytes
}

// authority is the certificate authority, in PEM.
func (p pair) authority() []byte { return p.cert[strings.LastIndex(string(p.cert), "-----BEGIN"):] }

// install writes a pair to the webhook's files, and returns when the webhook serves it.
func (h *webhookProcess) install(p pair) {
	h.t.Helper()
	h.writePair(p)
	poll.Until(h.t, func() error {
		if string(h.served()) != string(p.leaf()) {
			return errors.New("the new certificate is not served")
		}
		return nil
	})
}

// writePair writes a pair to the webhook's files.
func (h *webhookProcess) writePair(p pair) {
	h.t.Helper()
	for name, content := range map[string][]byte{"tls.key": p.key, "tls.crt": p.cert} {
		if err := os.WriteFile(filepath.Join(h.dir, name), content, 0o600); err != nil {
			h.t.Fatal(err)
		}
	}
}

// served is the certificate that the webhook serves now.
func (h *webhookProcess) served() []byte {
	h.t.Helper()
	dialer := &tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true}} // the certificate is only read
	c, err := dialer.DialContext(h.t.Context(), "tcp", fmt.Sprintf("127.0.0.1:%d", h.port))
	if err != nil {
		h.t.Fatal(err)
	}
	defer func() {
		if err := c.Close(); err != nil {
			h.t.Error(err)
		}
	}()
	conn, ok := c.(*tls.Conn)
	if !ok {
		h.t.Fatalf("dialing returned %T", c)
	}
	return conn.ConnectionState().PeerCertificates[0].Raw
}
