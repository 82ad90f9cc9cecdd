// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"net"
	"sync"
	"testing"
)

// wire carries bytes between the API server and the webhook.
type wire struct {
	t    *testing.T
	port int // where the API server calls
	to   string

	mu          sync.Mutex // guards what follows
	connections map[net.Conn]bool
	dials       int
	// before is called with how many bytes are about to go to the webhook.
	before func(n int)
	// pass is called before bytes of an answer go to the API server.
	pass func()
}

// wire makes a wire to the webhook, which is gone when the test ends.
func (h *hook) wire() *wire {
	h.t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		h.t.Fatal(err)
	}
	addr, ok := l.Addr().(*net.TCPAddr)
	if !ok {
		h.t.Fatalf("listening at %v", l.Addr())
	}
	w := &wire{t: h.t, port: addr.Port, to: fmt.Sprintf("127.0.0.1:%d", h.port), connections: map[net.Conn]bool{}}
	var accepting sync.WaitGroup
	accepting.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return // it is closed
			}
			accepting.Go(func() { w.carry(c) })
		}
	})
	h.t.Cleanup(func() {
		_ = l.Close() // nobody calls any more
		w.cut()
		accepting.Wait()
	})
	return w
}

// intercept has a function called with the number of bytes that are about to go to the webhook, from now on.
func (w *wire) intercept(before func(n int)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.before = before
}

// holdAnswers holds up the bytes of answers from now on. The channel is closed when some are held up. They go on after letGo, or when the
// test ends.
func (w *wire) holdAnswers() (held <-chan struct{}, letGo func()) {
	reached, free := make(chan struct{}), make(chan struct{})
	reach := sync.OnceFunc(func() { close(reached) })
	w.mu.Lock()
	defer w.mu.Unlock()
	w.pass = func() { reach(); <-free }
	letGo = sync.OnceFunc(func() { close(free) })
	w.t.Cleanup(letGo)
	return reached, letGo
}

// cut ends every connection, so that the next request has to make a new one.
func (w *wire) cut() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for c := range w.connections {
		hangUp(c)
	}
}

// connected is how many connections there have been.
func (w *wire) connected() int { w.mu.Lock(); defer w.mu.Unlock(); return w.dials }

// hangUp closes a connection. Who reads from it, or writes to it, hears of that; it may be closed already.
func hangUp(c net.Conn) { _ = c.Close() }

func (w *wire) carry(caller net.Conn) {
	defer hangUp(caller)
	webhook, err := net.Dial("tcp", w.to)
	if err != nil {
		return // it is down, which the caller shall see
	}
	defer hangUp(webhook)
	w.mu.Lock()
	w.dials++
	w.connections[caller], w.connections[webhook] = true, true
	w.mu.Unlock()
	var both sync.WaitGroup
	both.Go(func() { w.ask(caller, webhook) })
	both.Go(func() { w.answer(webhook, caller) })
	both.Wait()
	w.mu.Lock()
	delete(w.connections, caller)
	delete(w.connections, webhook)
	w.mu.Unlock()
}

// ask carries requests.
func (w *wire) ask(caller, webhook net.Conn) {
	defer hangUp(webhook)
	buffer := make([]byte, 4096)
	for {
		n, err := caller.Read(buffer)
		w.mu.Lock()
		before := w.before
		w.mu.Unlock()
		if before != nil {
			before(n)
		}
		if _, failed := webhook.Write(buffer[:n]); err != nil || failed != nil {
			return
		}
	}
}

// answer carries answers.
func (w *wire) answer(webhook, caller net.Conn) {
	defer hangUp(caller)
	buffer := make([]byte, 4096)
	for {
		n, err := webhook.Read(buffer)
		w.mu.Lock()
		pass := w.pass
		w.mu.Unlock()
		if pass != nil && n > 0 {
			pass()
		}
		if _, failed := caller.Write(buffer[:n]); err != nil || failed != nil {
			return
		}
	}
}
