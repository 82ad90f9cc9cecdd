// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"
)

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
