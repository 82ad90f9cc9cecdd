// SPDX-License-Identifier: Apache-2.0

// Package proxy forwards requests of tests to an API server, and interrupts them.
package proxy

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/fleetdoctor/kubectl-fleetdoctor/test/ports"
)

// Proxy forwards requests to an API server, as an administrator. It can stop and start again, like an API server that
// restarts.
type Proxy struct {
	t       testing.TB
	address string
	handler http.Handler
	server  *httptest.Server // nil while the proxy is stopped

	mu       sync.Mutex // guards requests
	requests []*http.Request
}

// New starts a Proxy for the API server of a configuration, until the end of the test.
func New(tb testing.TB, config *rest.Config) *Proxy {
	tb.Helper()
	transport, err := rest.TransportFor(config)
	if err != nil {
		tb.Fatal(err)
	}
	target, err := url.Parse(config.Host)
	if err != nil {
		tb.Fatal(err)
	}
	forward := &httputil.ReverseProxy{
		Transport:     transport,
		FlushInterval: -1, // forward events immediately
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(target) },
		// the client closed the connection
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) },
	}
	free, err := ports.Free(1)
	if err != nil {
		tb.Fatal(err)
	}
	p := &Proxy{t: tb, address: fmt.Sprintf("127.0.0.1:%d", free[0])}
	p.handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.mu.Lock()
		p.requests = append(p.requests, r)
		p.mu.Unlock()
		defer func() { _ = recover() }() // ReverseProxy panics when an answer is interrupted
		forward.ServeHTTP(w, r)
	})
	p.Start()
	tb.Cleanup(func() {
		if p.server != nil {
			p.Stop()
		}
	})
	return p
}

// Config returns a configuration for requests through the proxy.
func (p *Proxy) Config() *rest.Config { return &rest.Config{Host: "http://" + p.address, QPS: -1} }

// Stop closes all connections and accepts no others.
func (p *Proxy) Stop() {
	CloseServer(p.server)
	p.server = nil
}

// CloseServer closes a server and its connections, also new ones: Close alone waits until all watches end.
func CloseServer(s *httptest.Server) {
	closed := make(chan struct{})
	go func() {
		s.Close()
		close(closed)
	}()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for {
		s.CloseClientConnections()
		select {
		case <-closed:
			return
		case <-tick.C:
		}
	}
}

// Start accepts connections again.
func (p *Proxy) Start() {
	p.t.Helper()
	listener, err := net.Listen("tcp", p.address)
	if err != nil {
		p.t.Fatal(err)
	}
	p.server = httptest.NewUnstartedServer(p.handler)
	p.server.Listener = listener
	p.server.Start()
}

// CloseConnections closes the open connections, and accepts others.
func (p *Proxy) CloseConnections() { p.server.CloseClientConnections() }

// Received returns all requests so far, without their bodies.
func (p *Proxy) Received() []*http.Request {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.requests)
}

// Queries returns the queries of all requests so far.
func (p *Proxy) Queries() []url.Values {
	var out []url.Values
	for _, r := range p.Received() {
		out = append(out, r.URL.Query())
	}
	return out
}
