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
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
)

// pipes is a listener for connections that keep the time of a synctest bubble.
type pipes chan net.Conn

func (p pipes) Accept() (net.Conn, error) {
	if c, ok := <-p; ok {
		return c, nil
	}
	return nil, net.ErrClosed
}

func (p pipes) Close() error { close(p); return nil }

func (p pipes) Addr() net.Addr { return &net.UnixAddr{} }

// caller is one connection to a handler that is protected.
type caller struct{ net.Conn }

// protected serves a handler, and connects to it.
func protected(t *testing.T, limits bodyLimits, next http.HandlerFunc) (connect func() caller) {
	t.Helper()
	listener := make(pipes)
	s := http.Server{Handler: protect(next, limits, func() bool { return false }, logr.Discard())}
	served := make(chan error, 1)
	go func() { served <- s.Serve(listener) }()
	t.Cleanup(func() {
		if err := s.Shutdown(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
		if err := <-served; !errors.Is(err, http.ErrServerClosed) {
			t.Error(err)
		}
	})
	return func() caller {
		here, there := net.Pipe()
		t.Cleanup(func() {
			if err := here.Close(); err != nil {
				t.Error(err)
			}
		})
		listener <- there
		return caller{here}
	}
}

// send states the size of a body, and sends that much of it which arrives. It waits until nothing more happens.
func (c caller) send(stated, arrives int) caller {
	go func() {
		// It fails where the body is refused.
		_, _ = fmt.Fprintf(c, "POST / HTTP/1.1\r\nHost: webhook\r\nContent-Length: %d\r\n\r\n%s", stated, bytes.Repeat([]byte(" "), arrives))
	}()
	synctest.Wait()
	return c
}

// expect reads the answer.
func (c caller) expect(t *testing.T, what string, want int) {
	t.Helper()
	r, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	if read(t, r); r.StatusCode != want {
		t.Errorf("%s: got %s, want %d", what, r.Status, want)
	}
}

// taken reads a body, as every handler does.
func taken(w http.ResponseWriter, r *http.Request) {
	if _, err := io.Copy(io.Discard, r.Body); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
	}
}

// TestPromised holds that bodies which are only promised keep nobody out, however many there are.
func TestPromised(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		connect := protected(t, newBodyLimits(), taken)
		for range 20 {
			connect().send(maxBody-1, 0)
			connect().send(maxUsual, 0)
		}
		connect().send(maxUsual, maxUsual).expect(t, "a body", http.StatusOK)
		connect().send(maxBody-1, maxBody-1).expect(t, "a large body", http.StatusOK)
	})
}

// TestHalfSent holds that large bodies which stay half sent keep out only large ones, and these no longer than the API server waits.
func TestHalfSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		connect := protected(t, newBodyLimits(), taken)
		start := time.Now()
		half := []caller{connect().send(maxBody-1, maxBody/2), connect().send(maxBody-1, maxBody/2-1)}
		connect().send(maxBody/2, maxBody/2).expect(t, "a large body", http.StatusServiceUnavailable)
		connect().send(maxUsual, maxUsual).expect(t, "a body", http.StatusOK)
		for _, c := range half {
			c.expect(t, "half a body", http.StatusBadRequest)
		}
		if took := time.Since(start); took != readTimeout {
			t.Errorf("what did not arrive was waited for %s, want %s", took, readTimeout)
		}
		connect().send(maxBody-1, maxBody-1).expect(t, "a large body, afterwards", http.StatusOK)
	})
}

// TestUnread holds that a client which does not read its answer is given up, and its limits is given back.
func TestUnread(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limits, gaveUp := newBodyLimits(), make(chan error, 1)
		start := time.Now()
		protected(t, limits, func(w http.ResponseWriter, _ *http.Request) {
			_, err := w.Write(make([]byte, maxUsual))
			gaveUp <- err
		})().send(maxUsual, maxUsual)
		if limits.usual.TryAcquire(maxBody) {
			t.Error("nothing is held while the answer is written")
		}
		err := <-gaveUp
		if took := time.Since(start); err == nil || took != writeTimeout {
			t.Errorf("gave up after %s, with error %v; want %s", took, err, writeTimeout)
		}
		synctest.Wait()
		if !limits.usual.TryAcquire(maxBody) {
			t.Error("the limits is not given back")
		}
	})
}
