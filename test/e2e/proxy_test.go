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

// proxy stands before the API server, as an administrator, and sees every request.
type proxy struct {
	t          *testing.T
	kubeconfig string

	mu       sync.Mutex // guards what follows
	requests []request
	// before is called with each request before it goes on.
	before func(*http.Request)
	// loses says of which requests the answer is lost, after the server has given it.
	loses func(*http.Request) bool
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
	p := &proxy{t: f.t}
	forward := &httputil.ReverseProxy{
		Transport: transport,
		Rewrite:   func(r *httputil.ProxyRequest) { r.SetURL(target) },
		ModifyResponse: func(r *http.Response) error {
			return p.note(r)
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

func (p *proxy) note(r *http.Response) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.requests = append(p.requests, request{method: r.Request.Method, url: r.Request.URL, status: r.StatusCode})
	if p.loses != nil && p.loses(r.Request) {
		return errors.New("the answer is lost")
	}
	return nil
}

// lose has the answers to some requests lost from now on.
func (p *proxy) lose(which func(*http.Request) bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.loses = which
}

// stallAfter lets n PATCHes through and holds up what comes after them: the next ones, and with all let through any other request. The
// channel is closed when the n are answered and something is held up. What is held up goes on when it is let go, or when the test ends, and
// never if its client left before.
func (p *proxy) stallAfter(n int) (stalled <-chan struct{}, letGo func()) {
	begun, reached, free := 0, make(chan struct{}), make(chan struct{})
	var mu sync.Mutex
	var once sync.Once
	p.intercept(func(r *http.Request) {
		mu.Lock()
		if r.Method == http.MethodPatch {
			begun++
		}
		holds := begun > n && r.Method == http.MethodPatch || begun >= n && n > 0 && r.Method != http.MethodPatch && p.answered(http.MethodPatch) >= n
		mu.Unlock()
		if !holds {
			return
		}
		once.Do(func() {
			go func() {
				tick := time.NewTicker(poll.Interval)
				defer tick.Stop()
				for p.answered(http.MethodPatch) < n {
					<-tick.C
				}
				close(reached)
			}()
		})
		if body, err := io.ReadAll(r.Body); err == nil { // a server notices that the client left only when it has read all that he sent
			r.Body = io.NopCloser(bytes.NewReader(body))
		}
		select {
		case <-free:
		case <-r.Context().Done():
		}
	})
	letGo = sync.OnceFunc(func() { close(free) })
	p.t.Cleanup(letGo)
	return reached, letGo
}

// answered counts the answers to a method.
func (p *proxy) answered(method string) int { return len(p.matching(method)) }

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
