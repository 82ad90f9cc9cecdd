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

// TestWebhookFaultDown has the webhook die, so that connections are refused, and starts it anew.
func TestWebhookFaultDown(t *testing.T) {
	h, b := faulty(t, "texts", "more")
	h.kill()
	b.goesOn("texts")
	b.missed("texts")
	b.adopted()
	b.goesOn("texts")
	b.goesOn("more")
	b.missed("more", "texts")
	h.start()
	h.awaitReady()
	b.stampedByNextWrite("texts")
	b.isStamped("more")
	b.allReady()
}

// TestWebhookFaultDrained tells the webhook to end while it is in the middle of a request: it answers that, and ends well.
func TestWebhookFaultDrained(t *testing.T) {
	f := newFleet(t, shared)
	b := f.deploy("hello", greetings("texts"))
	h := f.newWebhook()
	h.start()
	h.awaitReady()
	w := h.wire()
	h.registerAs(h.at("127.0.0.1", w.port))
	h.awaitCalls()

	// The half of a large request is with the webhook, and so it has begun to read it.
	sent, held, letGo := 0, make(chan struct{}), make(chan struct{})
	var mu sync.Mutex
	var once sync.Once
	w.intercept(func(n int) {
		mu.Lock()
		sent += n
		half := sent > 64<<10
		mu.Unlock()
		if half {
			once.Do(func() { close(held) })
			<-letGo
		}
	})
	type result struct {
		stamped bool
		err     error
	}
	written := make(chan result, 1)
	go func() {
		stamped, err := b.take(t.Context(), "texts", strings.Repeat("x", 128<<10))
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
	close(letGo)
	if r := <-written; r.err != nil || !r.stamped {
		t.Errorf("the request in flight: %+v", r)
	}
	if status := waitFor(t, h.process); status != 0 {
		t.Errorf("status %d, want 0", status)
	}
	says(t, "the log", h.log.String(), `"msg":"drained"`)
	b.goesOn("texts")
	b.missed("texts")
	h.start()
	h.awaitReady()
	b.stampedByNextWrite("texts")
	b.allReady()
}

// TestWebhookFaultRestarts ends the webhook while there are writes all the time, and starts it anew, both well and badly.
func TestWebhookFaultRestarts(t *testing.T) {
	h, b := faulty(t, "texts", "busy-0", "busy-1")
	l := b.underLoad("busy-0", "busy-1")
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
		b.isStamped("texts")
	}
	l.end()
	b.isStamped("busy-0")
	b.isStamped("busy-1")
	b.allReady()
}

// TestWebhookFaultDeny has a webhook die that denies: what it would have denied goes on.
func TestWebhookFaultDeny(t *testing.T) {
	f := newFleet(t, shared)
	b := f.deploy("hello", greetings("texts"))
	h := f.serveWebhook("default", "--guard-default=deny")
	denies := func() {
		t.Helper()
		if err := f.Client().Delete(t.Context(), configMap("texts")); !apierrors.IsForbidden(err) {
			t.Errorf("deleting what a bundle owns: got %v, want it to be forbidden", err)
		}
	}
	denies()
	h.kill()
	f.remove(configMap("texts"))
	b.goesOn("texts")
	b.missed("texts")
	h.start()
	h.awaitReady()
	b.stampedByNextWrite("texts")
	denies()
	b.allReady()
}

// TestWebhookFaultHung has the webhook take connections and never answer. A write waits for each webhook that it concerns once, for the two
// seconds of the manifests, and goes on.
func TestWebhookFaultHung(t *testing.T) {
	f := newFleet(t, shared)
	b := f.deploy("hello", greetings("texts", "kept"))
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
	b.goesOn("texts")
	b.expectTimeouts("a write that would be stamped", map[string]int{stampWebhook: 1}, func() { b.takeOver("texts") })
	b.mark(configMap("kept"), b.stamps())
	b.expectTimeouts("a write that takes away the ownership metadata", map[string]int{stampWebhook: 1, guardWebhook: 1},
		func() { b.strip(configMap("kept")) })
	b.mark(configMap("kept"), b.stamps())
	b.expectTimeouts("a write of something else", map[string]int{}, func() {
		if err := b.Client().Create(t.Context(), configMap("else"), client.DryRunAll); err != nil {
			t.Errorf("a write does not go on: %v", err)
		}
	})
	b.missed("texts")
	h.signal(syscall.SIGCONT)
	b.stampedByNextWrite("texts")
	b.isStamped("texts")
	b.allReady()
}

// manifestTimeout is how many seconds the server waits for each of the webhooks, by manifests/.
func (h *hook) manifestTimeout() int64 {
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

// expectTimeouts holds how many calls of each webhook the API server gives up, and goes on without, while something is done.
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
		f.t.Errorf("%s: calls without an answer (-want +got):\n%s", what, diff)
	}
}

// TestWebhookFaultSlow holds up an answer: the write waits for it, and is stamped.
func TestWebhookFaultSlow(t *testing.T) {
	f := newFleet(t, shared)
	b := f.deploy("hello", greetings("texts"))
	h := f.newWebhook()
	h.start()
	h.awaitReady()
	w := h.wire()
	h.registerAs(h.at("127.0.0.1", w.port))
	h.awaitCalls()
	b.isStamped("texts") // the connection is there
	held, letGo := w.holdAnswers()
	written := make(chan bool, 1)
	go func() {
		stamped, err := b.take(t.Context(), "texts")
		written <- stamped && err == nil
	}()
	await(t, "an answer is held up", held)
	select {
	case <-written:
		t.Fatal("the write did not wait for the answer")
	default:
	}
	letGo()
	if !<-written {
		t.Error("the write is not stamped")
	}
	b.allReady()
}
