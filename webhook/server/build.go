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

// build adds to a manager what it runs.
func build(m manager.Manager, o Options, source certificateSource, p parts) (*Server, error) {
	s := &Server{log: o.Log, delay: o.ShutdownDelay, over: time.After, manager: m, listeners: map[string]net.Listener{}}
	hook := newHook(o, source, p.handlers, s.draining.Load)
	run := append([]manager.Runnable{hook, source}, p.run...)
	served, err := s.endpoints(o, map[string]http.Handler{
		Metrics: metricsHandler(p),
		Probes:  probesHandler(s.checks(source, hook, p)),
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

// endpoints listens where metrics and probes are asked for. Both are servers of controller-runtime; its manager would listen for them itself,
// but serves metrics only from a registry that is shared by the whole process.
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

// close gives up the addresses of a server that will not run.
func (s *Server) close() error {
	var all []error
	for _, l := range s.listeners {
		all = append(all, l.Close())
	}
	return errors.Join(all...)
}

func metricsHandler(p parts) http.Handler {
	own := prometheus.NewRegistry()
	if p.metrics != nil {
		own.MustRegister(p.metrics) // nothing else is in there
	}
	mux := http.NewServeMux()
	// The others are controller-runtime's: of its webhook server, of requests to the API server, of this process.
	mux.Handle("/metrics", promhttp.HandlerFor(prometheus.Gatherers{own, controllermetrics.Registry}, promhttp.HandlerOpts{}))
	return mux
}

// probesHandler serves livez, which says only that the process answers, and readyz; what fails is said in its answer.
func probesHandler(ready map[string]healthz.Checker) http.Handler {
	mux := http.NewServeMux()
	for path, checks := range map[string]map[string]healthz.Checker{"/livez": {"ping": healthz.Ping}, "/readyz": ready} {
		mux.Handle(path, all(checks))
		for name, check := range checks {
			mux.Handle(path+"/"+name, healthz.CheckHandler{Checker: check})
		}
	}
	return mux
}

// all answers for all checks, and names those that fail. controller-runtime's own handler does the same, and logs every failed probe without
// saying why.
func all(checks map[string]healthz.Checker) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		status, said := http.StatusOK, ""
		for _, name := range slices.Sorted(maps.Keys(checks)) {
			if err := checks[name](r); err != nil {
				status = http.StatusInternalServerError
				said += fmt.Sprintf("[-]%s failed: %v\n", name, err)
				continue
			}
			said += fmt.Sprintf("[+]%s ok\n", name)
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, said) // to a probe that may have gone
	})
}

// checks are what has to be true before the API server may call.
func (s *Server) checks(source certificateSource, hook webhook.Server, p parts) map[string]healthz.Checker {
	listening := hook.StartedChecker()
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
				return err // a handshake would fail, and be logged
			}
			return listening(r)
		},
	}
	for part, synced := range p.synced {
		checks[part] = func(*http.Request) error {
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

// logged logs when a check begins to fail, fails for another reason, or does no longer. The handler of checks itself keeps the reason back, and
// so does client-go where an API server refuses connections.
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
