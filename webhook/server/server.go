// SPDX-License-Identifier: Apache-2.0

// Package server puts the webhook together and runs it: the watches that fill its memory, its handlers behind TLS, its certificate, what it
// says of its health and in metrics, and a way out that no request falls into.
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

// Name is what the webhook calls itself: in the user agent, and as who reports its Events.
const Name = "fleetdoctor-webhook"

// Grace is how long everything may take to stop, after the delay. Requests are short, as the API server waits for two seconds.
const Grace = 15 * time.Second

// Options say what to serve, where, and as whom.
type Options struct {
	// Config leads to the cluster. Its rate limit, timeout and warning handler are replaced.
	Config *rest.Config
	// Namespace is the webhook's own.
	Namespace string
	// Host and Port are where the API server calls; an empty Host stands for all addresses.
	Host string
	Port int
	// Metrics and Probes are addresses, "host:port"; "0" stands for none.
	Metrics, Probes string
	Certificates    Certificates
	GuardDefault    admission.GuardMode
	// ReleaseNamespaces are those whose release records are read; none stands for all.
	ReleaseNamespaces []string
	// ShutdownDelay is how long requests are still taken while readyz already says no.
	ShutdownDelay time.Duration
	Log           logr.Logger
	// Instance tells servers of one process apart, which tests have.
	Instance string
}

// Certificates say where the serving certificate comes from: with Files from the folder Dir, where somebody else keeps it.
type Certificates struct {
	Files bool
	// Dir, without Files, is a folder that may be written to.
	Dir string
	// Secret keeps the certificate that is made here, and its authority; Configuration names the webhook configurations that are told of
	// the authority. The certificate is for the names of Service, and for ExtraNames.
	Secret, Configuration, Service string
	ExtraNames                     []string
}

// The endpoints of a Server.
const (
	Requests = "admission requests"
	Metrics  = "metrics"
	Probes   = "probes"
)

// ListenError says at which endpoint nobody can listen.
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
	over    func(time.Duration) <-chan time.Time // time.After, but in a test
	manager manager.Manager
	// draining is set when no more requests are wanted.
	draining atomic.Bool
	// listeners are the endpoints that are listened at already, by name.
	listeners map[string]net.Listener
}

// New puts a Server together, and listens at its addresses for metrics and probes. It makes no request. Its errors are a ListenError, and those
// of a kubeconfig, or of files, that cannot be used.
func New(o Options) (*Server, error) {
	o.Config = connection(o.Config)
	m, err := newManager(o)
	if err != nil {
		return nil, err
	}
	source, err := certificate(m, o)
	if err != nil {
		return nil, err
	}
	p, err := product(m, o, source)
	if err != nil {
		return nil, err
	}
	return build(m, o, source, p)
}

// newManager makes the manager that starts and stops everything. It elects no leader, as every replica serves; and it serves nothing by itself.
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

// Run serves until the context ends, and then lets go: readyz says no, so that the API server is told to call somebody else; requests are still
// taken for the delay; those that are being answered are ended. It returns nil after that.
func (s *Server) Run(ctx context.Context) error {
	// The end of the context begins the drain, and does not cut it short.
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
	case <-s.over(s.delay):
	case <-running.Done():
	}
	stop()
}

// Address is where an endpoint is listened at: Metrics or Probes. It is nil where it is not.
func (s *Server) Address(endpoint string) net.Addr {
	if l := s.listeners[endpoint]; l != nil {
		return l.Addr()
	}
	return nil
}
