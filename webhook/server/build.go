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
	"sync"
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
	s := &Server{log: o.Log, delay: o.ShutdownDelay, after: time.After, manager: m, listeners: map[string]net.Listener{}}
	endpoint := newEndpoint(o, source, c.handlers, s.draining.Load)
	run := append([]manager.Runnable{endpoint, source}, c.run...)
	served, err := s.endpoints(o, map[string]http.Handler{
		Metrics: metricsHandler(c),
		Probes:  probesHandler(s.checks(source, endpoint, c)),
	})
	if err != nil {
		return nil, err
	}
	for _, r := range append(run, served...) {
		if err := m.Add(r); err != nil {
			return nil, errors.Join(fmt.Errorf("adding %T to the manager: %w", r, err), s.close())
		}
	}
	return s, nil
}

// endpoints listens at the addresses of metrics and probes. Both are servers of controller-runtime. Its manager could
// listen itself, but serves metrics only from a registry that the whole process shares.
func (s *Server) endpoints(o Options, handlers map[string]http.Handler) ([]manager.Runnable, error) {
	var out []manager.Runnable
	for endpoint, address := range map[string]string{Metrics: o.Metrics, Probes: o.Probes} {
		if address == "0" {
			continue
		}
		l, err := net.Listen("tcp", address)
		if err != nil {
			return nil, errors.Join(&ListenError{Endpoint: endpoint, Address: address, Err: err}, s.close())
		}
		s.listeners[endpoint] = l
		out = append(out, &manager.Server{Name: endpoint, Listener: l, Server: &http.Server{Handler: handlers[endpoint],
			ReadTimeout: readTimeout, WriteTimeout: time.Minute, IdleTimeout: 90 * time.Second, MaxHeaderBytes: 1 << 16}})
	}
	return out, nil
}

// close closes the listeners of a server that will not run.
func (s *Server) close() error {
	var all []error
	for _, l := range s.listeners {
		all = append(all, l.Close())
	}
	return errors.Join(all...)
}

func metricsHandler(c components) http.Handler {
	own := prometheus.NewRegistry()
	if c.metrics != nil {
		own.MustRegister(c.metrics) // cannot fail: nothing else is registered
	}
	mux := http.NewServeMux()
	// controller-runtime has the metrics of its webhook server, of requests to the API server, and of this process.
	mux.Handle("/metrics", promhttp.HandlerFor(prometheus.Gatherers{own, controllermetrics.Registry}, promhttp.HandlerOpts{}))
	return mux
}

// probesHandler serves livez, which only says that the process answers, and readyz, which names the checks that fail.
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

// allChecks answers for all checks, and names those that fail. controller-runtime's own handler does the same, but logs each
// failed probe without the reason.
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
		_, _ = io.WriteString(w, text) // the prober may have left
	})
}

// checks are the conditions under which the API server may call the webhook.
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
				return err // the started check would fail in the handshake, which is logged
			}
			return listening(r)
		},
	}
	for component, synced := range c.synced {
		checks[component] = syncedCheck(synced)
	}
	for name, check := range checks {
		checks[name] = logged(check, s.log.WithName("readyz").WithValues("check", name))
	}
	return checks
}

// logged logs when a check begins to fail, fails for another reason, or passes again. Neither the handler of checks nor
// client-go logs the reason.
func logged(check healthz.Checker, log logr.Logger) healthz.Checker {
	var mu sync.Mutex
	before := ""
	return func(r *http.Request) error {
		err := check(r)
		now := ""
		if err != nil {
			now = err.Error()
		}
		mu.Lock()
		defer mu.Unlock()
		if now != before && now == "" {
			log.Info("ready")
		} else if now != before {
			log.Info("not ready", "reason", now)
		}
		before = now
		return err
	}
}
