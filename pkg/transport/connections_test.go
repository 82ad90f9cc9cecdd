// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"crypto/tls"
	"net/http"
	"net/netip"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fleetdoctor/kubectl-fleetdoctor/test/callers"
)

// The addresses of the clients in these tests.
const scraper, attacker, accomplice = "192.0.2.1", "198.51.100.1", "198.51.100.2"

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

// serveOn serves an endpoint in memory. It returns the listener of its callers, and its connections.
func serveOn(t *testing.T, e Endpoint) (callers.Listener, *connections) {
	t.Helper()
	l := make(callers.Listener)
	s := e.On(l)
	open, ok := s.Listener.(*connections)
	if !ok {
		t.Fatalf("the listener is a %T", s.Listener)
	}
	l.Serve(t, s.Server, s.Listener)
	return l, open
}

// TestHeldConnections has clients that open many connections, and never finish a request. A scraper is served at once,
// and after the timeout no connection is left.
func TestHeldConnections(t *testing.T) {
	for name, sent := range map[string]string{"nothing is sent": "", "unfinished headers": "X: ",
		"kept after a request": "Content-Length: 0\r\n\r\n"} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l, open := serveOn(t, Endpoint{Handler: http.HandlerFunc(callers.ReadAll)})
				start := time.Now()
				hold := func(peer string) {
					for range 2 * MaxConnections {
						if c := l.Connect(t, peer); sent != "" {
							c.Begin(sent)
						}
					}
				}
				hold(attacker)
				expectPeers(t, "one attacker", open, map[string]int{attacker: MaxConnections})
				l.Connect(t, scraper).Send(0, 0).Expect(t, "the scraper", http.StatusOK)
				hold(accomplice)
				expectPeers(t, "two attackers", open, map[string]int{scraper: 1, attacker: MaxConnections/2 - 1,
					accomplice: MaxConnections / 2})
				l.Connect(t, scraper).Send(0, 0).Expect(t, "the scraper, with two attackers", http.StatusOK)
				if took := time.Since(start); took != 0 {
					t.Errorf("the scraper waited %s", took)
				}
				<-time.After(idleTimeout)
				expectPeers(t, "after the timeouts", open, map[string]int{})
			})
		})
	}
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
				l, open := serveOn(t, Endpoint{Handler: http.HandlerFunc(callers.ReadAll),
					Limits: Limits{Connections: 4}, OnSurplus: func() { counted.Add(1) }})
				var all []callers.Caller
				for i, peer := range tc.connect {
					all = append(all, l.Connect(t, peer))
					synctest.Wait()
					if i == 3 && tc.used >= 0 {
						all[tc.used].Send(0, 0).Expect(t, "a request", http.StatusOK)
						synctest.Wait() // the connection becomes idle after its answer has arrived
					}
				}
				expectPeers(t, "at the end", open, tc.want)
				var refused []int
				for i, c := range all {
					if c.Closed(t) {
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
		if got := peerOf(callers.From{Peer: text}); got != netip.MustParseAddr(want) {
			t.Errorf("%s: got %s, want %s", text, got, want)
		}
	}
}

// TestIdleTLS checks that a connection with TLS is recognized when it has answered a request.
func TestIdleTLS(t *testing.T) {
	open := newConnections(nil, 2, nil)
	first, second := &openConnection{connections: open}, &openConnection{connections: open}
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
