// SPDX-License-Identifier: Apache-2.0

package views

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/prometheus/common/model"
)

// selector is a query for metrics by their names, with a comparison or without one.
var selector = regexp.MustCompile(`^\{__name__=(~?)"([^"]+)"(,[^}]*)?\}( > 0)?$`)

// Answer returns the series that Prometheus answers a query for metrics with, and false for another query. It ignores
// matchers of other labels.
func Answer(series model.Vector, query string) (model.Vector, bool) {
	q := selector.FindStringSubmatch(query)
	if q == nil {
		return nil, false
	}
	name, found := regexp.MustCompile("^"+q[2]+"$"), model.Vector{}
	for _, s := range series {
		if name.MatchString(string(s.Metric[model.MetricNameLabel])) && (q[4] == "" || s.Value > 0) {
			found = append(found, s)
		}
	}
	return found, true
}

// Serve returns the address of a server that answers the queries for metrics as Prometheus does, below the path
// /prometheus. It evaluates no other query.
func Serve(t *testing.T, series model.Vector, warnings ...string) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		found, ok := Answer(series, r.FormValue("query"))
		if r.URL.Path != "/prometheus/api/v1/query" || r.Method != http.MethodPost || !ok {
			http.Error(w, "no such page", http.StatusNotFound)
			return
		}
		answer := map[string]any{"status": "success", "data": map[string]any{"resultType": "vector", "result": found}}
		if len(warnings) > 0 && strings.Contains(r.FormValue("query"), "object_state") {
			answer["warnings"] = warnings
		}
		w.Header().Set("Content-Type", "application/json")
		if err := json.NewEncoder(w).Encode(answer); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(s.Close)
	return s.URL + "/prometheus"
}
