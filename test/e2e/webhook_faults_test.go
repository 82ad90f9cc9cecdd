// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fleetdoctor/kubectl-fleetdoctor/test/poll"
)

// slack is what a write may take beside what it waits for, on a machine at work.
const slack = 2 * time.Second

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
	w := h.wire(0)
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
		stamped, _, err := b.take(t.Context(), "texts", strings.Repeat("x", 128<<10))
		written <- result{stamped, err}
	}()
	select {
	case <-held:
	case r := <-written:
		close(letGo)
		t.Fatalf("nothing of the request went to the webhook: %+v", r)
	}
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
	if status := statusOf(t, h.process.Wait()); status != 0 {
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
		if status := statusOf(t, h.process.Wait()); status != 0 {
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

// TestWebhookFaultHung has the webhook take connections and never answer. That costs each webhook's timeout, once.
func TestWebhookFaultHung(t *testing.T) {
	f := newFleet(t, shared)
	b := f.deploy("hello", greetings("texts", "kept"))
	h := f.newWebhook()
	h.timeout = h.manifestTimeout()
	timeout := time.Duration(h.timeout) * time.Second
	if timeout != 2*time.Second {
		t.Errorf("timeoutSeconds is %s, want 2s", timeout)
	}
	h.start()
	h.awaitReady()
	h.register("default")
	h.awaitCalls()
	h.signal(syscall.SIGSTOP)
	b.goesOn("texts")
	costs(t, "a write that would be stamped", timeout, func() time.Duration {
		_, took := b.takeOver("texts")
		return took
	})
	costs(t, "a write that strips the marks, which is stamp's and guard's", 2*timeout, func() time.Duration {
		b.mark(configMap("kept"), b.stamps())
		start := time.Now()
		b.strip(configMap("kept"))
		return time.Since(start)
	})
	b.mark(configMap("kept"), b.stamps())
	costs(t, "a write of something else", 0, func() time.Duration {
		start := time.Now()
		if err := b.Client().Create(t.Context(), configMap("else"), client.DryRunAll); err != nil {
			t.Errorf("a write does not go on: %v", err)
		}
		return time.Since(start)
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

// costs holds that something takes what it waits for, and not much more. What a busy machine adds is in the slower of two.
func costs(t *testing.T, what string, want time.Duration, do func() time.Duration) {
	t.Helper()
	took := min(do(), do())
	t.Logf("%s took %s", what, took.Round(time.Millisecond))
	if took < want || took > want+slack {
		t.Errorf("%s took %s, want %s to %s", what, took, want, want+slack)
	}
}

// TestWebhookFaultSlow has each answer come late, and in time: writes are stamped, later.
func TestWebhookFaultSlow(t *testing.T) {
	const late = 300 * time.Millisecond
	f := newFleet(t, shared)
	b := f.deploy("hello", greetings("texts"))
	h := f.newWebhook()
	h.start()
	h.awaitReady()
	h.registerAs(h.at("127.0.0.1", h.wire(late).port))
	h.awaitCalls()
	costs(t, "a write that is stamped late", late, func() (took time.Duration) {
		poll.Until(t, func() error {
			stamped, t := b.takeOver("texts")
			if took = t; !stamped {
				return fmt.Errorf("the write of %s is not stamped", took)
			}
			return nil
		})
		return took
	})
	b.allReady()
}
