// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
	"github.com/fleetdoctor/kubectl-fleetdoctor/test/golden"
	"github.com/fleetdoctor/kubectl-fleetdoctor/test/views"
)

// TestFromMetrics checks the views of an audit from metrics.
func TestFromMetrics(t *testing.T) {
	server := views.Serve(t, views.Series(t, views.Fleet()...))
	for name, flags := range map[string][]string{"table": nil, "clusters": {"--by=cluster"}, "summary": {"--summary"},
		"json": {"-o", "json"}, "name": {"-o", "name"}} {
		got := run(t, append([]string{"audit", "--from-metrics", server}, flags...)...)
		if got.status != 1 || got.errOut != "" {
			t.Errorf("%s: status %d: %s", name, got.status, got.errOut)
		}
		golden.Compare(t, "frommetrics-"+name+".txt", strings.ReplaceAll(got.out, server, "http://SERVER/prometheus"))
	}
}

// healthy are the auditors of a management cluster and of its only other cluster, without problems.
func healthy() []*views.Auditor {
	return []*views.Auditor{
		{View: views.Hub(50, views.Known("edge", "web", report.Ready)), Leads: true, Synced: true,
			Labels: views.Scrape("hub", "auditor-0")},
		{View: views.Of(50, views.On("edge", "web", report.Ready)), Leads: true, Synced: true,
			Labels: views.Scrape("edge", "auditor-1")},
	}
}

// TestFromMetricsStatus checks the exit status: what was not read never ends in success.
func TestFromMetricsStatus(t *testing.T) {
	all := views.Series(t, healthy()...)
	whole, partial := views.Serve(t, all), views.Serve(t, all, "a store does not answer")
	unread := healthy()
	unread[1].Synced = false
	none := views.Serve(t, views.Series(t, unread...))
	page := strings.TrimSuffix(whole, "/prometheus")
	for _, tc := range []struct {
		flags   []string
		status  int
		message string
	}{
		{[]string{whole}, 0, ""},
		{[]string{whole, "--require-complete"}, 0, ""},
		{[]string{partial}, 3, "a store does not answer"},
		{[]string{partial, "--require-complete", "--fail-on=none"}, 3, "a store does not answer"},
		{[]string{partial, "--fail-on=none"}, 0, ""},
		{[]string{none, "--fail-on=none"}, 3, "no bundle deployment has a result (1 are known)"},
		{[]string{page}, 3, "reading metrics from " + page + ": the server answered: client error: 404"},
		{[]string{views.Serve(t, nil)}, 3, "no auditor exports metrics there"},
	} {
		got := run(t, append([]string{"audit", "--from-metrics"}, tc.flags...)...)
		if got.status != tc.status || !strings.Contains(got.errOut, tc.message) {
			t.Errorf("%v: status %d, want %d and %q: %s", tc.flags, got.status, tc.status, tc.message, got.errOut)
		}
	}
}

// TestFromMetricsUsage checks that a wrong command line is an error that names the flag and the remedy, and quotes no
// credential.
func TestFromMetricsUsage(t *testing.T) {
	const server = "https://127.0.0.1:1"
	for _, tc := range []struct{ flags, want string }{
		{"--from-metrics https://user:hidden@host", "use --from-metrics-token-file"},
		{"--from-metrics https://host/?token=hidden", "leave out what follows ? or #"},
		{"--from-metrics host:9090", "it must be a URL such as https://HOST:PORT/prometheus"},
		{"--from-metrics=", "it must be a URL"},
		{"--from-metrics " + server + " --from-metrics-header Authorization=hidden", "use --from-metrics-token-file"},
		{"--from-metrics " + server + " --from-metrics-header hidden", "a header must be NAME=VALUE"},
		{"--from-metrics " + server + " --from-metrics-token-file absent", "absent"},
		{"--from-metrics " + server + " --snapshot x", "--from-metrics and --snapshot are mutually exclusive"},
		{"--from-metrics " + server + " --via-rancher", "--from-metrics and --via-rancher are mutually exclusive"},
		{"--from-metrics " + server + " --context x", "--from-metrics and --context are mutually exclusive"},
		{"--from-metrics " + server + " --print-rbac", "--from-metrics and --print-rbac are mutually exclusive"},
		{"--from-metrics " + server + " bundle/web", `--from-metrics and "bundle/web" are mutually exclusive`},
		{"--from-metrics " + server + " -o compare-patches", "--output=compare-patches are mutually exclusive"},
		{"--from-metrics-match a=b", "--from-metrics-match requires --from-metrics"},
	} {
		got := run(t, append([]string{"audit"}, strings.Fields(tc.flags)...)...)
		if got.status != 2 || !strings.Contains(got.errOut, tc.want) || strings.Contains(got.errOut, "hidden") {
			t.Errorf("%s: status %d, want 2 and %q: %s", tc.flags, got.status, tc.want, got.errOut)
		}
	}
}

// TestFromMetricsConfig checks that clusters of the configuration file are not read in addition.
func TestFromMetricsConfig(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(path, []byte("clusters: {contexts: [edge]}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("FLEETDOCTOR_CONFIG", path)
	got := run(t, "audit", "--from-metrics", views.Serve(t, views.Series(t, healthy()...)))
	if got.status != 0 {
		t.Errorf("status %d: %s", got.status, got.errOut)
	}
}
