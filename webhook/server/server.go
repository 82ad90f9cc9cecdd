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
	"sigs.k8s.io/controller-runtime/pkg/manager"
)

// Server is a webhook that can run once.
type Server struct {
	log     logr.Logger
	delay   time.Duration
	after   func(time.Duration) <-chan time.Time // time.After; tests replace it
	manager manager.Manager
	// draining is set when the shutdown begins.
	draining atomic.Bool
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
