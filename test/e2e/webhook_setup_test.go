// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	certutil "k8s.io/client-go/util/cert"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"

	"github.com/fleetdoctor/kubectl-fleetdoctor/test/poll"
	"github.com/fleetdoctor/kubectl-fleetdoctor/test/ports"
)

// hook is `webhook serve` as a process of its own. The server calls it on loopback: its configurations are those of manifests/, with a URL for
// the reference to a Service.
type hook struct {
	*fleetServer
	args                  []string
	dir                   string // of its certificate
	port, metrics, probes int
	process               *exec.Cmd
	log                   *lockedBuffer
	// timeout is how many seconds the server waits for an answer. The manifests' two would let a write pass unstamped on a machine that stands
	// still for so long.
	timeout int64
}

// lockedBuffer is a buffer that a process may write to while a test reads it.
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

// serveWebhook starts the webhook with further arguments, registers what an overlay of manifests/ registers, and returns when requests reach
// it. All of it is gone when the test ends.
func (f *fleetServer) serveWebhook(overlay string, args ...string) *hook {
	f.t.Helper()
	h := f.newWebhook(args...)
	h.start()
	h.awaitReady()
	h.register(overlay)
	h.awaitCalls()
	return h
}

// newWebhook prepares a webhook, with a certificate in files.
func (f *fleetServer) newWebhook(args ...string) *hook {
	f.t.Helper()
	free, err := ports.Free(3)
	if err != nil {
		f.t.Fatal(err)
	}
	h := &hook{fleetServer: f, dir: f.t.TempDir(), port: free[0], metrics: free[1], probes: free[2], log: &lockedBuffer{}, timeout: 30}
	h.args = append([]string{"webhook", "serve", "--kubeconfig", f.kubeconfig, "--namespace", "fleetdoctor-system", "--certificates=files", "--cert-dir", h.dir,
		"--bind-address=127.0.0.1", "--port", strconv.Itoa(h.port), "--metrics-bind-address", fmt.Sprintf("127.0.0.1:%d", h.metrics),
		"--health-probe-bind-address", fmt.Sprintf("127.0.0.1:%d", h.probes), "--shutdown-delay=0s"}, args...)
	h.certify()
	return h
}

// certify writes a new certificate, of an authority of its own, which stands behind it in the file.
func (h *hook) certify() {
	h.t.Helper()
	cert, key, err := certutil.GenerateSelfSignedCertKey("localhost", []net.IP{net.IPv4(127, 0, 0, 1)}, nil)
	if err != nil {
		h.t.Fatal(err)
	}
	for name, content := range map[string][]byte{"tls.key": key, "tls.crt": cert} {
		if err := os.WriteFile(filepath.Join(h.dir, name), content, 0o600); err != nil {
			h.t.Fatal(err)
		}
	}
}

// authority is the certificate of the authority, as PEM.
func (h *hook) authority() []byte {
	h.t.Helper()
	chain, err := os.ReadFile(filepath.Join(h.dir, "tls.crt"))
	if err != nil {
		h.t.Fatal(err)
	}
	return chain[bytes.LastIndex(chain, []byte("-----BEGIN")):]
}

// start runs the process.
func (h *hook) start() {
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
			h.t.Logf("the webhook said:\n%s", h.log)
		}
	})
}

// signal sends a signal to the process.
func (h *hook) signal(s os.Signal) {
	h.t.Helper()
	if err := h.process.Process.Signal(s); err != nil && !errors.Is(err, os.ErrProcessDone) {
		h.t.Error(err)
	}
}

// kill ends the process at once, and waits for that. It may be over already.
func (h *hook) kill() {
	h.t.Helper()
	h.signal(syscall.SIGKILL)
	_ = h.process.Wait() // it was killed, or ended before
}

// awaitReady returns when the webhook says that it knows all.
func (h *hook) awaitReady() {
	h.t.Helper()
	poll.Until(h.t, func() error {
		if status := h.probe("readyz"); status != http.StatusOK {
			return fmt.Errorf("readyz: status %d; the webhook says:\n%s", status, h.log)
		}
		return nil
	})
}

// probe asks livez or readyz; 0 stands for no answer.
func (h *hook) probe(name string) int {
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

// rendered are the objects of an overlay of manifests/.
func rendered(t *testing.T, overlay string) []*unstructured.Unstructured {
	t.Helper()
	all, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), filepath.Join("..", "..", "manifests", "overlays", overlay))
	if err != nil {
		t.Fatal(err)
	}
	var out []*unstructured.Unstructured
	for _, r := range all.Resources() {
		raw, err := r.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		obj := &unstructured.Unstructured{}
		if err := obj.UnmarshalJSON(raw); err != nil {
			t.Fatal(err)
		}
		out = append(out, obj)
	}
	return out
}

// configurations are an overlay's webhook configurations, with a URL on loopback for the Service.
func (h *hook) configurations(overlay string) []*unstructured.Unstructured {
	h.t.Helper()
	var out []*unstructured.Unstructured
	for _, obj := range rendered(h.t, overlay) {
		if !strings.HasSuffix(obj.GetKind(), "WebhookConfiguration") {
			continue
		}
		h.eachWebhook(obj, func(w map[string]any) {
			path, _, err := unstructured.NestedString(w, "clientConfig", "service", "path")
			if err != nil {
				h.t.Fatal(err)
			}
			w["timeoutSeconds"] = h.timeout
			w["clientConfig"] = map[string]any{"url": fmt.Sprintf("https://127.0.0.1:%d%s", h.port, path), "caBundle": base64.StdEncoding.EncodeToString(h.authority())}
		})
		out = append(out, obj)
	}
	return out
}

// eachWebhook changes the webhooks of a configuration.
func (h *hook) eachWebhook(configuration *unstructured.Unstructured, change func(map[string]any)) {
	h.t.Helper()
	webhooks, _, err := unstructured.NestedSlice(configuration.Object, "webhooks")
	if err != nil || len(webhooks) == 0 {
		h.t.Fatalf("%s has no webhooks: %v", configuration.GetName(), err)
	}
	for _, w := range webhooks {
		webhook, ok := w.(map[string]any)
		if !ok {
			h.t.Fatalf("a webhook is %T", w)
		}
		change(webhook)
	}
	if err := unstructured.SetNestedSlice(configuration.Object, webhooks, "webhooks"); err != nil {
		h.t.Fatal(err)
	}
}

// register has the server call the webhook, by the configurations of an overlay, until the test ends.
func (h *hook) register(overlay string) {
	h.t.Helper()
	for _, obj := range h.configurations(overlay) {
		h.Apply(h.t, "admin", obj)
		h.removeAtEnd(obj)
	}
}

// awaitCalls returns when a request reaches both webhooks: the server takes up a configuration a moment after it is stored.
func (h *hook) awaitCalls() {
	h.t.Helper()
	poll.Until(h.t, func() error {
		before := h.counted("stamp", "", "")
		probe := configMap("is-it-called")
		probe.SetAnnotations(map[string]string{"meta.helm.sh/release-name": "nobody"})
		if err := h.Client().Create(h.t.Context(), probe, client.DryRunAll); err != nil {
			return err
		}
		if h.counted("stamp", "", "") == before {
			return errors.New("the webhook is not called")
		}
		return nil
	})
	marked := configMap("is-it-guarded")
	marked.SetLabels(map[string]string{"objectset.rio.cattle.io/hash": "nobody"})
	h.Apply(h.t, "admin", marked)
	poll.Until(h.t, func() error {
		before := h.counted("guard", "", "")
		if err := h.Client().Delete(h.t.Context(), marked, client.DryRunAll); err != nil {
			return err
		}
		if h.counted("guard", "", "") == before {
			return errors.New("the guard is not called")
		}
		return nil
	})
	h.remove(marked)
}

// counted is how many requests a handler answered, with a decision and for a reason; empty words stand for any.
func (h *hook) counted(handler, decision, reason string) int {
	h.t.Helper()
	sum := 0
	for _, s := range h.measured("requests_total") {
		if (handler == "" || s.labels["handler"] == handler) && (decision == "" || s.labels["decision"] == decision) && (reason == "" || s.labels["reason"] == reason) {
			sum += s.value
		}
	}
	return sum
}

// series is a number that the process tells of, of a metric that is a counter or a gauge.
type series struct {
	labels map[string]string
	value  int
}

// measured are the series of one of the process's metrics; none where it tells of none.
func (h *hook) measured(name string) []series {
	h.t.Helper()
	r, err := http.Get(fmt.Sprintf("http://127.0.0.1:%d/metrics", h.metrics))
	if err != nil {
		h.t.Fatal(err)
	}
	defer func() {
		if err := r.Body.Close(); err != nil {
			h.t.Error(err)
		}
	}()
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(r.Body)
	if err != nil {
		h.t.Fatal(err)
	}
	var out []series
	for _, m := range families["fleetdoctor_webhook_"+name].GetMetric() {
		labels := map[string]string{}
		for _, l := range m.GetLabel() {
			labels[l.GetName()] = l.GetValue()
		}
		out = append(out, series{labels, int(m.GetCounter().GetValue() + m.GetGauge().GetValue())})
	}
	return out
}
