// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"errors"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fleetdoctor/kubectl-fleetdoctor/test/poll"
)

// TestWebhookFaultDown kills the webhook, so that connections are refused, and starts it again.
func TestWebhookFaultDown(t *testing.T) {
	h, b := serveWithGreetings(t, "texts", "more")
	h.kill()
	b.awaitFailOpen("texts")
	b.expectHelmOnly("texts")
	b.adoptAll()
	b.awaitFailOpen("texts")
	b.awaitFailOpen("more")
	b.expectHelmOnly("more", "texts")
	h.start()
	h.awaitReady()
	b.awaitStampedByWrite("texts")
	b.awaitStamped("more")
	b.expectAllReady()
}

// TestWebhookFaultDrained stops the webhook during a request: it answers the request and ends with status 0.
func TestWebhookFaultDrained(t *testing.T) {
	f := newFleet(t, shared)
	b := f.deploy("hello", greetings("texts"))
	h := f.newWebhook()
	w := h.serveThroughProxy()

	// The webhook reads the request when half of a large body has arrived.
	sent, held, release := 0, make(chan struct{}), make(chan struct{})
	var mu sync.Mutex
	var once sync.Once
	w.onRequest(func(n int) {
		mu.Lock()
		sent += n
		half := sent > 64<<10
		mu.Unlock()
		if half {
			once.Do(func() { close(held) })
			<-release
		}
	})
	type result struct {
		stamped bool
		err     error
	}
	written := make(chan result, 1)
	go func() {
		stamped, err := b.recreate(t.Context(), "texts", strings.Repeat("x", 128<<10))
		written <- result{stamped, err}
	}()
	await(t, "half of the request reaches the webhook", held)
	h.signal(syscall.SIGTERM)
	poll.Until(t, func() error {
		if !strings.Contains(h.log.String(), `"msg":"draining"`) {
			return errors.New("the webhook does not drain")
		}
		return nil
	})
	close(release)
	if r := receive(t, "the end of the write", written); r.err != nil || !r.stamped {
		t.Errorf("the request in progress: %+v", r)
	}
	if status := waitFor(t, h.process); status != 0 {
		t.Errorf("status %d, want 0", status)
	}
	expectContains(t, "the log", h.log.String(), `"msg":"drained"`)
	b.awaitFailOpen("texts")
	b.expectHelmOnly("texts")
	h.start()
	h.awaitReady()
	b.awaitStampedByWrite("texts")
	b.expectAllReady()
}

// TestWebhookFaultRestarts stops, kills and starts the webhook during continuous writes.
func TestWebhookFaultRestarts(t *testing.T) {
	h, b := serveWithGreetings(t, "texts", "busy-0", "busy-1")
	l := b.startLoad("busy-0", "busy-1")
	l.awaitMore(20)
	for range 2 {
		h.signal(syscall.SIGTERM)
		if status := waitFor(t, h.process); status != 0 {
			t.Errorf("status %d, want 0", status)
		}
		l.awaitMore(10)
		h.start()
		h.awaitReady()
		l.awaitMore(10)
		h.kill()
		l.awaitMore(10)
		h.start()
		h.awaitReady()
		b.awaitStamped("texts")
	}
	l.end()
	b.awaitStamped("busy-0")
	b.awaitStamped("busy-1")
	b.expectAllReady()
}

// TestWebhookFaultDeny kills a webhook with the mode deny: requests that it would deny pass.
func TestWebhookFaultDeny(t *testing.T) {
	f := newFleet(t, shared)
	b := f.deploy("hello", greetings("texts"))
	h := f.serveWebhook("default", "--guard-default=deny")
	expectDenied := func() {
		t.Helper()
		if err := f.Client().Delete(t.Context(), configMap("texts")); !apierrors.IsForbidden(err) {
			t.Errorf("deleting an owned object: error %v, want forbidden", err)
		}
	}
	expectDenied()
	h.kill()
	f.remove(configMap("texts"))
	b.awaitFailOpen("texts")
	b.expectHelmOnly("texts")
	h.start()
	h.awaitReady()
	b.awaitStampedByWrite("texts")
	expectDenied()
	b.expectAllReady()
}

// TestWebhookFaultHung has the webhook accept connections and never answer. A write waits two seconds, as in the
// manifests, once for each webhook that it concerns, and then passes.
func TestWebhookFaultHung(t *testing.T) {
	f := newFleet(t, shared)
	b := f.deploy("hello", greetings("texts", "owned"))
	h := f.newWebhook()
	h.timeout = h.manifestTimeout()
	if h.timeout != 2 {
		t.Errorf("timeoutSeconds is %d, want 2", h.timeout)
	}
	h.start()
	h.awaitReady()
	h.register("default")
	h.awaitCalls()
	h.signal(syscall.SIGSTOP)
	b.awaitFailOpen("texts")
	b.expectTimeouts("a write that would be stamped", map[string]int{stampWebhook: 1}, func() {
		b.mustRecreate("texts")
	})
	b.setOwnership(configMap("owned"), b.ownership())
	b.expectTimeouts("a write that removes the ownership metadata", map[string]int{stampWebhook: 1, guardWebhook: 1},
		func() { b.removeOwnership(configMap("owned")) })
	b.setOwnership(configMap("owned"), b.ownership())
	b.expectTimeouts("a write of another object", map[string]int{}, func() {
		if err := b.Client().Create(t.Context(), configMap("unrelated"), client.DryRunAll); err != nil {
			t.Errorf("a write failed: %v", err)
		}
	})
	b.expectHelmOnly("texts")
	h.signal(syscall.SIGCONT)
	b.awaitStampedByWrite("texts")
	b.awaitStamped("texts")
	b.expectAllReady()
}

// manifestTimeout is the timeoutSeconds of all webhooks in manifests/webhook.
func (h *webhookProcess) manifestTimeout() int64 {
	h.t.Helper()
	all := map[int64]bool{}
	for _, c := range rendered(h.t, "default") {
		if !strings.HasSuffix(c.GetKind(), "WebhookConfiguration") {
			continue
		}
		h.eachWebhook(c, func(w map[string]any) {
			seconds, _, err := unstructured.NestedInt64(w, "timeoutSeconds")
			if err != nil {
				h.t.Fatal(err)
			}
			all[seconds] = true
		})
	}
	if len(all) != 1 {
		h.t.Fatalf("timeouts differ: %v", all)
	}
	for seconds := range all {
		return seconds
	}
	return 0
}

// expectTimeouts compares the number of calls, by webhook, for which the API server gets no response while do
// runs.
func (f *fleetServer) expectTimeouts(what string, want map[string]int, do func()) {
	f.t.Helper()
	before := f.failedOpen()
	do()
	got := f.failedOpen()
	for name, n := range before {
		if got[name] -= n; got[name] == 0 {
			delete(got, name)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		f.t.Errorf("%s: calls without a response (-want +got):\n%s", what, diff)
	}
}

// TestWebhookFaultSlow delays a response: the write waits for it and is stamped.
func TestWebhookFaultSlow(t *testing.T) {
	f := newFleet(t, shared)
	b := f.deploy("hello", greetings("texts"))
	h := f.newWebhook()
	w := h.serveThroughProxy()
	b.awaitStamped("texts") // opens the connection
	held, release := w.holdResponses()
	written := make(chan bool, 1)
	go func() {
		stamped, err := b.recreate(t.Context(), "texts")
		written <- stamped && err == nil
	}()
	await(t, "a response is delayed", held)
	select {
	case <-written:
		t.Fatal("the write did not wait for the response")
	default:
	}
	release()
	if !receive(t, "the end of the write", written) {
		t.Error("the write is not stamped")
	}
	b.expectAllReady()
}
