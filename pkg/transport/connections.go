// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"container/list"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"sync"
)

// connections is a listener with a bounded number of open connections, which are shared fairly between the peers.
//
// A fixed share for a peer would be wrong: the API servers are one peer if a proxy forwards all their requests, and
// several otherwise, and the number of attackers is not known either. So a peer may use all connections that are free.
// If none is free, a new connection replaces one of the peer that has the most; the new one is refused if that is its
// own peer. A client with one address therefore cannot displace an API server that has fewer than half of the
// connections.
//
// A connection that is refused is closed at once. If it waited instead, as in netutil.LimitListener, an API server
// would wait for two seconds at each write before the failurePolicy applies, and a probe would fail without a reason.
type connections struct {
	net.Listener
	most      int
	onSurplus func() // is called for each connection that was refused or replaced; nil for none

	mu    sync.Mutex
	open  *list.List // of *openConnection; the one whose last request is the longest ago is the first
	peers map[netip.Addr]int
}

type openConnection struct {
	net.Conn
	peer netip.Addr
	of   *connections
	at   *list.Element // in open; nil if the connection was removed
}

func newConnections(l net.Listener, most int, onSurplus func()) *connections {
	return &connections{Listener: l, most: most, onSurplus: onSurplus, open: list.New(), peers: map[netip.Addr]int{}}
}

// Accept implements net.Listener.
func (s *connections) Accept() (net.Conn, error) {
	for {
		accepted, err := s.Listener.Accept()
		if err != nil {
			return nil, err
		}
		c := &openConnection{Conn: accepted, peer: peerOf(accepted), of: s}
		surplus := s.add(c)
		if surplus != nil {
			if s.onSurplus != nil {
				s.onSurplus()
			}
			_ = surplus.Conn.Close() // the client may have closed it
		}
		if surplus != c {
			return c, nil
		}
	}
}

// add adds a connection. It returns the connection to close, which is no longer open: the one that is replaced, or the
// new one; nil if all can be open.
func (s *connections) add(c *openConnection) (surplus *openConnection) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open.Len() >= s.most {
		if surplus = s.replaceable(); s.peers[c.peer] >= s.peers[surplus.peer] {
			return c
		}
		s.remove(surplus)
	}
	c.at = s.open.PushBack(c)
	s.peers[c.peer]++
	return surplus
}

// replaceable returns the connection of the peer with the most connections whose last request is the longest ago.
func (s *connections) replaceable() *openConnection {
	var out *openConnection
	for at := s.open.Front(); at != nil; at = at.Next() {
		if c, ok := at.Value.(*openConnection); ok && (out == nil || s.peers[c.peer] > s.peers[out.peer]) {
			out = c
		}
	}
	return out
}

func (s *connections) remove(c *openConnection) {
	if c.at == nil {
		return
	}
	s.open.Remove(c.at)
	c.at = nil
	if s.peers[c.peer]--; s.peers[c.peer] == 0 {
		delete(s.peers, c.peer)
	}
}

// changed is called by http.Server. A connection becomes idle after each request.
func (s *connections) changed(of net.Conn, state http.ConnState) {
	if secured, ok := of.(*tls.Conn); ok {
		of = secured.NetConn()
	}
	c, ok := of.(*openConnection)
	if !ok || state != http.StateIdle {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.at != nil {
		s.open.MoveToBack(c.at)
	}
}

// Close implements net.Conn.
func (c *openConnection) Close() error {
	c.of.mu.Lock()
	c.of.remove(c)
	c.of.mu.Unlock()
	return c.Conn.Close()
}

// peerOf returns the address of a client; the zero value for a connection that is not TCP.
func peerOf(c net.Conn) netip.Addr {
	at, err := netip.ParseAddrPort(fmt.Sprint(c.RemoteAddr()))
	if err != nil {
		return netip.Addr{}
	}
	return at.Addr().Unmap().WithZone("")
}
