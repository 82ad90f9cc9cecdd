// SPDX-License-Identifier: Apache-2.0

package server

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
)

// pipes is a listener for connections in memory, which follow the clock of a synctest bubble.
type pipes chan net.Conn

func (p pipes) Accept() (net.Conn, error) {
	if c, ok := <-p; ok {
		return c, nil
	}
	return nil, net.ErrClosed
}

func (p pipes) Close() error { close(p); return nil }

func (p pipes) Addr() net.Addr { return &net.UnixAddr{} }

// from is a connection from an address.
type from struct {
	net.Conn
	peer string
}

func (f from) RemoteAddr() net.Addr {
	return net.TCPAddrFromAddrPort(netip.AddrPortFrom(netip.MustParseAddr(f.peer), 1))
}

// caller is a connection to a protected handler.
type caller struct{ net.Conn }

// protected serves a handler, and returns a function that connects to it.
func protected(t *testing.T, limits bodyLimits, next http.HandlerFunc) (connect func() caller) {
	t.Helper()
	connectAs, _ := serveOn(t, endpoint{handler: protect(next, limits, func() bool { return false }, logr.Discard()),
		connections: maxConnections})
	return func() caller { return connectAs("192.0.2.1") }
}

// serveOn serves an endpoint in memory. It returns a function that connects to it from an address, and its connections.
func serveOn(t *testing.T, e endpoint) (connectAs func(peer string) caller, open *connections) {
	t.Helper()
	listener := make(pipes)
	if e.onSurplus == nil {
		e.onSurplus = func() {}
	}
	s := e.serve(listener)
	open, ok := s.Listener.(*connections)
	if !ok {
		t.Fatalf("the listener is a %T", s.Listener)
	}
	served := make(chan error, 1)
	go func() { served <- s.Server.Serve(s.Listener) }()
	t.Cleanup(func() {
		if err := s.Server.Shutdown(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
		if err := <-served; !errors.Is(err, http.ErrServerClosed) {
			t.Error(err)
		}
	})
	return func(peer string) caller {
		here, there := net.Pipe()
		t.Cleanup(func() {
			if err := here.Close(); err != nil {
				t.Error(err)
			}
		})
		listener <- from{there, peer}
		return caller{here}
	}, open
}

// send states the size of a body, and sends a part of it. It waits until all goroutines are blocked.
func (c caller) send(stated, sent int) caller {
	go func() {
		// It fails if the body is refused.
		_, _ = fmt.Fprintf(c, "POST / HTTP/1.1\r\nHost: webhook\r\nContent-Length: %d\r\n\r\n%s", stated,
			bytes.Repeat([]byte(" "), sent))
	}()
	synctest.Wait()
	return c
}

// expect reads the answer.
func (c caller) expect(t *testing.T, name string, want int) {
	t.Helper()
	r, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	if read(t, r); r.StatusCode != want {
		t.Errorf("%s: got %s, want %d", name, r.Status, want)
	}
}

// readAll reads a body, like every handler.
func readAll(w http.ResponseWriter, r *http.Request) {
	if _, err := io.Copy(io.Discard, r.Body); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
	}
}

// TestStatedSizes checks that requests with bodies that are not sent do not block others.
func TestStatedSizes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		connect := protected(t, newBodyLimits(), readAll)
		for range 20 {
			connect().send(maxBody-1, 0)
			connect().send(maxUsual, 0)
		}
		connect().send(maxUsual, maxUsual).expect(t, "a body", http.StatusOK)
		connect().send(maxBody-1, maxBody-1).expect(t, "a large body", http.StatusOK)
	})
}

// TestHalfSent checks that incomplete large bodies block only other large bodies, and only until the read timeout.
func TestHalfSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		connect := protected(t, newBodyLimits(), readAll)
		start := time.Now()
		half := []caller{connect().send(maxBody-1, maxBody/2), connect().send(maxBody-1, maxBody/2-1)}
		connect().send(maxBody/2, maxBody/2).expect(t, "a large body", http.StatusServiceUnavailable)
		connect().send(maxUsual, maxUsual).expect(t, "a body", http.StatusOK)
		for _, c := range half {
			c.expect(t, "half a body", http.StatusBadRequest)
		}
		if took := time.Since(start); took != readTimeout {
			t.Errorf("waited %s for the rest of a body, want %s", took, readTimeout)
		}
		connect().send(maxBody-1, maxBody-1).expect(t, "a large body, afterwards", http.StatusOK)
	})
}

// TestUnread checks that the connection of a client that does not read its answer is closed, and that its bytes are
// released.
func TestUnread(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limits, closed := newBodyLimits(), make(chan error, 1)
		start := time.Now()
		protected(t, limits, func(w http.ResponseWriter, _ *http.Request) {
			_, err := w.Write(make([]byte, maxUsual))
			closed <- err
		})().send(maxUsual, maxUsual)
		if limits.usual.TryAcquire(maxBody) {
			t.Error("no bytes are acquired while the answer is written")
		}
		err := <-closed
		if took := time.Since(start); err == nil || took != writeTimeout {
			t.Errorf("closed after %s, with error %v; want %s", took, err, writeTimeout)
		}
		synctest.Wait()
		if !limits.usual.TryAcquire(maxBody) {
			t.Error("the bytes are not released")
		}
	})
}
