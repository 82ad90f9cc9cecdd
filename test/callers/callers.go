// SPDX-License-Identifier: Apache-2.0

// Package callers connects clients in memory with a server, in a synctest bubble: time limits pass at once.
package callers

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
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// Listener accepts the connections of callers.
type Listener chan net.Conn

// Accept implements net.Listener.
func (l Listener) Accept() (net.Conn, error) {
	if c, ok := <-l; ok {
		return c, nil
	}
	return nil, net.ErrClosed
}

// Close implements net.Listener.
func (l Listener) Close() error { close(l); return nil }

// Addr implements net.Listener.
func (l Listener) Addr() net.Addr { return &net.UnixAddr{} }

// Serve answers the callers until the test ends. s accepts them from on, which wraps l.
func (l Listener) Serve(t *testing.T, s *http.Server, on net.Listener) {
	t.Helper()
	served := make(chan error, 1)
	go func() { served <- s.Serve(on) }()
	t.Cleanup(func() {
		if err := s.Shutdown(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
		if err := <-served; !errors.Is(err, http.ErrServerClosed) {
			t.Error(err)
		}
	})
}

// From is a connection from an address.
type From struct {
	net.Conn
	Peer string
}

// RemoteAddr implements net.Conn.
func (f From) RemoteAddr() net.Addr {
	return net.TCPAddrFromAddrPort(netip.AddrPortFrom(netip.MustParseAddr(f.Peer), 1))
}

// Caller is the client of a connection.
type Caller struct{ net.Conn }

// Connect opens a connection from an address.
func (l Listener) Connect(t *testing.T, peer string) Caller {
	t.Helper()
	here, there := net.Pipe()
	t.Cleanup(func() {
		if err := here.Close(); err != nil {
			t.Error(err)
		}
	})
	l <- From{there, peer}
	return Caller{here}
}

// Begin sends headers without their end, and ignores that the server closes the connection.
func (c Caller) Begin(headers string) Caller {
	go func() { _, _ = fmt.Fprint(c, "POST / HTTP/1.1\r\nHost: webhook\r\n"+headers) }()
	synctest.Wait()
	return c
}

// Send states the size of a body, and sends a part of it. It waits until all goroutines are blocked.
func (c Caller) Send(stated, sent int) Caller {
	return c.Begin(fmt.Sprintf("Content-Length: %d\r\n\r\n%s", stated, bytes.Repeat([]byte(" "), sent)))
}

// Expect reads the answer.
func (c Caller) Expect(t *testing.T, name string, want int) {
	t.Helper()
	r, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	if _, err := io.Copy(io.Discard, r.Body); err != nil {
		t.Errorf("%s: %v", name, err)
	}
	if err := r.Body.Close(); err != nil {
		t.Errorf("%s: %v", name, err)
	}
	if r.StatusCode != want {
		t.Errorf("%s: got %s, want %d", name, r.Status, want)
	}
}

// Closed reports whether the server closed the connection without an answer.
func (c Caller) Closed(t *testing.T) bool {
	t.Helper()
	synctest.Wait()
	if err := c.SetReadDeadline(time.Now().Add(time.Nanosecond)); err != nil {
		return true
	}
	_, err := c.Read(make([]byte, 1))
	return err != nil && !strings.Contains(err.Error(), "timeout")
}

// ReadAll is a handler that reads the body of a request.
func ReadAll(w http.ResponseWriter, r *http.Request) {
	if _, err := io.Copy(io.Discard, r.Body); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
	}
}
