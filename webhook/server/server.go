// SPDX-License-Identifier: Apache-2.0

// Package server wires the webhook and runs it: the watches, the handlers behind TLS, the certificate, probes, metrics, and
// a shutdown that fails no request.
package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/fleetdoctor/kubectl-fleetdoctor/webhook/admission"
)

// Name is the webhook's name in the user agent, and as the reporter of Events.
const Name = "fleetdoctor-webhook"

// Grace bounds the shutdown after the delay. Requests are short: the API server waits for two seconds.
const Grace = 15 * time.Second

// Options configure a Server.
type Options struct {
	// Config is for the cluster. Its rate limit, timeout and warning handler are replaced.
	Config *rest.Config
	// Namespace is the webhook's own.
	Namespace string
	// Host and Port are the address for the API server; an empty Host stands for all addresses.
	Host string
	Port int
	// Metrics and Probes are addresses, "host:port"; "0" stands for none.
	Metrics, Probes string
	Certificates    Certificates
	GuardDefault    admission.GuardMode
	// ReleaseNamespaces are the namespaces whose release records are read; none stands for all.
	ReleaseNamespaces []string
	// ShutdownDelay is how long requests are still answered while readyz already fails.
	ShutdownDelay time.Duration
	Log           logr.Logger
	// Instance distinguishes servers in one process, for tests.
	Instance string
}

// Certificates configure the serving certificate: with Files it is read from the folder Dir, which somebody else writes.
type Certificates struct {
	Files bool
	// Dir, without Files, is a writable folder.
	Dir string
	// Secret holds the self-signed certificate and its authority. Configuration names the webhook configurations that get the
	// authority. The certificate is for the names of Service, and for ExtraNames.
	Secret, Configuration, Service string
	ExtraNames                     []string
}

// The endpoints of a Server.
const (
	Requests = "admission requests"
	Metrics  = "metrics"
	Probes   = "probes"
)

// ListenError is the error of an endpoint whose address cannot be listened at.
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

// Server is a webhook that is ready to run, once.
type Server struct {
	log     logr.Logger
	delay   time.Duration
	after   func(time.Duration) <-chan time.Time // time.After; tests replace it
	manager manager.Manager
	// draining is set when the shutdown begins.
	draining atomic.Bool
	// listeners are the open listeners of metrics and probes, by endpoint.
	listeners map[string]net.Listener
}

// New makes a Server, and listens at its addresses for metrics and probes. It makes no request. It returns a ListenError, or
// an error of a kubeconfig or of files that cannot be used.
func New(o Options) (*Server, error) {
	o.Config = connection(o.Config)
	m, err := newManager(o)
	if err != nil {
		return nil, err
	}
	source, err := newCertificateSource(m, o)
	if err != nil {
		return nil, err
	}
	c, err := newComponents(m, o, source)
	if err != nil {
		return nil, err
	}
	return build(m, o, source, c)
}

// newManager makes the manager that starts and stops everything. It elects no leader, because every replica serves.
func newManager(o Options) (manager.Manager, error) {
	grace := Grace
	m, err := manager.New(o.Config, manager.Options{
		Logger:                  o.Log,
		Metrics:                 metricsserver.Options{BindAddress: "0"},
		GracefulShutdownTimeout: &grace,
		BaseContext:             func() context.Context { return logr.NewContext(context.Background(), o.Log) },
	})
	if err != nil {
		return nil, fmt.Errorf("creating the manager: %w", err)
	}
	return m, nil
}

// Run serves until the context ends. Then readyz fails, so that new requests go to other replicas; requests are still
// answered for the delay; the last ones are completed, and Run returns nil.
func (s *Server) Run(ctx context.Context) error {
	// The end of the context begins the drain, and does not shorten it.
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	undo := context.AfterFunc(ctx, func() { s.drain(running, stop) })
	defer undo()
	err := s.manager.Start(running)
	var listening *net.OpError
	switch {
	case errors.As(err, &listening) && listening.Op == "listen" && listening.Addr != nil:
		return &ListenError{Endpoint: Requests, Address: listening.Addr.String(), Err: listening.Err}
	case err != nil:
		return fmt.Errorf("serving: %w", err)
	}
	s.log.Info("drained")
	return nil
}

func (s *Server) drain(running context.Context, stop func()) {
	s.draining.Store(true)
	s.log.Info("draining", "delay", s.delay.String())
	select {
	case <-s.after(s.delay):
	case <-running.Done():
	}
	stop()
}

// Address is the address of an endpoint, Metrics or Probes; nil if it is not served.
func (s *Server) Address(endpoint string) net.Addr {
	if l := s.listeners[endpoint]; l != nil {
		return l.Addr()
	}
	return nil
}
