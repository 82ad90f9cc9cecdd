// SPDX-License-Identifier: Apache-2.0

package server

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"slices"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	controllermetrics "sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
)

// build makes a Server, and adds to the manager what it runs.
func build(m manager.Manager, o Options, source certificateSource, c components) (*Server, error) {
	s := &Server{log: o.Log, delay: o.ShutdownDelay, after: time.After, manager: m}
	webhookServer := newEndpoint(o, source, c.handlers, s.draining.Load)
	run := append([]manager.Runnable{webhookServer, source}, c.run...)
	// controller-runtime's manager could listen itself, but it serves metrics only from a registry that the whole process shares.
	for _, e := range []struct {
		name, address string
		handler       http.Handler
	}{{Metrics, o.Metrics, metricsHandler(c.metrics)}, {Probes, o.Probes, probesHandler(s.checks(source, webhookServer, c))}} {
		if e.address == "0" {
			continue
		}
		l, err := net.Listen("tcp", e.address)
		if err != nil { // the process ends, which closes the other listener
			return nil, &ListenError{Endpoint: e.name, Address: e.address, Err: err}
		}
		run = append(run, &manager.Server{Name: e.name, Listener: l, Server: &http.Server{Handler: e.handler,
			ReadTimeout: readTimeout, WriteTimeout: time.Minute, IdleTimeout: 90 * time.Second, MaxHeaderBytes: 1 << 16}})
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
	mux := http.NewServeMux()
	// The registry of controller-runtime has the metrics of its webhook server, of requests to the API server, and of this process.
	mux.Handle("/metrics", promhttp.HandlerFor(prometheus.Gatherers{own, controllermetrics.Registry}, promhttp.HandlerOpts{}))
	return mux
}

// probesHandler serves /livez, which succeeds while the process answers, and /readyz, which names the checks that fail.
func probesHandler(ready map[string]healthz.Checker) http.Handler {
	mux := http.NewServeMux()
	for path, checks := range map[string]map[string]healthz.Checker{"/livez": {"ping": healthz.Ping}, "/readyz": ready} {
		mux.Handle(path, allChecks(checks))
		for name, check := range checks {
			mux.Handle(path+"/"+name, healthz.CheckHandler{Checker: check})
		}
	}
	return mux
}

// allChecks answers for all checks, and gives the reasons of those that fail. controller-runtime's own handler hides the
// reasons, and logs each failed probe.
func allChecks(checks map[string]healthz.Checker) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		status, text := http.StatusOK, ""
		for _, name := range slices.Sorted(maps.Keys(checks)) {
			if err := checks[name](r); err != nil {
				status = http.StatusInternalServerError
				text += fmt.Sprintf("[-]%s failed: %v\n", name, err)
				continue
			}
			text += fmt.Sprintf("[+]%s ok\n", name)
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, text) // the client may have closed the connection
	})
}

// errNotSynced is the error of a component that has not read everything.
var errNotSynced = errors.New("not everything was read yet")

// checks are the conditions of /readyz.
func (s *Server) checks(source certificateSource, endpoint webhook.Server, c components) map[string]healthz.Checker {
	listening := endpoint.StartedChecker()
	checks := map[string]healthz.Checker{
		"certificate": func(*http.Request) error { return checkCertificate(source, time.Now()) },
		"draining": func(*http.Request) error {
			if s.draining.Load() {
				return errors.New("the webhook is shutting down")
			}
			return nil
		},
		"webhook": func(r *http.Request) error {
			if err := checkCertificate(source, time.Now()); err != nil {
				return err // listening would connect, and log that the handshake failed
			}
			return listening(r)
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
		checks[name] = logged(check, s.log.WithName("readyz").WithValues("check", name))
	}
	return checks
}

// logged logs when a check begins to fail, fails for another reason, or succeeds again.
func logged(check healthz.Checker, log logr.Logger) healthz.Checker {
	var reason atomic.Value
	reason.Store("")
	return func(r *http.Request) error {
		err, now := check(r), ""
		if err != nil {
			now = err.Error()
		}
		switch before := reason.Swap(now); {
		case before == now:
		case now == "":
			log.Info("ready")
		default:
			log.Info("not ready", "reason", now)
		}
		return err
	}
}
