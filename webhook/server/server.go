// SPDX-License-Identifier: Apache-2.0

// Package server assembles and runs the webhook: the watches, the handlers behind TLS, the certificate, probes,
// metrics, and a shutdown during which no request fails.
package server

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/fleetdoctor/kubectl-fleetdoctor/webhook/admission"
)

// Name is the name of the webhook in the user agent and in Events.
const Name = "fleetdoctor-webhook"

// grace bounds the shutdown after the delay. Requests are short: the API server waits for two seconds.
const grace = 15 * time.Second

// Options configure a Server.
type Options struct {
	// Config is the configuration of the client. Its rate limit, timeout and warning handler are replaced.
	Config *rest.Config
	// Namespace is the namespace of the webhook's Secret and Service.
	Namespace string
	// Host and Port are the address for admission requests; an empty Host means all addresses.
	Host string
	Port int
	// Metrics and Probes are addresses as "host:port"; "0" means none.
	Metrics, Probes string
	Certificates    Certificates
	GuardDefault    admission.GuardMode
	// ReleaseNamespaces are the namespaces from which release records are read; empty means all.
	ReleaseNamespaces []string
	// ShutdownDelay is the time during which /readyz fails and requests are still answered.
	ShutdownDelay time.Duration
	Log           logr.Logger
}

// Certificates configure the serving certificate. If Files is set, another program writes it to the directory Dir.
type Certificates struct {
	Files bool
	// Dir is a writable directory if Files is not set.
	Dir string
	// Secret stores the self-signed certificate and its authority. Configuration names the webhook configurations that
	// get the authority. The certificate is for the names of Service, and for ExtraNames.
	Secret, Configuration, Service string
	ExtraNames                     []string
}

// The endpoints of a Server.
const (
	Requests = "admission requests"
	Metrics  = "metrics"
	Probes   = "probes"
)

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

// Server is a webhook that can run once.
type Server struct {
	log     logr.Logger
	delay   time.Duration
	after   func(time.Duration) <-chan time.Time // time.After; tests replace it
	manager manager.Manager
	// draining is set when the shutdown begins.
	draining atomic.Bool
}

// New makes a Server, and listens on its addresses. It makes no request. It returns a ListenError, or
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
	m, err := manager.New(o.Config, manager.Options{
		Logger:                  o.Log,
		Metrics:                 metricsserver.Options{BindAddress: "0"},
		GracefulShutdownTimeout: new(grace),
		BaseContext:             func() context.Context { return logr.NewContext(context.Background(), o.Log) },
	})
	if err != nil {
		return nil, fmt.Errorf("creating the manager: %w", err)
	}
	return m, nil
}

// Run serves until the context ends. Then /readyz fails, so that new requests go to other replicas. Requests are still
// answered for the delay. Run returns nil when the last requests are answered.
func (s *Server) Run(ctx context.Context) error {
	// The end of ctx begins the drain, and does not end it.
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	undo := context.AfterFunc(ctx, func() { s.drain(running, stop) })
	defer undo()
	if err := s.manager.Start(running); err != nil {
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
