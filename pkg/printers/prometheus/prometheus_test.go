// SPDX-License-Identifier: Apache-2.0

package prometheus_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/printers/prometheus"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
	"github.com/fleetdoctor/kubectl-fleetdoctor/test/reports"
)

// read writes a report, and reads it with the parser and the linter of Prometheus. It returns the values by their
// series, NAME{VALUE,VALUE}.
func read(t *testing.T, a *report.Audit) map[string]float64 {
	t.Helper()
	var b bytes.Buffer
	if err := prometheus.Write(&b, a); err != nil {
		t.Fatal(err)
	}
	problems, err := promlint.New(bytes.NewReader(b.Bytes())).Lint()
	if err != nil {
		t.Fatalf("%v in\n%s", err, b.Bytes())
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(&b)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]float64{}
	for name, f := range families {
		if f.GetHelp() == "" || f.GetType() != dto.MetricType_GAUGE {
			t.Errorf("%s has the type %s and the help %q", name, f.GetType(), f.GetHelp())
		}
		for _, m := range f.Metric {
			var labels []string
			for _, l := range m.Label {
				labels = append(labels, l.GetValue())
			}
			series := name + "{" + strings.Join(labels, ",") + "}"
			if _, twice := out[series]; twice {
				t.Errorf("%s occurs twice", series)
			}
			out[series] = m.GetGauge().GetValue()
		}
	}
	return out
}

func compare(t *testing.T, got, want map[string]float64) {
	t.Helper()
	for series, value := range want {
		if v, ok := got[series]; !ok || v != value {
			t.Errorf("%s is %v (%v), want %v", series, v, ok, value)
		}
	}
}

// TestNumbers compares the metrics with the numbers of the sample.
func TestNumbers(t *testing.T) {
	a := reports.Sample(t, "sick")
	compare(t, read(t, a), map[string]float64{
		"fleetdoctor_audit_info{test,snapshot,}":                         1,
		"fleetdoctor_audit_complete{}":                                   1,
		"fleetdoctor_audit_gaps{}":                                       0,
		"fleetdoctor_audit_taken_timestamp_seconds{}":                    1795160855,
		"fleetdoctor_findings{FD101,Missing,error}":                      1,
		"fleetdoctor_findings{FD102,Unowned,error}":                      3,
		"fleetdoctor_findings{FD105,Orphaned,warning}":                   0,
		"fleetdoctor_cluster_findings{fleet-local/local,error}":          float64(a.Summary.Findings.Error),
		"fleetdoctor_cluster_findings{fleet-local/local,info}":           0,
		"fleetdoctor_cluster_objects{fleet-local/local,Ready}":           2,
		"fleetdoctor_cluster_reported_ready_objects{fleet-local/local}":  8,
		"fleetdoctor_cluster_bundledeployments{fleet-local/local}":       2,
		"fleetdoctor_cluster_ready_bundledeployments{fleet-local/local}": 0,
		"fleetdoctor_bundledeployment_desired_objects{fleet-local/local," + guestbook +
			"}": 5,
		"fleetdoctor_bundledeployment_objects{fleet-local/local," + guestbook +
			",Modified}": 2,
		"fleetdoctor_bundledeployment_reported_ready_objects{fleet-local/local," + guestbook +
			"}": 1,
		"fleetdoctor_bundledeployment_state{fleet-local/local," + guestbook +
			",Modified,}": 1,
		"fleetdoctor_bundledeployment_info{fleet-local/local," + guestbook +
			",fleet-local/guestbook-guestbook,fleet-local/guestbook,}": 1,
	})
}

const guestbook = "cluster-fleet-local-local-1a3d67d0a899/guestbook-guestbook"

// TestUnread checks that the audit is not complete, and that a bundle deployment without a result has no numbers.
func TestUnread(t *testing.T) {
	got := read(t, reports.Unread())
	compare(t, got, map[string]float64{
		"fleetdoctor_audit_complete{}": 0,
		"fleetdoctor_audit_gaps{}":     1,
		"fleetdoctor_bundledeployment_objects{fleet-local/local,cluster-local/web,Unknown}":               1,
		"fleetdoctor_bundledeployment_state{fleet-local/local,cluster-local/api,Unknown,NoReleaseRecord}": 1,
		"fleetdoctor_bundledeployment_state{fleet-default/edge,cluster-edge/web,Unknown,ClusterNotRead}":  1,
		"fleetdoctor_bundledeployment_info{fleet-default/edge,cluster-edge/web,fleet-default/web,,}":      1,
	})
	for series := range got {
		if strings.Contains(series, "objects{") && (strings.Contains(series, "/api") ||
			strings.Contains(series, "edge")) {
			t.Errorf("%s has no result", series)
		}
	}
}

// TestSeries checks that no object adds a series, and that two bundle deployments with the same name on the same
// cluster are one series.
func TestSeries(t *testing.T) {
	a := reports.Sample(t, "sick")
	want := len(read(t, a))
	a.BundleDeployments = append(a.BundleDeployments, a.BundleDeployments[0])
	a.BundleDeployments[0].Resources = append(a.BundleDeployments[0].Resources, make([]report.Resource, 100)...)
	a.Findings = append(a.Findings, a.Findings...)
	got := read(t, a)
	if len(got) != want || got["fleetdoctor_bundledeployment_desired_objects{fleet-local/local,"+guestbook+"}"] != 10 {
		t.Errorf("%d series, want %d", len(got), want)
	}
}

// TestHostile checks that text from a cluster cannot add a line, and acts on no terminal.
func TestHostile(t *testing.T) {
	a := reports.Hostile(reports.Full(), reports.Evil)
	read(t, a)
	var b bytes.Buffer
	if err := prometheus.Write(&b, a); err != nil {
		t.Fatal(err)
	}
	if strings.ContainsAny(b.String(), "\x00\x1b\x07\r\u009b\u202e\u2066\u2028\x7f\ufffe") {
		t.Error("the metrics have characters that act on a terminal")
	}
	for line := range strings.Lines(b.String()) {
		if !strings.HasPrefix(line, "fleetdoctor_") && !strings.HasPrefix(line, "# ") {
			t.Errorf("a line that is no metric: %q", line)
		}
	}
}

// TestLeftOut checks that the findings which the report does not list are counted, and that a report that lists all has
// zeros.
func TestLeftOut(t *testing.T) {
	const series = "fleetdoctor_audit_left_out_findings"
	compare(t, read(t, reports.LeftOut()), map[string]float64{series + "{filter}": 2, series + "{ignored}": 1, series +
		"{baseline}": 4, "fleetdoctor_audit_info{test,cluster,team/ignored.yaml}": 1})
	compare(t, read(t, reports.Unread()), map[string]float64{series + "{filter}": 0, series + "{ignored}": 0, series +
		"{baseline}": 0})
}
