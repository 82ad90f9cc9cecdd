// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"sync/atomic"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
)

// The endpoints that every server has.
const (
	MetricsEndpoint = "metrics"
	ProbesEndpoint  = "probes"
)

// Metrics serves /metrics from registries.
func Metrics(registries ...prometheus.Gatherer) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/metrics", promhttp.HandlerFor(prometheus.Gatherers(registries), promhttp.HandlerOpts{}))
	return mux
}

// Probes serves /livez and /readyz, which name the checks that fail. Without checks, /livez succeeds while the process
// answers.
func Probes(live, ready map[string]healthz.Checker) http.Handler {
	mux := http.NewServeMux()
	live = maps.Clone(live)
	if live == nil {
		live = map[string]healthz.Checker{}
	}
	live["ping"] = healthz.Ping
	for path, checks := range map[string]map[string]healthz.Checker{"/livez": live, "/readyz": ready} {
		mux.Handle(path, allChecks(checks))
		for name, check := range checks {
			mux.Handle(path+"/"+name, healthz.CheckHandler{Checker: check})
		}
	}
	return mux
}

// allChecks answers for all checks, and gives the reasons of those that fail. controller-runtime's own handler hides
// the reasons, and logs each failed probe.
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

// Logged logs when a check begins to fail, fails for another reason, or succeeds again.
func Logged(check healthz.Checker, log logr.Logger) healthz.Checker {
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
