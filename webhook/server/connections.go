// SPDX-License-Identifier: Apache-2.0

package server

import (
	"container/list"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/serving"
)

// maxConnections is for admission requests. An API server keeps at most 25 idle connections to each of the three
// webhooks: five API servers keep 375. maxOtherConnections is for metrics, and for probes.
const maxConnections, maxOtherConnections = 512, 32

// maxHeader is the size of the headers of a request. net/http adds 4 KiB. The API server sends less than 1 KiB, and a
// token if it is configured to authenticate. Each byte matters: 4 bytes of headers use more than 100 bytes of memory.
const maxHeader = 1 << 10

// readTimeout is for a whole request, and for the TLS handshake. The API server does not wait longer for an answer.
const readTimeout = 2 * time.Second

// writeTimeout is for the answer, from the start of the request. It leaves time to answer a request that arrived late,
// because the API server can be configured to wait longer.
const writeTimeout = 2 * readTimeout

// idleTimeout is the time for which the API server keeps an idle connection.
const idleTimeout = 90 * time.Second

// endpoint is an address of a Server.
type endpoint struct {
	name, address string // "0" for none
	handler       http.Handler
	tls           *tls.Config // nil for none
	connections   int         // the most that are open
	onSurplus     func()      // is called for each connection that was refused or replaced
}

// listen makes the server of an endpoint. Every client that reaches the address may connect, so memory is bounded by
// the number of connections, the size of headers, and the timeouts.
func (e endpoint) listen() (*manager.Server, error) {
	l, err := net.Listen("tcp", e.address)
	if err != nil {
		return nil, &serving.ListenError{Endpoint: e.name, Address: e.address, Err: err}
	}
	return e.serve(l), nil
}

func (e endpoint) serve(l net.Listener) *manager.Server {
	connections := newConnections(l, e.connections, e.onSurplus)
	l = connections
	if e.tls != nil {
		l = tls.NewListener(l, e.tls)
	}
	server := &http.Server{Handler: e.handler, ConnState: connections.changed, MaxHeaderBytes: maxHeader,
		ReadTimeout: readTimeout, WriteTimeout: writeTimeout, IdleTimeout: idleTimeout}
	return &manager.Server{Name: e.name, Listener: l, Server: server}
}

// connections is a listener with a bounded number of open connections, which are shared fairly between the peers.
//
// A fixed share for a peer would be wrong: the API servers are one peer if a proxy forwards all their requests, and
// several otherwise, and the number of attackers is not known either. So a peer may use all connections that are free.
// If none is free, a new connection replaces one of the peer that has the most; the new one is refused if that is its
// own peer. A client with one address therefore cannot displace an API server that has fewer than half of the
// connections.
//
// A connection that is refused is closed at once, and the failurePolicy applies. If it waited instead, as in
// netutil.LimitListener, the API server would wait for two seconds at each write.
type connections struct {
	net.Listener
	most      int
	onSurplus func()

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
			s.onSurplus()
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
