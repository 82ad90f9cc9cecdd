// SPDX-License-Identifier: Apache-2.0

package index_test

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

	"github.com/fleetdoctor/kubectl-fleetdoctor/test/cluster"
	"github.com/fleetdoctor/kubectl-fleetdoctor/test/ports"
)

// proxy stands before an API server, as an administrator. It can go away and come back, as an API server does that is restarted.
type proxy struct {
	t       *testing.T
	address string
	handler http.Handler
	server  *httptest.Server // nil while it is away

	mu      sync.Mutex // guards queries
	queries []url.Values
}

func proxyOf(t *testing.T, c *cluster.Cluster) *proxy {
	t.Helper()
	config := c.Config()
	transport, err := rest.TransportFor(config)
	if err != nil {
		t.Fatal(err)
	}
	target, err := url.Parse(config.Host)
	if err != nil {
		t.Fatal(err)
	}
	forward := &httputil.ReverseProxy{
		Transport:     transport,
		FlushInterval: -1, // events are passed on as they come
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(target) },
		ErrorHandler:  func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) }, // the client left
	}
	free, err := ports.Free(1)
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{t: t, address: fmt.Sprintf("127.0.0.1:%d", free[0])}
	p.handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.mu.Lock()
		p.queries = append(p.queries, r.URL.Query())
		p.mu.Unlock()
		defer func() { _ = recover() }() // so a proxy tells a server that an answer broke off
		forward.ServeHTTP(w, r)
	})
	p.comeBack()
	t.Cleanup(func() {
		if p.server != nil {
			p.goAway()
		}
	})
	return p
}

func (p *proxy) config() *rest.Config { return &rest.Config{Host: "http://" + p.address, QPS: -1} }

// goAway breaks every connection and takes no other.
func (p *proxy) goAway() {
	closeServer(p.server)
	p.server = nil
}

// closeServer closes a server with its connections, also those that come while it does: Close alone would wait for a watch to end.
func closeServer(s *httptest.Server) {
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

func (p *proxy) comeBack() {
	p.t.Helper()
	listener, err := net.Listen("tcp", p.address)
	if err != nil {
		p.t.Fatal(err)
	}
	p.server = httptest.NewUnstartedServer(p.handler)
	p.server.Listener = listener
	p.server.Start()
}

// asked returns the queries of all requests so far.
func (p *proxy) asked() []url.Values {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.queries)
}
