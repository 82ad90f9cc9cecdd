// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/fleetdoctor/kubectl-fleetdoctor/test/poll"
)

// proxy forwards requests to the API server as administrator and records them.
type proxy struct {
	t          *testing.T
	kubeconfig string

	mu       sync.Mutex // guards the fields below
	requests []request
	// before is called with each request before it is forwarded.
	before func(*http.Request)
	// drops reports whether the response to a request is dropped.
	drops func(*http.Request) bool
	// after is called with each response.
	after func(request)
}

// request is one request and the status of its response.
type request struct {
	method string
	url    *url.URL
	status int
}

func (f *fleetServer) proxy() *proxy {
	f.t.Helper()
	config := f.Config()
	transport, err := rest.TransportFor(config)
	if err != nil {
		f.t.Fatal(err)
	}
	target, err := url.Parse(config.Host)
	if err != nil {
		f.t.Fatal(err)
	}
	p := &proxy{t: f.t}
	forward := &httputil.ReverseProxy{
		Transport: transport,
		Rewrite:   func(r *httputil.ProxyRequest) { r.SetURL(target) },
		ModifyResponse: func(r *http.Response) error {
			return p.record(r)
		},
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) {
			w.WriteHeader(http.StatusBadGateway)
		}, // the client has disconnected
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.mu.Lock()
		before := p.before
		p.mu.Unlock()
		if before != nil {
			before(r)
		}
		forward.ServeHTTP(w, r)
	}))
	f.t.Cleanup(server.Close)
	p.kubeconfig = kubeconfigOf(f.t, server.URL)
	return p
}

func (p *proxy) record(r *http.Response) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	got := request{method: r.Request.Method, url: r.Request.URL, status: r.StatusCode}
	p.requests = append(p.requests, got)
	if p.after != nil {
		p.after(got)
	}
	if p.drops != nil && p.drops(r.Request) {
		return errors.New("the response is dropped")
	}
	return nil
}

// dropResponses drops the responses to some requests from now on.
func (p *proxy) dropResponses(which func(*http.Request) bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.drops = which
}

// stallAfter lets n PATCH requests pass and delays later ones, and any other request after the n responses. The
// channel is closed when the n responses have arrived and a request is delayed. Delayed requests continue after
// release, or when the test ends, and never if their client has disconnected.
func (p *proxy) stallAfter(n int) (stalled <-chan struct{}, release func()) {
	started, answered, delayed := 0, 0, false
	reached, free := make(chan struct{}), make(chan struct{})
	var mu sync.Mutex // guards the counts
	reach := sync.OnceFunc(func() { close(reached) })
	p.onResponse(func(r request) {
		mu.Lock()
		defer mu.Unlock()
		if r.method == http.MethodPatch {
			answered++
		}
		if delayed && answered >= n {
			reach()
		}
	})
	p.onRequest(func(r *http.Request) {
		mu.Lock()
		if r.Method == http.MethodPatch {
			started++
		}
		delay := started > n && r.Method == http.MethodPatch || n > 0 && answered >= n && r.Method != http.MethodPatch
		delayed = delayed || delay
		if delayed && answered >= n {
			reach()
		}
		mu.Unlock()
		if !delay {
			return
		}
		// a server notices a disconnected client only after it has read the whole body
		if body, err := io.ReadAll(r.Body); err == nil {
			r.Body = io.NopCloser(bytes.NewReader(body))
		}
		select {
		case <-free:
		case <-r.Context().Done():
		}
	})
	release = sync.OnceFunc(func() { close(free) })
	p.t.Cleanup(release)
	return reached, release
}

// await returns when an event has happened. The deadline is an emergency stop.
func await(t *testing.T, what string, event <-chan struct{}) {
	t.Helper()
	receive(t, what, event)
}

// receive returns the next value of a channel. The deadline is an emergency stop.
func receive[T any](t *testing.T, what string, from <-chan T) T {
	t.Helper()
	late := time.NewTimer(poll.Deadline)
	defer late.Stop()
	var v T
	select {
	case v = <-from:
	case <-late.C:
		t.Fatalf("waited %s for: %s", poll.Deadline, what)
	}
	return v
}

// onRequest sets a function that is called with each request from now on.
func (p *proxy) onRequest(before func(*http.Request)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.before = before
}

// onResponse sets a function that is called with each response from now on.
func (p *proxy) onResponse(after func(request)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.after = after
}

// seen returns the requests in the order of their responses.
func (p *proxy) seen() []request {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.requests)
}

// requestLines returns the requests in alphabetical order, as "GET /api/v1/configmaps?limit=500".
func (p *proxy) requestLines() []string {
	requests := p.seen()
	out := make([]string, len(requests))
	for i, r := range requests {
		out[i] = r.method + " " + r.url.Path
		if query, err := url.QueryUnescape(r.url.Query().Encode()); err == nil && query != "" {
			out[i] += "?" + query
		}
	}
	slices.Sort(out)
	return out
}

// matching returns the paths of the requests with this method.
func (p *proxy) matching(method string) []string {
	var out []string
	for _, r := range p.seen() {
		if r.method == method {
			out = append(out, r.url.Path)
		}
	}
	return out
}

// kubeconfigOf returns a kubeconfig without credentials.
func kubeconfigOf(t *testing.T, server string) string {
	t.Helper()
	config := clientcmdapi.NewConfig()
	config.Clusters["e2e"] = &clientcmdapi.Cluster{Server: server}
	config.Contexts["e2e"] = &clientcmdapi.Context{Cluster: "e2e"}
	config.CurrentContext = "e2e"
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*config, path); err != nil {
		t.Fatal(err)
	}
	return path
}
