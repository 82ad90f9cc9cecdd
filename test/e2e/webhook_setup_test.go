// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	certutil "k8s.io/client-go/util/cert"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/install"
	"github.com/fleetdoctor/kubectl-fleetdoctor/test/poll"
	"github.com/fleetdoctor/kubectl-fleetdoctor/test/ports"
	"github.com/fleetdoctor/kubectl-fleetdoctor/webhook/installation"
)

// webhookProcess is `webhook serve` as a process. The server calls it on loopback: the configurations of
// manifests/webhook have a URL in place of the Service.
type webhookProcess struct {
	*fleetServer
	args                  []string
	dir                   string // of the certificate
	port, metrics, probes int
	process               *exec.Cmd
	log                   *lockedBuffer
	// timeout is the timeoutSeconds of the webhooks. With the two seconds of the manifests, a write could pass
	// unstamped on a slow machine.
	timeout int64
}

// lockedBuffer is a buffer that a process writes while a test reads it.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}
func (l *lockedBuffer) String() string { l.mu.Lock(); defer l.mu.Unlock(); return l.b.String() }

// serveWebhook starts the webhook with more arguments, registers it with a variant of the chart, and returns
// when requests reach it. It is removed when the test ends.
func (f *fleetServer) serveWebhook(variant string, args ...string) *webhookProcess {
	f.t.Helper()
	h := f.newWebhook(args...)
	h.start()
	h.awaitReady()
	h.register(variant)
	h.awaitCalls()
	return h
}

// newWebhook prepares a webhook with certificate files.
func (f *fleetServer) newWebhook(args ...string) *webhookProcess {
	f.t.Helper()
	free, err := ports.Free(3)
	if err != nil {
		f.t.Fatal(err)
	}
	h := &webhookProcess{fleetServer: f, dir: f.t.TempDir(), port: free[0], metrics: free[1], probes: free[2],
		log: &lockedBuffer{}, timeout: 30}
	h.args = append([]string{"webhook", "serve", "--kubeconfig", f.kubeconfig, "--namespace", "fleetdoctor-system",
		"--certificates=files", "--cert-dir", h.dir,
		"--bind-address=127.0.0.1", "--port", strconv.Itoa(h.port), "--metrics-bind-address",
		fmt.Sprintf("127.0.0.1:%d", h.metrics),
		"--health-probe-bind-address", fmt.Sprintf("127.0.0.1:%d", h.probes), "--shutdown-delay=0s"}, args...)
	h.writePair(newPair(f.t, certutil.SelfSignedCertKeyOptions{}))
	return h
}

// authority is the certificate authority, in PEM.
func (h *webhookProcess) authority() []byte {
	h.t.Helper()
	chain, err := os.ReadFile(filepath.Join(h.dir, "tls.crt"))
	if err != nil {
		h.t.Fatal(err)
	}
	return chain[bytes.LastIndex(chain, []byte("-----BEGIN")):]
}

// start starts the process.
func (h *webhookProcess) start() {
	h.t.Helper()
	h.process = exec.CommandContext(context.WithoutCancel(h.t.Context()), built.path(h.t), h.args...)
	h.process.Stderr, h.process.Stdout = h.log, h.log
	if err := h.process.Start(); err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() {
		h.kill()
		if strings.Contains(h.log.String(), "WARNING: DATA RACE") {
			h.t.Error("the webhook has a data race")
		}
		if h.t.Failed() {
			h.t.Logf("log of the webhook:\n%s", h.log)
		}
	})
}

// signal sends a signal to the process.
func (h *webhookProcess) signal(s os.Signal) {
	h.t.Helper()
	if err := h.process.Process.Signal(s); err != nil && !errors.Is(err, os.ErrProcessDone) {
		h.t.Error(err)
	}
}

// kill kills the process, if it still runs, and waits for its end.
func (h *webhookProcess) kill() {
	h.t.Helper()
	h.signal(syscall.SIGKILL)
	_ = h.process.Wait() // the status does not matter
}

// awaitReady returns when the webhook is ready.
func (h *webhookProcess) awaitReady() {
	h.t.Helper()
	poll.Until(h.t, func() error {
		if status := h.probe("readyz"); status != http.StatusOK {
			return fmt.Errorf("readyz: status %d; log of the webhook:\n%s", status, h.log)
		}
		return nil
	})
}

// probe returns the HTTP status of livez or readyz; 0 without a response.
func (h *webhookProcess) probe(name string) int {
	h.t.Helper()
	r, err := http.Get(fmt.Sprintf("http://127.0.0.1:%d/%s", h.probes, name))
	if err != nil {
		return 0
	}
	if err := r.Body.Close(); err != nil {
		h.t.Error(err)
	}
	return r.StatusCode
}

// variants are the values of the chart that the tests use.
var variants = map[string]installation.Values{
	"default":      {},
	"exact":        {Exact: true},
	"cert-manager": {Certificates: installation.CertManager},
	"scoped":       {ReleaseNamespaces: []string{"guestbook", "shop"}},
}

// rendered are the objects of the chart in a variant.
func rendered(t *testing.T, variant string) []*unstructured.Unstructured {
	t.Helper()
	values, ok := variants[variant]
	if !ok {
		t.Fatalf("no variant %q", variant)
	}
	out, err := installation.Chart.Render(install.Namespace, &values)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// configurations are the webhook configurations of a variant, with a URL on loopback.
func (h *webhookProcess) configurations(variant string) []*unstructured.Unstructured {
	h.t.Helper()
	var out []*unstructured.Unstructured
	for _, obj := range rendered(h.t, variant) {
		if !strings.HasSuffix(obj.GetKind(), "WebhookConfiguration") {
			continue
		}
		h.eachWebhook(obj, func(w map[string]any) {
			path, _, err := unstructured.NestedString(w, "clientConfig", "service", "path")
			if err != nil {
				h.t.Fatal(err)
			}
			w["timeoutSeconds"] = h.timeout
			w["clientConfig"] = map[string]any{"url": fmt.Sprintf("https://127.0.0.1:%d%s", h.port, path),
				"caBundle": base64.StdEncoding.EncodeToString(h.authority())}
		})
		out = append(out, obj)
	}
	return out
}

// eachWebhook changes the webhooks of a configuration.
func (h *webhookProcess) eachWebhook(configuration *unstructured.Unstructured, change func(map[string]any)) {
	h.t.Helper()
	webhooks, _, err := unstructured.NestedSlice(configuration.Object, "webhooks")
	if err != nil || len(webhooks) == 0 {
		h.t.Fatalf("%s has no webhooks: %v", configuration.GetName(), err)
	}
	for _, w := range webhooks {
		webhook, ok := w.(map[string]any)
		if !ok {
			h.t.Fatalf("the webhook is %T", w)
		}
		change(webhook)
	}
	if err := unstructured.SetNestedSlice(configuration.Object, webhooks, "webhooks"); err != nil {
		h.t.Fatal(err)
	}
}

// register creates the configurations of a variant until the test ends.
func (h *webhookProcess) register(variant string) {
	h.t.Helper()
	for _, obj := range h.configurations(variant) {
		h.Apply(h.t, "admin", obj)
		h.removeAtEnd(obj)
	}
}

// awaitCalls returns when requests reach both webhooks: the server uses a configuration a moment after it is
// stored.
func (h *webhookProcess) awaitCalls() {
	h.t.Helper()
	poll.Until(h.t, func() error {
		before := h.requestCount("stamp", "", "")
		probe := configMap("is-it-called")
		probe.SetAnnotations(map[string]string{"meta.helm.sh/release-name": "nobody"})
		if err := h.Client().Create(h.t.Context(), probe, client.DryRunAll); err != nil {
			return err
		}
		if h.requestCount("stamp", "", "") == before {
			return errors.New("the webhook is not called yet")
		}
		return nil
	})
	withHash := configMap("is-it-guarded")
	withHash.SetLabels(map[string]string{"objectset.rio.cattle.io/hash": "nobody"})
	h.Apply(h.t, "admin", withHash)
	poll.Until(h.t, func() error {
		before := h.requestCount("guard", "", "")
		if err := h.Client().Delete(h.t.Context(), withHash, client.DryRunAll); err != nil {
			return err
		}
		if h.requestCount("guard", "", "") == before {
			return errors.New("the validating webhook is not called yet")
		}
		return nil
	})
	h.remove(withHash)
}

// requestCount is the number of requests that a handler answered, by decision and reason; an empty string matches
// any.
func (h *webhookProcess) requestCount(handler, decision, reason string) int {
	h.t.Helper()
	sum := 0
	for _, s := range h.series("requests_total") {
		if (handler == "" || s.labels["handler"] == handler) && (decision == "" || s.labels["decision"] == decision) &&
			(reason == "" || s.labels["reason"] == reason) {
			sum += s.value
		}
	}
	return sum
}

// series is a counter or a gauge with its labels.
type series struct {
	labels map[string]string
	value  int
}

// series returns the series of one of the webhook's metrics.
func (h *webhookProcess) series(name string) []series {
	h.t.Helper()
	var out []series
	name = "fleetdoctor_webhook_" + name
	all := families(h.t, http.DefaultClient, fmt.Sprintf("http://127.0.0.1:%d/metrics", h.metrics), name)
	for _, m := range all[name].GetMetric() {
		out = append(out, series{labelsOf(m), int(m.GetCounter().GetValue() + m.GetGauge().GetValue())})
	}
	return out
}
