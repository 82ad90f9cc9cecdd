// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"sync"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// request is one request of an audit.
type request struct {
	method, path string
	query        url.Values
	accept       string
	gzip         bool
}

// record runs do with a kubeconfig of a server that forwards everything to the API server, and returns the
// requests in their order. The floor sends the same requests, so it cannot differ from the product.
func record(ctx context.Context, config *rest.Config, kubeconfig string, do func() error) ([]request, error) {
	target, err := url.Parse(config.Host)
	if err != nil {
		return nil, fmt.Errorf("parsing the server's address: %w", err)
	}
	transport, err := rest.TransportFor(config)
	if err != nil {
		return nil, fmt.Errorf("preparing the connection to the server: %w", err)
	}
	var (
		mu   sync.Mutex
		seen []request
	)
	proxy := &httputil.ReverseProxy{
		Transport: transport,
		Rewrite: func(r *httputil.ProxyRequest) {
			mu.Lock()
			defer mu.Unlock()
			seen = append(seen, request{method: r.In.Method, path: r.In.URL.Path, query: r.In.URL.Query(),
				accept: r.In.Header.Get("Accept"), gzip: r.In.Header.Get("Accept-Encoding") == "gzip"})
			r.SetURL(target)
		},
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listening for the audit: %w", err)
	}
	server := &http.Server{Handler: proxy}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	err = writeKubeconfig(kubeconfig, "http://"+listener.Addr().String())
	if err == nil {
		err = do()
	}
	if closed := server.Close(); err == nil {
		err = closed
	}
	if ended := <-served; err == nil && !errors.Is(ended, http.ErrServerClosed) {
		err = ended
	}
	return seen, err
}

// writeKubeconfig writes a kubeconfig without credentials; the proxy has them.
func writeKubeconfig(file, server string) error {
	config := clientcmdapi.NewConfig()
	config.Clusters["bench"] = &clientcmdapi.Cluster{Server: server}
	config.Contexts["bench"] = &clientcmdapi.Context{Cluster: "bench"}
	config.CurrentContext = "bench"
	content, err := clientcmd.Write(*config)
	if err != nil {
		return fmt.Errorf("encoding a kubeconfig: %w", err)
	}
	if err := os.WriteFile(file, content, 0o600); err != nil {
		return fmt.Errorf("writing a kubeconfig: %w", err)
	}
	return nil
}
