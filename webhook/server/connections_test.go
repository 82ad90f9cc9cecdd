// SPDX-License-Identifier: Apache-2.0

package server

import (
	"crypto/tls"
	"fmt"
	"net/http"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
)

// The addresses of the clients in these tests.
const apiServer, attacker, accomplice = "192.0.2.1", "198.51.100.1", "198.51.100.2"

// peerCounts returns the number of open connections of each peer.
func (s *connections) peerCounts() map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := map[string]int{}
	for peer, n := range s.peers {
		out[peer.String()] = n
	}
	return out
}

func expectPeers(t *testing.T, when string, open *connections, want map[string]int) {
	t.Helper()
	synctest.Wait()
	if diff := cmp.Diff(want, open.peerCounts()); diff != "" {
		t.Errorf("%s: open connections (-want +got):\n%s", when, diff)
	}
}

// begin sends headers without their end, and ignores that the server closes the connection.
func (c caller) begin(headers string) caller {
	go func() { _, _ = fmt.Fprint(c, "POST / HTTP/1.1\r\nHost: webhook\r\n"+headers) }()
	synctest.Wait()
	return c
}

// closed reports whether the server closed the connection without an answer.
func (c caller) closed(t *testing.T) bool {
	t.Helper()
	if err := c.SetReadDeadline(time.Now().Add(time.Nanosecond)); err != nil {
		return true
	}
	_, err := c.Read(make([]byte, 1))
	return err != nil && !strings.Contains(err.Error(), "timeout")
}

// TestUnfinishedHeaders has clients that open many connections, and never finish the headers of a request. The number
// of open connections and the bytes of each are bounded, other clients are served at once, and after the timeout no
// connection is left.
func TestUnfinishedHeaders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		connectAs, open := serveOn(t, endpoint{handler: protect(http.HandlerFunc(readAll), newBodyLimits(),
			func() bool { return false }, logr.Discard()), connections: maxConnections})
		start := time.Now()
		for range maxConnections + 100 {
			connectAs(attacker).begin("X: ")
		}
		expectPeers(t, "one attacker", open, map[string]int{attacker: maxConnections})
		connectAs(apiServer).send(5, 5).expect(t, "the API server", http.StatusOK)
		for range maxConnections + 100 {
			connectAs(accomplice).begin("X: ")
		}
		expectPeers(t, "two attackers", open, map[string]int{apiServer: 1, attacker: maxConnections/2 - 1,
			accomplice: maxConnections / 2})
		connectAs(apiServer).send(5, 5).expect(t, "the API server, with two attackers", http.StatusOK)
		if took := time.Since(start); took != 0 {
			t.Errorf("the API server waited %s", took)
		}
		<-time.After(readTimeout)
		expectPeers(t, "after the timeout", open, map[string]int{apiServer: 2})
		<-time.After(idleTimeout)
		expectPeers(t, "after the idle timeout", open, map[string]int{})
	})
}

// TestHeaderSize sends headers of the largest size, and larger ones.
func TestHeaderSize(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		connectAs, _ := serveOn(t, endpoint{handler: protect(http.HandlerFunc(readAll), newBodyLimits(),
			func() bool { return false }, logr.Discard()), connections: maxConnections})
		connectAs(apiServer).begin("Authorization: "+strings.Repeat("x", maxHeader)+"\r\nContent-Length: 0\r\n\r\n").
			expect(t, "headers of the largest size", http.StatusOK)
		connectAs(attacker).begin("X: "+strings.Repeat("x", maxHeader+4<<10)).
			expect(t, "larger headers, unfinished", http.StatusRequestHeaderFieldsTooLarge)
	})
}

// TestShares opens connections of peers in an order, with at most four at the same time.
func TestShares(t *testing.T) {
	const a, b, c = "192.0.2.1", "192.0.2.2", "2001:db8::3"
	for _, tc := range []struct {
		name    string
		connect []string
		// used is the index of a connection that answers a request; -1 for none.
		used    int
		refused []int // by their index
		want    map[string]int
	}{
		{"one peer uses all", []string{a, a, a, a}, -1, nil, map[string]int{a: 4}},
		{"one peer, too many", []string{a, a, a, a, a}, -1, []int{4}, map[string]int{a: 4}},
		{"another peer replaces the oldest", []string{a, a, a, a, b}, -1, []int{0}, map[string]int{a: 3, b: 1}},
		{"the one that answered a request is not the oldest", []string{a, a, a, a, b}, 0, []int{1},
			map[string]int{a: 3, b: 1}},
		{"equal shares", []string{a, a, a, a, b, b, b}, -1, []int{0, 1, 6}, map[string]int{a: 2, b: 2}},
		{"a third peer", []string{a, a, a, b, c}, -1, []int{0}, map[string]int{a: 2, b: 1, c: 1}},
		{"a peer with fewer keeps its own", []string{b, a, a, a, a}, -1, []int{4}, map[string]int{a: 3, b: 1}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var counted atomic.Int32
				connectAs, open := serveOn(t, endpoint{handler: http.HandlerFunc(readAll), connections: 4,
					onSurplus: func() { counted.Add(1) }})
				var all []caller
				for i, peer := range tc.connect {
					all = append(all, connectAs(peer))
					synctest.Wait()
					if i == 3 && tc.used >= 0 {
						all[tc.used].send(0, 0).expect(t, "a request", http.StatusOK)
					}
				}
				expectPeers(t, "at the end", open, tc.want)
				var refused []int
				for i, c := range all {
					if c.closed(t) {
						refused = append(refused, i)
					}
				}
				if got := int(counted.Load()); got != len(tc.refused) {
					t.Errorf("%d connections are counted, want %d", got, len(tc.refused))
				}
				if diff := cmp.Diff(tc.refused, refused); diff != "" {
					t.Errorf("closed (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// TestPeer checks that the forms of an address are one peer.
func TestPeer(t *testing.T) {
	for text, want := range map[string]string{"192.0.2.1": "192.0.2.1", "::ffff:192.0.2.1": "192.0.2.1",
		"fe80::1%eth0": "fe80::1"} {
		if got := peerOf(from{peer: text}); got != netip.MustParseAddr(want) {
			t.Errorf("%s: got %s, want %s", text, got, want)
		}
	}
}

// TestIdleTLS checks that a connection with TLS is recognized when it has answered a request.
func TestIdleTLS(t *testing.T) {
	open := newConnections(nil, 2, nil)
	first, second := &openConnection{of: open}, &openConnection{of: open}
	for _, c := range []*openConnection{first, second} {
		if open.add(c) != nil {
			t.Fatal("refused")
		}
	}
	open.changed(tls.Server(first, nil), http.StateIdle)
	if got := open.replaceable(); got != second {
		t.Error("the connection that answered a request would be replaced")
	}
}
