// SPDX-License-Identifier: Apache-2.0

package server

import (
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/transport"
	"github.com/fleetdoctor/kubectl-fleetdoctor/test/callers"
)

// protected serves a handler within the limits for requests, and returns a function that connects to it.
func protected(t *testing.T, limits bodyLimits, next http.HandlerFunc) (connect func() callers.Caller) {
	t.Helper()
	l := serveRequests(t, limits, next, nil)
	return func() callers.Caller { return l.Connect(t, apiServer) }
}

// serveRequests serves a protected handler like the port for admission requests, but without TLS.
func serveRequests(t *testing.T, limits bodyLimits, next http.HandlerFunc, onSurplus func()) callers.Listener {
	t.Helper()
	l := make(callers.Listener)
	s := transport.Endpoint{Handler: protect(next, limits, func() bool { return false }, logr.Discard()),
		Limits: limitsOf(maxConnections), OnSurplus: onSurplus}.On(l)
	l.Serve(t, s.Server, s.Listener)
	return l
}

// TestStatedSizes checks that requests with bodies that are not sent do not block others.
func TestStatedSizes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		connect := protected(t, newBodyLimits(), callers.ReadAll)
		for range 20 {
			connect().Send(maxBody-1, 0)
			connect().Send(maxUsual, 0)
		}
		connect().Send(maxUsual, maxUsual).Expect(t, "a body", http.StatusOK)
		connect().Send(maxBody-1, maxBody-1).Expect(t, "a large body", http.StatusOK)
	})
}

// TestHalfSent checks that incomplete large bodies block only other large bodies, and only until the read timeout.
func TestHalfSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		connect := protected(t, newBodyLimits(), callers.ReadAll)
		start := time.Now()
		half := []callers.Caller{connect().Send(maxBody-1, maxBody/2), connect().Send(maxBody-1, maxBody/2-1)}
		connect().Send(maxBody/2, maxBody/2).Expect(t, "a large body", http.StatusServiceUnavailable)
		connect().Send(maxUsual, maxUsual).Expect(t, "a body", http.StatusOK)
		for _, c := range half {
			c.Expect(t, "half a body", http.StatusBadRequest)
		}
		if took := time.Since(start); took != readTimeout {
			t.Errorf("waited %s for the rest of a body, want %s", took, readTimeout)
		}
		connect().Send(maxBody-1, maxBody-1).Expect(t, "a large body, afterwards", http.StatusOK)
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
		})().Send(maxUsual, maxUsual)
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
