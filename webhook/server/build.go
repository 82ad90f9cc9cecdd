// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
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
