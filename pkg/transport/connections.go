// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"cmp"
	"container/list"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
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
	peer        netip.Addr
	connections *connections
	element     *list.Element // in open; nil if the connection was removed
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
		c := &openConnection{Conn: accepted, peer: peerOf(accepted), connections: s}
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
	c.element = s.open.PushBack(c)
	s.peers[c.peer]++
	return surplus
}

// replaceable returns the connection of the peer with the most connections whose last request is the longest ago.
func (s *connections) replaceable() *openConnection {
	var out *openConnection
	for element := s.open.Front(); element != nil; element = element.Next() {
		if c, ok := element.Value.(*openConnection); ok && (out == nil || s.peers[c.peer] > s.peers[out.peer]) {
			out = c
		}
	}
	return out
}

func (s *connections) remove(c *openConnection) {
	if c.element == nil {
		return
	}
	s.open.Remove(c.element)
	c.element = nil
	if s.peers[c.peer]--; s.peers[c.peer] == 0 {
		delete(s.peers, c.peer)
	}
}

// changed is called by http.Server. A connection becomes idle after each request.
func (s *connections) changed(conn net.Conn, state http.ConnState) {
	if secured, ok := conn.(*tls.Conn); ok {
		conn = secured.NetConn()
	}
	c, ok := conn.(*openConnection)
	if !ok || state != http.StateIdle {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.element != nil {
		s.open.MoveToBack(c.element)
	}
}

// Close implements net.Conn.
func (c *openConnection) Close() error {
	c.connections.mu.Lock()
	c.connections.remove(c)
	c.connections.mu.Unlock()
	return c.Conn.Close()
}

// peerOf returns the address of a client; the zero value for a connection that is not TCP.
func peerOf(c net.Conn) netip.Addr {
	peer, err := netip.ParseAddrPort(fmt.Sprint(c.RemoteAddr()))
	if err != nil {
		return netip.Addr{}
	}
	return peer.Addr().Unmap().WithZone("")
}

// Limits of an endpoint. Every client that reaches the address may connect, so memory is bounded by the number of
// connections, the size of headers, and the timeouts.
type Limits struct {
	// Connections are the most that are open.
	Connections int
	// Header is the size of the headers of a request. net/http adds 4 KiB.
	Header int
	// Read is for a whole request, and for the TLS handshake. Write is for the answer, from the start of the request.
	// Idle is between two requests.
	Read, Write, Idle time.Duration
}

// The limits of an endpoint for metrics or probes.
const (
	// MaxConnections is for a scraper and a kubelet, and for a person who looks.
	MaxConnections = 32
	maxHeader      = 4 << 10
	timeout        = 10 * time.Second
	idleTimeout    = time.Minute
)

// Endpoint is an address as "host:port" with its handler; the address "0" is none.
type Endpoint struct {
	Name, Address string
	Handler       http.Handler
	TLS           *tls.Config // nil for none
	Limits        Limits      // zero values stand for those of metrics and probes
	OnSurplus     func()      // is called for each connection that was refused or replaced; nil for none
}

// ListenError is the error of an endpoint that cannot listen on its address.
type ListenError struct {
	Endpoint, Address string
	Err               error
}

// Error implements error.
func (e *ListenError) Error() string {
	return fmt.Sprintf("listening for %s on %s: %v", e.Endpoint, e.Address, e.Err)
}

// Unwrap returns the cause.
func (e *ListenError) Unwrap() error { return e.Err }

// Server answers the requests of an endpoint. The server must be used with the listener: they share the connections.
type Server struct {
	*http.Server
	Listener net.Listener
	name     string
}

// Listen opens the address of the endpoint; the server is nil if there is none. The error is a *ListenError.
func (e Endpoint) Listen() (*Server, error) {
	if e.Address == "0" {
		return nil, nil
	}
	l, err := net.Listen("tcp", e.Address)
	if err != nil {
		return nil, &ListenError{Endpoint: e.Name, Address: e.Address, Err: err}
	}
	return e.On(l), nil
}

// On returns the server of an endpoint for connections of a listener.
func (e Endpoint) On(l net.Listener) *Server {
	open := newConnections(l, cmp.Or(e.Limits.Connections, MaxConnections), e.OnSurplus)
	l = open
	if e.TLS != nil {
		l = tls.NewListener(l, e.TLS)
	}
	return &Server{name: e.Name, Listener: l, Server: &http.Server{Handler: e.Handler, ConnState: open.changed,
		MaxHeaderBytes: cmp.Or(e.Limits.Header, maxHeader), ReadTimeout: cmp.Or(e.Limits.Read, timeout),
		WriteTimeout: cmp.Or(e.Limits.Write, timeout), IdleTimeout: cmp.Or(e.Limits.Idle, idleTimeout)}}
}

// Run answers requests until the context ends. It does nothing without a server.
func (s *Server) Run(ctx context.Context) error {
	if s == nil {
		return nil
	}
	stop := context.AfterFunc(ctx, func() { _ = s.Close() })
	defer stop()
	if err := s.Serve(s.Listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serving %s: %w", s.name, err)
	}
	return nil
}

// requestTimeout is the time for a request and its whole answer, unless --request-timeout states another one. By
// default, API servers end a request after 60 seconds.
const requestTimeout = 90 * time.Second

// TimeoutError means that a server did not finish its answer in time.
type TimeoutError struct{ After time.Duration }

// Error implements error.
func (e *TimeoutError) Error() string {
	return fmt.Sprintf("the server did not answer within %.0f s", e.After.Seconds())
}

// deadline ends requests that are not answered in time. Of a request that has no end, such as a watch, it limits only
// the time until the answer begins.
type deadline struct {
	next    http.RoundTripper
	timeout time.Duration
}

// WrappedRoundTripper implements client-go's RoundTripperWrapper.
func (d *deadline) WrappedRoundTripper() http.RoundTripper { return d.next }

// RoundTrip implements http.RoundTripper.
func (d *deadline) RoundTrip(req *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(req.Context())
	late := &TimeoutError{d.timeout}
	timer := time.AfterFunc(d.timeout, func() { cancel(late) })
	end := func() {
		timer.Stop()
		cancel(nil)
	}
	// reason is the error of a request that ended: that it was late, if it was.
	reason := func(err error) error {
		if err != nil && errors.Is(context.Cause(ctx), late) {
			return late
		}
		return err
	}
	resp, err := d.next.RoundTrip(req.WithContext(ctx))
	switch {
	case err != nil:
		defer end()
		return nil, reason(err)
	case hasNoEnd(req):
		timer.Stop()
	}
	if resp.StatusCode != http.StatusSwitchingProtocols { // whose body can also be written
		resp.Body = &timedBody{resp.Body, reason, end}
	}
	return resp, nil
}

func isWatch(req *http.Request) bool { return req.URL.Query().Get("watch") != "" }

// hasNoEnd reports whether the answer to a request ends only when the client or the server wants it to.
func hasNoEnd(req *http.Request) bool {
	return isWatch(req) || req.URL.Query().Get("follow") != "" || req.Header.Get("Upgrade") != ""
}

// timedBody is a body that must be read before its request ends.
type timedBody struct {
	io.ReadCloser
	reason func(error) error
	end    func()
}

// Read implements io.Reader.
func (b *timedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err == io.EOF {
		return n, err
	}
	return n, b.reason(err)
}

// Close implements io.Closer.
func (b *timedBody) Close() error {
	defer b.end()
	return b.ReadCloser.Close()
}

// The endpoints that every server has.
const (
	MetricsEndpoint = "metrics"
	ProbesEndpoint  = "probes"
)

// Metrics serves /metrics from registries.
func Metrics(registries ...prometheus.Gatherer) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/metrics", promhttp.HandlerFor(prometheus.Gatherers(registries), promhttp.HandlerOpts{}))
	return mux
}

// Probes serves /livez and /readyz, which name the checks that fail. Without checks, /livez succeeds while the process
// answers.
func Probes(live, ready map[string]healthz.Checker) http.Handler {
	mux := http.NewServeMux()
	live = maps.Clone(live)
	if live == nil {
		live = map[string]healthz.Checker{}
	}
	live["ping"] = healthz.Ping
	for path, checks := range map[string]map[string]healthz.Checker{"/livez": live, "/readyz": ready} {
		mux.Handle(path, allChecks(checks))
		for name, check := range checks {
			mux.Handle(path+"/"+name, healthz.CheckHandler{Checker: check})
		}
	}
	return mux
}

// allChecks answers for all checks, and gives the reasons of those that fail. controller-runtime's own handler hides
// the reasons, and logs each failed probe.
func allChecks(checks map[string]healthz.Checker) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		status, text := http.StatusOK, ""
		for _, name := range slices.Sorted(maps.Keys(checks)) {
			if err := checks[name](r); err != nil {
				status = http.StatusInternalServerError
				text += fmt.Sprintf("[-]%s failed: %v\n", name, err)
				continue
			}
			text += fmt.Sprintf("[+]%s ok\n", name)
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, text) // the client may have closed the connection
	})
}

// Logged logs when a check begins to fail, fails for another reason, or succeeds again.
func Logged(check healthz.Checker, log logr.Logger) healthz.Checker {
	var reason atomic.Value
	reason.Store("")
	return func(r *http.Request) error {
		err, now := check(r), ""
		if err != nil {
			now = err.Error()
		}
		switch before := reason.Swap(now); {
		case before == now:
		case now == "":
			log.Info("ready")
		default:
			log.Info("not ready", "reason", now)
		}
		return err
	}
}
