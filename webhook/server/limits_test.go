// SPDX-License-Identifier: Apache-2.0

package server

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fleetdoctor/kubectl-fleetdoctor/test/callers"
)

// The addresses of the clients in these tests.
const apiServer, attacker, accomplice = "192.0.2.1", "198.51.100.1", "198.51.100.2"

// TestUnfinishedHeaders has clients that open many connections, and never finish the headers of a request. The number
// of open connections and the bytes of each are bounded, other clients are served at once, and after the timeout no
// connection is left.
func TestUnfinishedHeaders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var closed atomic.Int32
		l := serveRequests(t, newBodyLimits(), callers.ReadAll, func() { closed.Add(1) })
		start := time.Now()
		var held []callers.Caller
		hold := func(peer string) {
			for range maxConnections + 100 {
				held = append(held, l.Connect(t, peer).Begin("X: "))
			}
		}
		hold(attacker)
		if n := closed.Load(); n != 100 {
			t.Errorf("%d connections of one attacker are closed, want those above the limit", n)
		}
		l.Connect(t, apiServer).Send(5, 5).Expect(t, "the API server", http.StatusOK)
		hold(accomplice)
		l.Connect(t, apiServer).Send(5, 5).Expect(t, "the API server, with two attackers", http.StatusOK)
		if took := time.Since(start); took != 0 {
			t.Errorf("the API server waited %s", took)
		}
		<-time.After(readTimeout)
		for i, c := range held {
			if !c.Closed(t) {
				t.Fatalf("after the timeout, connection %d of the attackers is open", i)
			}
		}
	})
}

// TestIdle checks that a connection is kept between two requests for as long as the API server keeps it.
func TestIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := protected(t, newBodyLimits(), callers.ReadAll)()
		c.Send(0, 0).Expect(t, "a request", http.StatusOK)
		<-time.After(idleTimeout - time.Millisecond)
		c.Send(0, 0).Expect(t, "a second request", http.StatusOK)
		<-time.After(idleTimeout)
		if !c.Closed(t) {
			t.Error("after the idle timeout, the connection is open")
		}
	})
}

// TestHeaderSize sends headers of the largest size, and larger ones.
func TestHeaderSize(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := serveRequests(t, newBodyLimits(), callers.ReadAll, nil)
		l.Connect(t, apiServer).Begin("Authorization: "+strings.Repeat("x", maxHeader)+"\r\nContent-Length: 0\r\n\r\n").
			Expect(t, "headers of the largest size", http.StatusOK)
		l.Connect(t, attacker).Begin("X: "+strings.Repeat("x", maxHeader+4<<10)).
			Expect(t, "larger headers, unfinished", http.StatusRequestHeaderFieldsTooLarge)
	})
}
