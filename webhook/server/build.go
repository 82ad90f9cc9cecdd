// SPDX-License-Identifier: Apache-2.0

// Package server assembles and runs the webhook: the watches, the handlers behind TLS, the certificate, probes,
// metrics, and a shutdown during which no request fails.
package server

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime/debug"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/semaphore"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	controllermetrics "sigs.k8s.io/controller-runtime/pkg/metrics"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
	ctrladmission "sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/transport"
)

// grace bounds the shutdown after the delay. Requests are short: the API server waits for two seconds.
const grace = 15 * time.Second

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
		Cache:                   cache.Options{ByObject: cachedObjects(o)},
		MapperProvider:          func(*rest.Config, *http.Client) (meta.RESTMapper, error) { return mapper(), nil },
	})
	if err != nil {
		return nil, fmt.Errorf("creating the manager: %w", err)
	}
	return m, nil
}

// cachedObjects restricts the cache of the manager to the objects of a self-signed certificate.
func cachedObjects(o Options) map[client.Object]cache.ByObject {
	c := o.Certificates
	named := func(name string) fields.Selector { return fields.OneTermEqualSelector("metadata.name", name) }
	out := map[client.Object]cache.ByObject{
		&corev1.Secret{}: {Field: named(c.Secret), Namespaces: map[string]cache.Config{o.Namespace: {}}},
	}
	for _, configuration := range webhookConfigurations(c.Configuration) {
		out[configuration] = cache.ByObject{Field: named(c.Configuration)}
	}
	return out
}

// mapper maps the kinds of these objects without requests.
func mapper() meta.RESTMapper {
	m := meta.NewDefaultRESTMapper(nil)
	m.Add(corev1.SchemeGroupVersion.WithKind("Secret"), meta.RESTScopeNamespace)
	for _, configuration := range webhookConfigurations("") {
		m.Add(configuration.GroupVersionKind(), meta.RESTScopeRoot)
	}
	return m
}

// build makes a Server, and adds to the manager what it runs.
func build(m manager.Manager, o Options, source certificateSource, c components) (*Server, error) {
	s := &Server{log: o.Log, delay: o.ShutdownDelay, after: time.After, manager: m}
	run := c.run
	// controller-runtime's manager could listen itself, but it serves metrics only from a registry that the whole
	// process shares.
	requests := transport.Endpoint{Name: Requests, Address: net.JoinHostPort(o.Host, strconv.Itoa(o.Port)),
		Handler: requestsHandler(c.handlers, s.draining.Load, o.Log), TLS: requestsTLS(source),
		Limits: limitsOf(maxConnections)}
	others := limitsOf(transport.MaxConnections)
	metrics := transport.Endpoint{Name: Metrics, Address: o.Metrics, Handler: metricsHandler(c.metrics), Limits: others}
	probes := transport.Endpoint{Name: Probes, Address: o.Probes, Handler: transport.Probes(nil, s.checks(source, c)),
		Limits: others}
	for _, e := range []transport.Endpoint{requests, metrics, probes} {
		e.OnSurplus = c.metrics.closed.Inc
		server, err := e.Listen()
		if err != nil { // the process ends, which closes the other listeners
			return nil, err
		}
		if server != nil {
			run = append(run, &manager.Server{Name: e.Name, Listener: server.Listener, Server: server.Server})
		}
	}
	for _, r := range run {
		if err := m.Add(r); err != nil {
			return nil, fmt.Errorf("adding %T to the manager: %w", r, err)
		}
	}
	return s, nil
}

func metricsHandler(c *Collector) http.Handler {
	own := prometheus.NewRegistry()
	own.MustRegister(c) // cannot fail: the registry is empty
	// The registry of controller-runtime has the metrics of its webhook server, of requests to the API server, and of
	// this process.
	return transport.Metrics(own, controllermetrics.Registry)
}

// errNotSynced is the error of a component that has not read everything.
var errNotSynced = errors.New("not everything was read yet")

// checks are the conditions of /readyz.
func (s *Server) checks(source certificateSource, c components) map[string]healthz.Checker {
	checks := map[string]healthz.Checker{
		"certificate": func(*http.Request) error { return checkCertificate(source, time.Now()) },
		"draining": func(*http.Request) error {
			if s.draining.Load() {
				return errors.New("the webhook is shutting down")
			}
			return nil
		},
	}
	for component, synced := range c.synced {
		checks[component] = func(*http.Request) error {
			if !synced() {
				return errNotSynced
			}
			return nil
		}
	}
	for name, check := range checks {
		checks[name] = transport.Logged(check, s.log.WithName("readyz").WithValues("check", name))
	}
	return checks
}

// maxConnections is for admission requests. An API server keeps at most 25 idle connections to each of the three
// webhooks: five API servers keep 375.
const maxConnections = 512

// maxHeader is the size of the headers of a request. net/http adds 4 KiB. The API server sends less than 1 KiB, and a
// token if it is configured to authenticate. Each byte matters: 4 bytes of headers use more than 100 bytes of memory.
const maxHeader = 1 << 10

// readTimeout is for a whole request, and for the TLS handshake. The API server does not wait longer for an answer.
const readTimeout = 2 * time.Second

// writeTimeout is for the answer, from the start of the request. It leaves time to answer a request that arrived late,
// because the API server can be configured to wait longer.
const writeTimeout = 2 * readTimeout

// idleTimeout is the time for which the API server keeps an idle connection.
const idleTimeout = 90 * time.Second

// limitsOf returns the limits of an endpoint with a number of connections.
func limitsOf(connections int) transport.Limits {
	return transport.Limits{Connections: connections, Header: maxHeader, Read: readTimeout, Write: writeTimeout,
		Idle: idleTimeout}
}

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

// maxBody is the size from which a body is refused, as in controller-runtime. A review contains two states of an
// object, each of up to 3 MiB, which is twice the size that the API server stores.
const maxBody = 7 << 20

// maxUsual is the size of the largest body that the API server usually sends.
const maxUsual = 1 << 20

// requestsTLS is the configuration of the port for admission requests.
func requestsTLS(source certificateSource) *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS12,
		// Not h2: one connection could open and reset any number of streams (CVE-2023-44487).
		NextProtos:     []string{"http/1.1"},
		GetCertificate: source.GetCertificate,
	}
}

// requestsHandler serves admission requests, by path. Of controller-runtime's webhook server it uses only the
// multiplexer, which counts requests: that server has no option for its listener, and it reads headers of 1 MiB for 32
// seconds.
func requestsHandler(handlers map[string]ctrladmission.Handler, draining func() bool, log logr.Logger) http.Handler {
	s := webhook.NewServer(webhook.Options{})
	limits := newBodyLimits()
	logger := func(logr.Logger, *ctrladmission.Request) logr.Logger { return log }
	for path, handler := range handlers {
		w := &ctrladmission.Webhook{Handler: handler, LogConstructor: logger}
		// controller-runtime would answer a panic with a denial, to which the failurePolicy does not apply.
		s.Register(path, protect(w.WithRecoverPanic(false), limits, draining, log))
	}
	return s.WebhookMux()
}

// bodyLimits bound the bytes of all bodies in memory: any client that reaches the port may send bodies, and decoding
// needs about twenty times their size. Bodies that are large, or do not state their size, have a separate limit, so
// that they do not block bodies of usual size.
type bodyLimits struct{ usual, large *semaphore.Weighted }

func newBodyLimits() bodyLimits {
	return bodyLimits{usual: semaphore.NewWeighted(maxBody), large: semaphore.NewWeighted(maxBody)}
}

// of returns the limit for the body of a request.
func (l bodyLimits) of(req *http.Request) *semaphore.Weighted {
	if req.ContentLength < 0 || req.ContentLength > maxUsual {
		return l.large
	}
	return l.usual
}

// limitedBody counts the received bytes, not the size in the header.
type limitedBody struct {
	io.ReadCloser
	limit *semaphore.Weighted
	taken int64
}

var errTooManyBytes = errors.New("too many bytes of admission reviews are received at the same time")

// Read implements io.Reader.
func (b *limitedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if !b.limit.TryAcquire(int64(n)) {
		return 0, errTooManyBytes
	}
	b.taken += int64(n)
	return n, err
}

// release returns the bytes to the limit.
func (b *limitedBody) release() { b.limit.Release(b.taken) }

// refuse answers that a body could not be read, with the reason.
func refuse(w http.ResponseWriter, err error) {
	w.Header().Set("Connection", "close") // the rest of the body is not read
	large, ok := errors.AsType[*http.MaxBytesError](err)
	switch {
	case ok:
		text := fmt.Sprintf("the admission review is larger than %d bytes", large.Limit)
		http.Error(w, text, http.StatusRequestEntityTooLarge)
	case errors.Is(err, errTooManyBytes):
		http.Error(w, errTooManyBytes.Error(), http.StatusServiceUnavailable)
	default:
		http.Error(w, "the admission review was not received", http.StatusBadRequest)
	}
}

// protect passes requests to a handler within the limits of size. Failures are HTTP errors, because the
// failurePolicy applies to these.
func protect(next http.Handler, limits bodyLimits, draining func() bool, log logr.Logger) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost {
			w.Header().Set("Allow", http.MethodPost)
			http.Error(w, "admission reviews are sent by POST", http.StatusMethodNotAllowed)
			return
		}
		if r.ContentLength >= maxBody {
			refuse(w, &http.MaxBytesError{Limit: maxBody - 1})
			return
		}
		body := &limitedBody{ReadCloser: r.Body, limit: limits.of(r)}
		defer body.release()
		review, err := io.ReadAll(http.MaxBytesReader(w, body, maxBody-1))
		if err != nil {
			refuse(w, err)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(review))
		if draining() {
			w.Header().Set("Connection", "close") // so that the next request goes to another replica
		}
		defer func() {
			if fault := recover(); fault != nil {
				// The recovered value may quote the request, and the stack does not.
				log.Error(fmt.Errorf("fault of type %T", fault), "a request was not answered",
					"path", r.URL.Path, "stack", string(debug.Stack()))
				http.Error(w, "the webhook failed", http.StatusInternalServerError)
			}
		}()
		next.ServeHTTP(w, r)
	})
}
