// SPDX-License-Identifier: Apache-2.0

package metrics_test

import (
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	dto "github.com/prometheus/client_model/go"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/auditor/metrics"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/auditor/view"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
	"github.com/fleetdoctor/kubectl-fleetdoctor/test/views"
)

const ready, missing, modified = report.Ready, report.Missing, report.Modified

// gather shows views one after the other, and returns the families.
func gather(t *testing.T, m *metrics.Metrics, all ...*view.View) []*dto.MetricFamily {
	t.Helper()
	var f view.Follower
	for _, v := range all {
		m.Update(f.Next(v))
	}
	r := prometheus.NewPedanticRegistry()
	if err := r.Register(m); err != nil {
		t.Fatal(err)
	}
	families, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	return families
}

// show returns the values by NAME{LABEL,LABEL}, with the labels of Families in their order. Empty labels at the
// beginning of deployments are left out.
func show(t *testing.T, m *metrics.Metrics, all ...*view.View) map[string]float64 {
	t.Helper()
	out := map[string]float64{}
	for _, f := range gather(t, m, all...) {
		at := slices.IndexFunc(metrics.Families(), func(x metrics.Family) bool { return x.Name == f.GetName() })
		if at < 0 {
			t.Fatalf("%s is not in the list of metrics", f.GetName())
		}
		for _, x := range f.Metric {
			var labels []string
			for _, name := range metrics.Families()[at].Labels {
				for _, l := range x.Label {
					if l.GetName() == name {
						labels = append(labels, l.GetValue())
					}
				}
			}
			name := strings.TrimPrefix(f.GetName(), "fleetdoctor_")
			out[name+"{"+strings.Join(labels, ",")+"}"] = x.GetGauge().GetValue() + x.GetCounter().GetValue()
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

const web = "cluster-edge,web,fleet-default,edge,fleet-default,web,platform"

// TestSample checks the metrics of a sample cluster with the linter of Prometheus.
func TestSample(t *testing.T) {
	m := metrics.New(metrics.Options{Version: "v1.2.3"})
	m.SetLeader(func() bool { return true })
	m.Evaluated(views.Begin, time.Second)
	families := gather(t, m, views.Sample(t, "sick"))
	problems, err := promlint.NewWithMetricFamilies(families).Lint()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
	const guestbook = "cluster-fleet-local-local-1a3d67d0a899,guestbook-guestbook,fleet-local,local," +
		"fleet-local,guestbook-guestbook,guestbook"
	compare(t, show(t, metrics.New(metrics.Options{}), views.Sample(t, "sick")), map[string]float64{
		"bundledeployment_desired_objects{" + guestbook + "}":        5,
		"bundledeployment_objects{" + guestbook + ",Modified}":       2,
		"bundledeployment_reported_objects{" + guestbook + ",Ready}": 1,
		"bundledeployment_state{" + guestbook + ",Modified,}":        1,
		"findings{FD101,error}":                                      1,
		"findings{FD105,warning}":                                    0,
		"cluster_objects{fleet-local,local,Ready}":                   2,
		"cluster_reported_objects{fleet-local,local,Ready}":          8,
		"gitrepo_bundledeployments{fleet-local,guestbook}":           1,
		"coverage_bundledeployments{evaluated}":                      2,
		"auditor_gaps{false}":                                        0,
	})
}

// TestHealth checks the metrics of the auditor itself, and that nothing is shown of a state that is not known.
func TestHealth(t *testing.T) {
	m := metrics.New(metrics.Options{Version: "v1.2.3"})
	want := map[string]float64{"auditor_leader{}": 0, "auditor_synced{}": 0, "auditor_queue_length{}": 0,
		"auditor_watch_restarts_total{}": 0, "auditor_build_info{v1.2.3}": 1,
		"auditor_evaluation_duration_seconds{}": 0, "auditor_change_to_metric_seconds{}": 0}
	if diff := cmp.Diff(want, show(t, m)); diff != "" {
		t.Errorf("before the first view (-want +got):\n%s", diff)
	}
	m.SetLeader(func() bool { return true })
	m.SetSynced(true)
	m.SetQueueLength(3)
	m.WatchRestarted()
	m.Evaluated(views.Begin, time.Second)
	m.ChangeShown(time.Second)
	compare(t, show(t, m), map[string]float64{"auditor_leader{}": 1, "auditor_synced{}": 1,
		"auditor_queue_length{}": 3, "auditor_watch_restarts_total{}": 1,
		"auditor_last_evaluation_timestamp_seconds{}": float64(views.Begin.Unix())})
}

// TestVanished checks that an object that vanishes is named, counted and dated, and that the counters begin at zero.
func TestVanished(t *testing.T) {
	m := metrics.New(metrics.Options{})
	before, after := views.Of(0, views.Deployment("web", ready, ready)), views.Of(2, views.Deployment("web", ready,
		missing))
	compare(t, show(t, m, before), map[string]float64{
		"bundledeployment_vanished_objects_total{" + web + "}":  0,
		"bundledeployment_revisions_total{" + web + "}":         0,
		"bundledeployment_uninstalled_total{" + web + ",true}":  0,
		"bundledeployment_objects{" + web + ",Missing}":         0,
		"bundledeployment_pending{" + web + "}":                 0,
		"unnamed_objects{" + web + "}":                          0,
		"bundledeployment_uninstalled_total{" + web + ",false}": 0,
	})
	compare(t, show(t, metrics.New(metrics.Options{}), before, after), map[string]float64{
		"object_state{" + web + ",ConfigMap,,shop,b,Missing}":                 1,
		"bundledeployment_vanished_objects_total{" + web + "}":                1,
		"bundledeployment_oldest_timestamp_seconds{" + web + ",Missing}":      float64(views.Begin.Unix() + 2),
		"fleet_object_writes_total{Bundle,fleet.cattle.io,fleet-default,web}": 0,
		"fleet_object_size_bytes{Bundle,fleet.cattle.io,fleet-default,web}":   3000,
	})
}

// TestUninstalled checks that the counter of an uninstalled release remains for an hour.
func TestUninstalled(t *testing.T) {
	all := []*view.View{views.Of(0, views.Deployment("web", ready))}
	gone := views.Of(2)
	gone.Fleet = []view.FleetObject{{Kind: "Bundle", Namespace: "fleet-default", Name: "web"}}
	all = append(all, gone, views.Of(3000))
	const series = "bundledeployment_uninstalled_total{" + web + ",true}"
	compare(t, show(t, metrics.New(metrics.Options{}), all...), map[string]float64{series: 1})
	if _, ok := show(t, metrics.New(metrics.Options{}), append(all, views.Of(3700))...)[series]; ok {
		t.Error("the counter remains for more than an hour")
	}
}

// TestFlapping checks that a field that a manager and the release write in turn is named with both.
func TestFlapping(t *testing.T) {
	var all []*view.View
	for i := range 6 {
		d := views.Deployment("web", modified)
		d.Revision = 1 + i/2 // the release gets a new revision, and the field is as desired again
		d.Objects[0].Detail.Changes = []view.Change{{Path: "spec.replicas", Manager: "kube-controller-manager"}}
		if i%2 == 1 {
			d = views.Deployment("web", ready)
			d.Revision = 1 + (i+1)/2
		}
		all = append(all, views.Of(i, d))
	}
	const series = "flapping_field_changes{" + web + ",ConfigMap,,shop,a,spec.replicas,kube-controller-manager,release}"
	compare(t, show(t, metrics.New(metrics.Options{}), all...), map[string]float64{series: 2,
		"bundledeployment_revisions_total{" + web + "}": 3})
	all = append(all, views.Of(4000, all[4].Deployments...))
	if _, ok := show(t, metrics.New(metrics.Options{}), all...)[series]; ok {
		t.Error("the field flaps after an hour without a change")
	}
}

// TestBlocked checks the reason for which a deployment is pending, and the writes of an object of Fleet.
func TestBlocked(t *testing.T) {
	d := views.Deployment("web", ready)
	d.Pending, d.Blocker, d.Root = true, check.StepDependency, check.StepObjects
	later := views.Of(1, d)
	for i := range later.Fleet {
		later.Fleet[i].ResourceVersion = "2"
	}
	compare(t, show(t, metrics.New(metrics.Options{}), views.Of(0, d), later), map[string]float64{
		"bundledeployment_pending{" + web + "}":                                        1,
		"bundledeployment_blocked{" + web + ",Dependency,Objects}":                     1,
		"fleet_object_writes_total{BundleDeployment,fleet.cattle.io,cluster-edge,web}": 1,
	})
}

// TestFindings checks that a finding is named with the labels of its bundle deployment.
func TestFindings(t *testing.T) {
	v := views.Of(0, views.Deployment("web", missing))
	v.Findings = []view.Finding{
		{ID: "1", Code: "FD101", Severity: report.Error, Object: views.ConfigMap("a"), Cluster: "fleet-default/edge",
			BundleDeployment: "cluster-edge/web"},
		{ID: "2", Code: "FD605", Severity: report.Warning, Object: views.ConfigMap("b"),
			Cluster: "cattle-fleet-system"},
	}
	compare(t, show(t, metrics.New(metrics.Options{}), v), map[string]float64{
		"finding{" + web + ",ConfigMap,,shop,a,FD101,error}":                 1,
		"finding{,,,cattle-fleet-system,,,,ConfigMap,,shop,b,FD605,warning}": 1,
		"findings{FD101,error}":                    1,
		"findings_oldest_timestamp_seconds{FD101}": float64(views.Begin.Unix()),
	})
}

// TestUnread checks that what is not known has no series, and that the cluster of a release alone is that of the
// options.
func TestUnread(t *testing.T) {
	d := views.Deployment("web")
	d.Exists, d.Read, d.Reason, d.Cluster, d.State = false, false, "Forbidden", "", report.Unknown
	got := show(t, metrics.New(metrics.Options{Cluster: "fleet-default/edge"}), views.Of(0, d))
	compare(t, got, map[string]float64{"bundledeployment_state{" + web + ",Unknown,Forbidden}": 1})
	for series := range got {
		if strings.Contains(series, "objects{") && strings.Contains(series, ",web,") {
			t.Errorf("%s is not known", series)
		}
	}
}

// TestBound counts the series of the worst case: they do not depend on the number of objects.
func TestBound(t *testing.T) {
	count := func(v *view.View) (named, all int) {
		for series := range show(t, metrics.New(metrics.Options{}), v) {
			all++
			if strings.HasPrefix(series, "object_state{") || strings.HasPrefix(series, "finding{") {
				named++
			}
		}
		return named, all
	}
	const deployments = 300
	v := views.Large(deployments, 100)
	for _, d := range v.Deployments {
		for _, o := range d.Objects {
			v.Findings = append(v.Findings, view.Finding{ID: d.Name + o.Ref.Value().Name, Code: "FD101",
				Object: o.Ref, Severity: report.Error, Cluster: d.Cluster, BundleDeployment: d.ID.String()})
		}
	}
	named, all := count(v)
	if want := 5000 + 500; named != want {
		t.Errorf("%d series name an object, want %d", named, want)
	}
	const perDeployment, others = 25, 200
	if limit := deployments*perDeployment + named + others; all > limit {
		t.Errorf("%d series, want at most %d", all, limit)
	}
	if named, _ := count(views.Large(10, 100)); named != 200 {
		t.Errorf("%d objects are named, want 20 for each bundle deployment", named)
	}
	compare(t, show(t, metrics.New(metrics.Options{}), v), map[string]float64{
		"unnamed_findings{FD101}": deployments*100 - 500,
		"findings{FD101,error}":   deployments * 100,
		"unnamed_objects{cluster-edge,bundle-000,fleet-default,edge,fleet-default,bundle-000,platform}": 80,
		"unnamed_objects{cluster-edge,bundle-299,fleet-default,edge,fleet-default,bundle-299,platform}": 100,
	})
}

// TestEqual checks that bundle deployments with the same labels are one series, and that texts of a cluster are
// escaped.
func TestEqual(t *testing.T) {
	a, b := views.Deployment("web", ready), views.Deployment("web", ready, ready)
	b.ID.Release = "other/web"
	hostile := views.Deployment("web\xff\n\x1b[31m", missing)
	got := show(t, metrics.New(metrics.Options{}), views.Of(0, a, b, hostile))
	compare(t, got, map[string]float64{"bundledeployment_desired_objects{" + web + "}": 3})
	for series := range got {
		if !utf8.ValidString(series) || strings.ContainsAny(series, "\n\x1b") {
			t.Errorf("%q has characters that act on a terminal", series)
		}
	}
}

// TestNames checks that no label is called namespace, which is that of the scrape, and that none changes with each
// commit.
func TestNames(t *testing.T) {
	seen := map[string]bool{}
	for _, f := range metrics.Families() {
		if seen[f.Name] || f.Help == "" || f.Bound == "" {
			t.Errorf("%s occurs twice, or has no help or bound: %+v", f.Name, f)
		}
		seen[f.Name] = true
		for _, l := range f.Labels {
			if slices.Contains([]string{"namespace", "commit", "generation", "instance", "job", "pod"}, l) {
				t.Errorf("%s has the label %s", f.Name, l)
			}
		}
	}
}
