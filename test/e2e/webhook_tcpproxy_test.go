// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"net"
	"sync"
	"testing"
)

// tcpProxy forwards bytes between the API server and the webhook.
type tcpProxy struct {
	t    *testing.T
	port int // to which the API server connects
	to   string

	mu          sync.Mutex // guards the fields below
	connections map[net.Conn]bool
	dials       int
	// before is called with the number of bytes that are forwarded next to the webhook.
	before func(n int)
	// beforeResponse is called before bytes of a response are forwarded to the API server.
	beforeResponse func()
}

// tcpProxy makes a wire to the webhook, which is gone when the test ends.
func (h *webhookProcess) tcpProxy() *tcpProxy {
	h.t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		h.t.Fatal(err)
	}
	addr, ok := l.Addr().(*net.TCPAddr)
	if !ok {
		h.t.Fatalf("listening at %v", l.Addr())
	}
	w := &tcpProxy{t: h.t, port: addr.Port, to: fmt.Sprintf("127.0.0.1:%d", h.port), connections: map[net.Conn]bool{}}
	var accepting sync.WaitGroup
	accepting.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return // the listener is closed
			}
			accepting.Go(func() { w.forward(c) })
		}
	})
	h.t.Cleanup(func() {
		_ = l.Close() // the test has ended
		w.closeAll()
		accepting.Wait()
	})
	return w
}

// serveThroughProxy starts the webhook, registers it with the address of a tcpProxy, and returns when requests reach
// it.
func (h *webhookProcess) serveThroughProxy(changes ...func(clientConfig map[string]any)) *tcpProxy {
	h.t.Helper()
	h.start()
	h.awaitReady()
	w := h.tcpProxy()
	h.registerAs(append(changes, h.at("127.0.0.1", w.port))...)
	h.awaitCalls()
	return w
}

// onRequest sets a function that is called with the number of bytes before they are forwarded to the webhook.
func (w *tcpProxy) onRequest(before func(n int)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.before = before
}

// holdResponses delays the bytes of responses from now on. The channel is closed when the first bytes are delayed.
// They continue after release, or when the test ends.
func (w *tcpProxy) holdResponses() (held <-chan struct{}, release func()) {
	reached, free := make(chan struct{}), make(chan struct{})
	reach := sync.OnceFunc(func() { close(reached) })
	w.mu.Lock()
	defer w.mu.Unlock()
	w.beforeResponse = func() { reach(); <-free }
	release = sync.OnceFunc(func() { close(free) })
	w.t.Cleanup(release)
	return reached, release
}

// closeAll closes every connection, so that the next request must open a new one.
func (w *tcpProxy) closeAll() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for c := range w.connections {
		closeConnection(c)
	}
}

// connectionCount is the number of connections so far.
func (w *tcpProxy) connectionCount() int { w.mu.Lock(); defer w.mu.Unlock(); return w.dials }

// closeConnection closes a connection, which may be closed already. The other side notices.
func closeConnection(c net.Conn) { _ = c.Close() }

func (w *tcpProxy) forward(caller net.Conn) {
	defer closeConnection(caller)
	webhook, err := net.Dial("tcp", w.to)
	if err != nil {
		return // the webhook is down; the caller sees a closed connection
	}
	defer closeConnection(webhook)
	w.mu.Lock()
	w.dials++
	w.connections[caller], w.connections[webhook] = true, true
	w.mu.Unlock()
	var both sync.WaitGroup
	both.Go(func() { w.forwardRequests(caller, webhook) })
	both.Go(func() { w.forwardResponses(webhook, caller) })
	both.Wait()
	w.mu.Lock()
	delete(w.connections, caller)
	delete(w.connections, webhook)
	w.mu.Unlock()
}

// forwardRequests forwards requests.
func (w *tcpProxy) forwardRequests(caller, webhook net.Conn) {
	defer closeConnection(webhook)
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

// forwardResponses forwards responses.
func (w *tcpProxy) forwardResponses(webhook, caller net.Conn) {
	defer closeConnection(caller)
	buffer := make([]byte, 4096)
	for {
		n, err := webhook.Read(buffer)
		w.mu.Lock()
		beforeResponse := w.beforeResponse
		w.mu.Unlock()
		if beforeResponse != nil && n > 0 {
			beforeResponse()
		}
		if _, failed := caller.Write(buffer[:n]); err != nil || failed != nil {
			return
		}
	}
}
