// SPDX-License-Identifier: Apache-2.0

// Package prometheus tests the rules and the dashboards of the auditor with Prometheus and Alertmanager, on metrics
// that test/e2e recorded from running auditors.
package prometheus

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
)

const (
	auditor    = "../../manifests/auditor/"
	recordings = "../e2e/testdata/"
)

// pages serves the recorded metrics of clusters. The path is the name of a cluster.
type pages struct {
	// moment is the moment of the recordings: "before" or "after"; empty if the auditors are gone. At the moment
	// "incomplete", the recordings are those of "after", and the auditors state that they could not read one thing.
	moment atomic.Value
}

const incomplete = "incomplete"

// ServeHTTP implements http.Handler.
func (p *pages) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	moment, _ := p.moment.Load().(string)
	if moment == "" {
		http.Error(w, "the auditor is gone", http.StatusServiceUnavailable)
		return
	}
	recorded := moment
	if moment == incomplete {
		recorded = "after"
	}
	page, err := os.ReadFile(recordings + filepath.Base(r.URL.Path) + "-" + recorded + ".prom")
	if err != nil {
		http.Error(w, err.Error(), http.StatusNotFound)
		return
	}
	if moment == incomplete {
		const gaps = "fleetdoctor_auditor_gaps{optional=\"false\"} "
		page = bytes.Replace(page, []byte(gaps+"0\n"), []byte(gaps+"1\n"), 1)
	}
	w.Header().Set("Content-Type", "text/plain; version=0.0.4")
	_, _ = w.Write(page) // Prometheus scrapes again
}

// configuration is that of Prometheus: it scrapes two replicas on each cluster, which have the same state.
const configuration = `
global: {scrape_interval: 1s, evaluation_interval: 1s}
rule_files: [%[1]q]
alerting: {alertmanagers: [{static_configs: [{targets: [%[2]q]}]}]}
scrape_configs:
- job_name: fleetdoctor-auditor
  static_configs:
  - {targets: [%[3]q], labels: {__metrics_path__: /hub, namespace: fleetdoctor-system, pod: hub-0, instance: hub-0}}
  - {targets: [%[3]q], labels: {__metrics_path__: /hub, namespace: fleetdoctor-system, pod: hub-1, instance: hub-1}}
  - {targets: [%[3]q], labels: {__metrics_path__: /edge, namespace: fleetdoctor-system, pod: edge-0, instance: edge-0}}
  - {targets: [%[3]q], labels: {__metrics_path__: /edge, namespace: fleetdoctor-system, pod: edge-1, instance: edge-1}}
`

// host returns the host and port of a URL.
func host(address string) string { return strings.TrimPrefix(address, "http://") }

// rules writes a copy of the rules in which alerts fire at once, and returns its path and the names of the alerts. That
// alerts wait is tested by promtool.
func rules(t *testing.T) (path string, alerts []string) {
	t.Helper()
	raw, err := os.ReadFile(auditor + "alerts.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile(`- alert: (\w+)`).FindAllStringSubmatch(string(raw), -1) {
		alerts = append(alerts, m[1])
	}
	at := regexp.MustCompile(`(?m)^( +for:) .*$`)
	if n := len(at.FindAllString(string(raw), -1)); n != len(alerts) || n == 0 {
		t.Fatalf("%d alerts, %d of them with for", len(alerts), n)
	}
	path = filepath.Join(t.TempDir(), "alerts.yaml")
	if err := os.WriteFile(path, at.ReplaceAll(raw, []byte("$1 0s")), 0o644); err != nil {
		t.Fatal(err)
	}
	return path, alerts
}

// TestRecorded lets Prometheus scrape the recordings before and after objects and releases vanished, and then nothing.
// Each alert must reach Alertmanager, and each query of the dashboards must have a result.
func TestRecorded(t *testing.T) {
	p := &pages{}
	p.moment.Store("before")
	exporters := httptest.NewServer(p)
	t.Cleanup(exporters.Close)
	path, alerts := rules(t)
	alertmanager := start(t, buildAlertmanager(t), "route: {receiver: none}\nreceivers: [{name: none}]\n",
		"--cluster.listen-address=")
	prometheus := start(t, buildPrometheus(t),
		fmt.Sprintf(configuration, path, host(alertmanager), host(exporters.URL)))

	// A counter needs two values for a rate.
	until(t, func() error {
		found, err := query(t, prometheus, "count_over_time(fleetdoctor_auditor_synced[1m]) >= 2")
		if err == nil && len(found) != 4 {
			err = fmt.Errorf("%d of 4 auditors were scraped twice", len(found))
		}
		return err
	})
	p.moment.Store("after")
	const absent, unread, outdated = "FleetAuditorAbsent", "FleetAuditorIncomplete", "FleetAuditorOutdated"
	later := []string{absent, unread, outdated} // rules.test.yaml has the age for the last one
	expected := slices.DeleteFunc(slices.Clone(alerts), func(s string) bool { return slices.Contains(later, s) })
	received := awaitAlerts(t, alertmanager, expected)
	for _, name := range later {
		if len(received[name]) > 0 {
			t.Errorf("%s fires while complete auditors run: %+v", name, received[name])
		}
	}
	checkAlerts(t, received)
	checkDashboards(t, prometheus)

	p.moment.Store(incomplete)
	checkAlerts(t, awaitAlerts(t, alertmanager, []string{unread}))
	p.moment.Store("")
	checkAlerts(t, awaitAlerts(t, alertmanager, []string{absent}))
}

// alert is an alert of the API of Alertmanager.
type alert struct {
	Labels      map[string]string `json:"labels"`
	Annotations map[string]string `json:"annotations"`
}

// awaitAlerts waits until Alertmanager has alerts with these names, and returns all that it has by their names.
func awaitAlerts(t *testing.T, alertmanager string, names []string) map[string][]alert {
	t.Helper()
	var out map[string][]alert
	until(t, func() error {
		var all []alert
		if err := get(t, alertmanager+"/api/v2/alerts", &all); err != nil {
			return err
		}
		out = map[string][]alert{}
		for _, a := range all {
			out[a.Labels["alertname"]] = append(out[a.Labels["alertname"]], a)
		}
		var missing []error
		for _, name := range names {
			if len(out[name]) == 0 {
				missing = append(missing, fmt.Errorf("Alertmanager has not received %s", name))
			}
		}
		return errors.Join(missing...)
	})
	return out
}

// checkAlerts checks the texts of alerts, that no alert is about one replica, and what a waiting rollout raises.
func checkAlerts(t *testing.T, all map[string][]alert) {
	t.Helper()
	for name, some := range all {
		for _, a := range some {
			for _, key := range []string{"summary", "description", "runbook_url"} {
				text := a.Annotations[key]
				if text == "" || strings.Contains(text, "{{") || strings.Contains(text, "<no value>") {
					t.Errorf("%s has the %s %q", name, key, text)
				}
			}
			if a.Labels["severity"] == "" || a.Labels["pod"] != "" || a.Labels["instance"] != "" {
				t.Errorf("%s has the labels %v", name, a.Labels)
			}
		}
	}
	for name, deployment := range map[string]string{"FleetDependencyWait": "stuck", "FleetRolloutStuck": "waiting"} {
		if slices.ContainsFunc(all[name], func(a alert) bool { return a.Labels["name"] == deployment }) {
			t.Errorf("%s fires for %s", name, deployment)
		}
	}
}

// dashboard has the fields of a dashboard of Grafana that queries need.
type dashboard struct {
	Panels []struct {
		Title   string `json:"title"`
		Targets []struct {
			Expr         string `json:"expr"`
			LegendFormat string `json:"legendFormat"`
		} `json:"targets"`
	} `json:"panels"`
	Templating struct {
		List []struct {
			Name     string  `json:"name"`
			Type     string  `json:"type"`
			Query    any     `json:"query"`
			AllValue *string `json:"allValue"`
		} `json:"list"`
	} `json:"templating"`
}

var (
	legend   = regexp.MustCompile(`\{\{\s*(\w+)\s*\}\}`)
	variable = regexp.MustCompile(`\$(\w+)`)
	ofValues = regexp.MustCompile(`label_values\((\w+),\s*(\w+)\)`)
)

// checkDashboards checks the result of each query of each dashboard.
func checkDashboards(t *testing.T, prometheus string) {
	t.Helper()
	paths, err := filepath.Glob(auditor + "dashboards/*.json")
	if err != nil || len(paths) != 3 {
		t.Fatal(paths, err)
	}
	for _, path := range paths {
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var d dashboard
		if err := json.Unmarshal(raw, &d); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		values := d.values(t, prometheus)
		for _, p := range d.Panels {
			for _, target := range p.Targets {
				expression := variable.ReplaceAllStringFunc(target.Expr, func(s string) string { return values[s[1:]] })
				until(t, func() error { // rules record a moment after the scrape
					found, err := query(t, prometheus, expression)
					if err == nil {
						err = checkResult(found, target.LegendFormat)
					}
					if err != nil {
						err = fmt.Errorf("%s: %s: %s: %w", filepath.Base(path), p.Title, expression, err)
					}
					return err
				})
			}
		}
	}
}

// deployment is the bundle deployment that the dashboard of a bundle shows.
const deployment = "shop"

// values returns what the variables of a dashboard are replaced with. Prometheus must have values of each variable.
func (d *dashboard) values(t *testing.T, prometheus string) map[string]string {
	t.Helper()
	out := map[string]string{"__rate_interval": "1m", "__interval": "1m"}
	for _, v := range d.Templating.List {
		if v.Type != "query" {
			continue
		}
		text, _ := v.Query.(map[string]any)
		m := ofValues.FindStringSubmatch(fmt.Sprint(text["query"]))
		if m == nil {
			t.Fatalf("the variable %s has the query %v", v.Name, v.Query)
		}
		var answer struct {
			Data []string `json:"data"`
		}
		address := prometheus + "/api/v1/label/" + m[2] + "/values?match[]=" + url.QueryEscape(m[1])
		if err := get(t, address, &answer); err != nil || len(answer.Data) == 0 {
			t.Fatalf("the variable %s has the values %q: %v", v.Name, answer.Data, err)
		}
		out[v.Name] = deployment
		if v.AllValue != nil {
			out[v.Name] = *v.AllValue
		} else if !slices.Contains(answer.Data, deployment) {
			t.Errorf("the variable %s has the values %q", v.Name, answer.Data)
		}
	}
	return out
}

// checkResult checks that there are series, that each has a label that its legend names, and that each label of the
// legend has a value in a series.
func checkResult(found []sample, format string) error {
	if len(found) == 0 {
		return errors.New("no series")
	}
	var labels []string
	for _, m := range legend.FindAllStringSubmatch(format, -1) {
		labels = append(labels, m[1])
	}
	for _, s := range found {
		has := func(label string) bool { return s.Metric[label] != "" }
		if len(labels) > 0 && !slices.ContainsFunc(labels, has) {
			return fmt.Errorf("the legend %q is empty for %v", format, s.Metric)
		}
	}
	for _, label := range labels {
		if !slices.ContainsFunc(found, func(s sample) bool { return s.Metric[label] != "" }) {
			return fmt.Errorf("no series has the label %s", label)
		}
	}
	return nil
}
