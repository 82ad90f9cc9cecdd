// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// proxy stands before the API server, as an administrator, and sees every request.
type proxy struct {
	kubeconfig string

	mu       sync.Mutex // guards what follows
	requests []request
	// before is called with each request before it goes on.
	before func(*http.Request)
}

// request is one request and the status of its answer.
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
	p := &proxy{}
	forward := &httputil.ReverseProxy{
		Transport: transport,
		Rewrite:   func(r *httputil.ProxyRequest) { r.SetURL(target) },
		ModifyResponse: func(r *http.Response) error {
			p.note(r)
			return nil
		},
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) }, // the client left
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

func (p *proxy) note(r *http.Response) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.requests = append(p.requests, request{method: r.Request.Method, url: r.Request.URL, status: r.StatusCode})
}

// intercept has a function called with each request from now on.
func (p *proxy) intercept(before func(*http.Request)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.before = before
}

// seen returns the requests in the order of their answers.
func (p *proxy) seen() []request {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.requests)
}

// asked returns the requests in alphabetical order, as "GET /api/v1/configmaps?limit=500".
func (p *proxy) asked() []string {
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

// matching returns the paths of the requests of a method.
func (p *proxy) matching(method string) []string {
	var out []string
	for _, r := range p.seen() {
		if r.method == method {
			out = append(out, r.url.Path)
		}
	}
	return out
}

// kubeconfigOf returns a kubeconfig of a server that asks nobody who he is.
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
