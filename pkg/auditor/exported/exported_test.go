// SPDX-License-Identifier: Apache-2.0

package exported_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/common/model"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/auditor/exported"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/auditor/metrics"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/auditor/view"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
	"github.com/fleetdoctor/kubectl-fleetdoctor/test/views"
)

// answers are what a server has of auditors.
func answers(t *testing.T, all ...*views.Auditor) exported.Answers {
	t.Helper()
	out := exported.Answers{Server: "https://mimir.example", At: views.Now, Version: "test"}
	series := views.Series(t, all...)
	for _, q := range exported.Queries("") {
		found, ok := views.Answer(series, q)
		if !ok {
			t.Fatalf("%s is no query for metrics", q)
		}
		out.Series = append(out.Series, found...)
	}
	return out
}

func reportOf(t *testing.T, a exported.Answers) *report.Audit {
	t.Helper()
	out, err := exported.Report(a)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// states are the states of the bundle deployments, with the reasons.
func states(a *report.Audit) map[string]string {
	out := map[string]string{}
	for _, bd := range a.BundleDeployments {
		out[bd.Cluster+" "+bd.Name] = strings.TrimSpace(string(bd.State) + " " + bd.Reason)
	}
	return out
}

// gaps are the gaps as text.
func gaps(a *report.Audit) []string {
	var out []string
	for _, g := range a.Gaps {
		out = append(out, strings.TrimSpace(fmt.Sprintf("%s %s: %s", g.Cluster, g.What, g.Reason)))
	}
	return out
}

// one is a fleet of one cluster, with the management cluster that knows it. change changes the auditor of the cluster.
func one(change func(*views.Auditor)) []*views.Auditor {
	edge := &views.Auditor{View: views.Of(50, views.On("edge-1", "web", report.Ready)), Leads: true, Synced: true,
		Labels: views.Scrape("edge-1", "auditor-1")}
	if change != nil {
		change(edge)
	}
	return []*views.Auditor{{View: views.Hub(50, views.Known("edge-1", "web", report.Ready)), Leads: true, Synced: true,
		Labels: views.Scrape("hub", "auditor-0")}, edge}
}

// TestFleet checks the report of several clusters: replicas count once, and a cluster without a present state is
// Unknown.
func TestFleet(t *testing.T) {
	got := reportOf(t, answers(t, views.Fleet()...))
	if diff := cmp.Diff(map[string]string{
		"fleet-local/local platform": "Ready",
		"fleet-default/edge-1 web":   "Modified",
		"fleet-default/edge-1 db":    "Ready",
		"fleet-default/edge-2 web":   "Unknown ReadFailed",
		"fleet-default/edge-3 web":   "Unknown ReadFailed",
	}, states(got)); diff != "" {
		t.Errorf("states (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{
		"fleet-default/edge-2 the state of 1 bundle deployment: its auditor has not evaluated for 3h1m",
		"fleet-default/edge-3 the state of 1 bundle deployment: no auditor of the cluster exports metrics",
	}, gaps(got)); diff != "" {
		t.Errorf("gaps (-want +got):\n%s", diff)
	}
	var findings []string
	for _, f := range got.Findings {
		findings = append(findings, fmt.Sprintf("%s %s %s %s %s", f.Code, f.Severity, f.Cluster, f.BundleDeployment,
			f.Object.Key()))
	}
	if diff := cmp.Diff([]string{
		"FD101 error fleet-default/edge-1 cluster-edge-1/web configmap shop/a",
		"FD104 warning fleet-default/edge-1 cluster-edge-1/web configmap shop/b",
		"FD201 warning fleet-default/edge-1 cluster-edge-1/web configmap shop/web",
	}, findings); diff != "" {
		t.Errorf("findings (-want +got):\n%s", diff)
	}
	want := report.Counts{Desired: 5, Ready: 3, Missing: 1, Modified: 1}
	if got.Summary.Counts != want {
		t.Errorf("counts %+v, want %+v", got.Summary.Counts, want)
	}
	web := got.BundleDeployments[1]
	if web.Bundle != "fleet-default/web" || *web.Reported.Ready != 2 || *web.Reported.Missing != 0 {
		t.Errorf("the auditor of the management cluster is not joined: %+v %+v", web, web.Reported)
	}
}

// TestAggregates checks that a cluster has actual totals only if all its bundle deployments have a result.
func TestAggregates(t *testing.T) {
	ready := map[string]int{}
	for _, c := range reportOf(t, answers(t, views.Fleet()...)).Clusters {
		ready[c.Name] = -1
		if c.Actual != nil {
			ready[c.Name] = c.Actual.ReadyBundleDeployments
		}
	}
	if diff := cmp.Diff(map[string]int{"local": 1, "edge-1": 1, "edge-2": -1, "edge-3": -1}, ready); diff != "" {
		t.Errorf("ready bundle deployments, -1 if not known (-want +got):\n%s", diff)
	}
}

// TestNeverClean checks that what no auditor exports with a present state is neither clean nor missing.
func TestNeverClean(t *testing.T) {
	const unread = "fleet-default/edge-1 the state of 1 bundle deployment: "
	for name, tc := range map[string]struct {
		change func(*views.Auditor)
		want   string
	}{
		"stale": {func(a *views.Auditor) { a.View.At = views.Now.Add(-16 * 60e9) },
			unread + "its auditor has not evaluated for 16m"},
		"not synced": {func(a *views.Auditor) { a.Synced = false },
			unread + "its auditor could not read the cluster since 2026-01-02T03:04:55Z"},
		"nothing evaluated": {func(a *views.Auditor) { a.View, a.Synced = nil, false },
			unread + "no auditor of the cluster exports metrics"},
		"clock ahead": {func(a *views.Auditor) { a.View.At = views.Now.Add(16 * 60e9) },
			unread + "the clock of its auditor is ahead: it evaluated at 2026-01-02T03:21:05Z"},
		"numbers that are not complete": {func(a *views.Auditor) { a.View.Deployments[0].Counts.Ready = 0 },
			unread + "its auditor exports no complete numbers of objects"},
		"no numbers": {func(a *views.Auditor) { a.View.Deployments[0].Read = false },
			unread + "its auditor exports no complete numbers of objects"},
		"another bundle deployment": {func(a *views.Auditor) {
			a.View = views.Of(50, views.On("edge-1", "db", report.Ready))
		}, unread + "its auditor exports other bundle deployments, and not these"},
	} {
		got := reportOf(t, answers(t, one(tc.change)...))
		if state := states(got)["fleet-default/edge-1 web"]; state != "Unknown ReadFailed" {
			t.Errorf("%s: the state is %s", name, state)
		}
		if !slices.Contains(gaps(got), tc.want) {
			t.Errorf("%s: gaps %q, want %q", name, gaps(got), tc.want)
		}
		if got.Complete() || len(got.Findings) > 0 {
			t.Errorf("%s: complete, or with findings: %+v", name, got.Findings)
		}
	}
	if got := reportOf(t, answers(t, one(nil)...)); !got.Complete() {
		t.Errorf("a fleet without problems has gaps: %q", gaps(got))
	}
}

// TestGaps checks that what an auditor or the server could not read is a gap, and that states remain.
func TestGaps(t *testing.T) {
	unread := answers(t, one(func(a *views.Auditor) { a.View.Gaps = []report.Gap{{What: "listing Secrets"}} })...)
	partial := answers(t, one(nil)...)
	partial.Warnings = []string{"store edge:10901 does not answer"}
	alone := answers(t, one(nil)[1])
	for want, a := range map[string]exported.Answers{
		`auditor {cluster="edge-1", instance="auditor-1:8080", job="fleetdoctor-auditor", ` +
			`namespace="cattle-fleet-system", pod="auditor-1"}: ` +
			`it could not read 1 thing (fleetdoctor_auditor_gaps)`: unread,
		"the answer of https://mimir.example: it is not complete: store edge:10901 does not answer": partial,
		"the clusters of Fleet: no auditor of a management cluster exports metrics":                 alone,
	} {
		got := reportOf(t, a)
		if diff := cmp.Diff([]string{want}, gaps(got)); diff != "" {
			t.Errorf("gaps (-want +got):\n%s", diff)
		}
		for of, state := range states(got) {
			if state != "Ready" {
				t.Errorf("%s is %s", of, state)
			}
		}
	}
}

// TestOptionalGap checks that a report is complete if an auditor could not read only what no result needs.
func TestOptionalGap(t *testing.T) {
	for _, optional := range []bool{false, true} {
		got := reportOf(t, answers(t, one(func(a *views.Auditor) {
			a.View.Gaps = []report.Gap{{What: "listing Pods", Optional: optional}}
		})...))
		if len(got.Gaps) != 1 || got.Gaps[0].Optional != optional {
			t.Errorf("optional %t: gaps %+v", optional, got.Gaps)
		}
	}
}

// TestReplicas checks which replica counts: one with a present state, then the leader, then the newest one.
func TestReplicas(t *testing.T) {
	replica := func(pod string, seconds int, leads, synced bool, state report.State) *views.Auditor {
		return &views.Auditor{View: views.Of(seconds, views.On("edge-1", "web", state)), Leads: leads, Synced: synced,
			Labels: views.Scrape("edge-1", pod)}
	}
	for name, all := range map[string][]*views.Auditor{
		"leader": {replica("a", 55, false, true, report.Ready), replica("b", 50, true, true, report.Missing)},
		"newest": {replica("a", 50, false, true, report.Ready), replica("b", 55, false, true, report.Missing)},
		"synced": {replica("a", 55, true, false, report.Ready), replica("b", 50, false, true, report.Missing)},
		"present": {replica("a", -3600, true, true, report.Ready),
			replica("b", 50, false, true, report.Missing)},
	} {
		got := reportOf(t, answers(t, append(all, one(nil)[0])...))
		if state := states(got)["fleet-default/edge-1 web"]; state != "Modified" {
			t.Errorf("%s: the state is %s: %q", name, state, gaps(got))
		}
		if len(got.Gaps) > 0 {
			t.Errorf("%s: a replica is a gap: %q", name, gaps(got))
		}
	}
}

// TestEqualLabels checks that without a label for each cluster, no auditor hides what another one could not read.
func TestEqualLabels(t *testing.T) {
	all := one(nil)
	all[0].Synced = false
	for _, a := range all {
		a.Labels = model.LabelSet{"job": "auditor", "pod": a.Labels["pod"]}
	}
	want := []string{`auditor {job="auditor", pod="auditor-0"}: its auditor could not read the cluster since ` +
		"2026-01-02T03:04:55Z"}
	if diff := cmp.Diff(want, gaps(reportOf(t, answers(t, all...)))); diff != "" {
		t.Errorf("gaps (-want +got):\n%s", diff)
	}
}

// TestContradiction checks that two auditors that are no replicas of each other do not hide each other's states, such
// as those of two management clusters with a cluster of the same name.
func TestContradiction(t *testing.T) {
	other := one(func(a *views.Auditor) {
		a.View = views.Of(55, views.On("edge-1", "web", report.Missing))
		a.Labels = views.Scrape("other", "auditor-9")
	})[1]
	got := reportOf(t, answers(t, append(one(nil), other)...))
	want := []string{"fleet-default/edge-1 the state of 1 bundle deployment: auditors that are no replicas of each " +
		"other export different states"}
	if diff := cmp.Diff(want, gaps(got)); diff != "" {
		t.Errorf("gaps (-want +got):\n%s", diff)
	}
}

// TestWaiting checks that a bundle deployment that waits for its agent is not Ready, which only the management cluster
// knows.
func TestWaiting(t *testing.T) {
	for reported, want := range map[report.State]string{report.WaitApplied: "WaitApplied",
		report.ErrApplied: "ErrApplied"} {
		all := one(nil)
		d := views.Known("edge-1", "web", reported)
		d.Pending = true
		all[0].View = views.Hub(50, d)
		if got := states(reportOf(t, answers(t, all...)))["fleet-default/edge-1 web"]; got != want {
			t.Errorf("the state is %s, want %s", got, want)
		}
	}
}

// TestFindingsOfHubs checks that no finding about a bundle deployment is lost: neither that of a management cluster
// about one without a status, nor that of another management cluster about one with the same name.
func TestFindingsOfHubs(t *testing.T) {
	hub := func(cluster, code string) *views.Auditor {
		d := views.Known("edge-1", "web", report.Ready)
		d.Reported = nil
		v := views.Hub(50, d)
		views.Find(v, d, code, report.Error, views.ConfigMap("a"))
		return &views.Auditor{View: v, Leads: true, Synced: true, Labels: views.Scrape(cluster, "auditor-"+code)}
	}
	got := reportOf(t, answers(t, one(nil)[1], hub("hub", "FD301"), hub("other", "FD601")))
	var codes []string
	for _, f := range got.Findings {
		codes = append(codes, f.Code)
	}
	if diff := cmp.Diff([]string{"FD301", "FD601"}, codes); diff != "" {
		t.Errorf("findings (-want +got):\n%s", diff)
	}
}

// TestUnnamed checks that findings without a series are a gap, and that the numbers include objects without one.
func TestUnnamed(t *testing.T) {
	v := views.Large(1, 100)
	for _, o := range v.Deployments[0].Objects {
		views.Find(v, v.Deployments[0], "FD101", report.Error, o.Ref)
	}
	got := reportOf(t, answers(t, &views.Auditor{View: v, Synced: true, Labels: views.Scrape("edge", "a")}))
	if n := got.Summary.Findings.Error; n != 20 || got.Summary.Counts.Missing != 100 {
		t.Errorf("%d findings and %+v, want 20 and 100 missing objects", n, got.Summary.Counts)
	}
	all := strings.Join(append(gaps(got), got.Notes...), "\n")
	for _, want := range []string{"80 findings of FD101 without a name", "80 objects not Ready and not named"} {
		if !strings.Contains(all, want) {
			t.Errorf("%q is not said:\n%s", want, all)
		}
	}
}

// TestOrder checks that the same series give the same bytes in every order.
func TestOrder(t *testing.T) {
	a := answers(t, views.Fleet()...)
	want, err := json.Marshal(reportOf(t, a))
	if err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(1, 2))
	for range 5 {
		random.Shuffle(len(a.Series), func(i, j int) { a.Series[i], a.Series[j] = a.Series[j], a.Series[i] })
		got, err := json.Marshal(reportOf(t, a))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), string(got)); diff != "" {
			t.Fatalf("another order (-want +got):\n%s", diff)
		}
	}
}

// TestForeign checks series of other programs, with hostile values and labels.
func TestForeign(t *testing.T) {
	if _, err := exported.Report(exported.Answers{At: views.Now}); !errors.Is(err, exported.ErrNoAuditor) {
		t.Errorf("without a series: %v", err)
	}
	of := func(name string, value float64, l model.Metric) *model.Sample {
		m := model.Metric{model.MetricNameLabel: model.LabelValue("fleetdoctor_" + name)}
		maps.Copy(m, l)
		return &model.Sample{Metric: m, Value: model.SampleValue(value)}
	}
	for _, value := range []float64{-1, 0.5, 1e300} {
		_, err := exported.Report(exported.Answers{At: views.Now, Series: model.Vector{of("bundledeployment_objects",
			value, model.Metric{"name": "web\x1b[31m"})}})
		if err == nil || strings.Contains(err.Error(), "\x1b") {
			t.Errorf("the value %v: %v", value, err)
		}
	}
	const hostile = "web\x1b[31m\n\u202e"
	l := model.Metric{"bundledeployment_namespace": hostile, "name": hostile, "cluster_name": hostile,
		"cluster": hostile}
	with := func(more model.Metric) model.Metric {
		out := l.Clone()
		maps.Copy(out, more)
		return out
	}
	got := reportOf(t, exported.Answers{At: views.Now, Series: model.Vector{of("auditor_synced", 1, model.Metric{}),
		of("auditor_last_evaluation_timestamp_seconds", 1e300, model.Metric{"cluster": hostile}),
		of("bundledeployment_state", 1, with(model.Metric{"state": hostile})),
		of("finding", 1e9, with(model.Metric{"code": hostile, "severity": hostile})),
		of("cluster_objects", 1, with(model.Metric{"state": hostile})), of("bundle_", 1, l), of("unheard_of", 1, l)}})
	text, err := json.Marshal(got)
	if err != nil {
		t.Fatal(err)
	}
	if strings.ContainsAny(string(text), "\x1b\u202e") || strings.Contains(string(text), `\u001b`) {
		t.Errorf("the report has characters that act on a terminal: %s", text)
	}
	if got.Complete() || got.WithoutResult() != 1 {
		t.Errorf("the state of another program counts: %+v", states(got))
	}
}

// TestQueries checks that every query asks for metrics that auditors have, and that all of their series fit.
func TestQueries(t *testing.T) {
	var names []string
	for _, f := range metrics.Families() {
		names = append(names, f.Name)
	}
	name := regexp.MustCompile(`^\{__name__=~?"([^"]+)",cluster="a"\}( > 0)?$`)
	for _, q := range exported.Queries(`cluster="a"`) {
		m := name.FindStringSubmatch(q)
		if m == nil {
			t.Fatalf("%s has no name", q)
		}
		of := regexp.MustCompile("^" + m[1] + "$")
		if !slices.ContainsFunc(names, of.MatchString) {
			t.Errorf("no metric has the name %s", m[1])
		}
	}
	for _, sample := range []string{"sick", "drift", "clean"} {
		v := views.Sample(t, sample)
		a := reportOf(t, answers(t, &views.Auditor{View: v, Synced: true, Labels: views.Scrape("hub", "a")}))
		if diff := cmp.Diff(counts(v), a.Summary.Counts); diff != "" {
			t.Errorf("%s: counts (-want +got):\n%s", sample, diff)
		}
		if len(a.Findings) != len(v.Findings) {
			t.Errorf("%s: %d findings, want %d", sample, len(a.Findings), len(v.Findings))
		}
	}
}

// counts are the numbers of a view.
func counts(v *view.View) report.Counts {
	var out report.Counts
	for _, d := range v.Deployments {
		if d.Read {
			out = out.Plus(d.Counts)
		}
	}
	return out
}
