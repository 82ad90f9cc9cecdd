// SPDX-License-Identifier: Apache-2.0

package views

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/auditor/metrics"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/auditor/view"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/directory"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

// Now is the time at which the series of a Fleet are asked for.
var Now = Begin.Add(time.Minute)

// Auditor is one replica of an auditor, as it is scraped.
type Auditor struct {
	View          *view.View // nil before the first evaluation
	Leads, Synced bool
	// Labels are those of the scrape.
	Labels model.LabelSet
}

// Metrics returns what the auditor exports.
func (a *Auditor) Metrics() *metrics.Metrics {
	m := metrics.New(metrics.Options{Version: "v1.2.3"})
	m.SetLeader(a.Leads)
	m.SetSynced(a.Synced)
	if a.View != nil {
		var f view.Follower
		m.Update(f.Next(a.View))
		m.Evaluated(a.View.At, time.Second)
	}
	return m
}

// Series returns what a server has of auditors.
func Series(t *testing.T, all ...*Auditor) model.Vector {
	t.Helper()
	var out model.Vector
	for _, a := range all {
		registry := prometheus.NewRegistry()
		registry.MustRegister(a.Metrics())
		families, err := registry.Gather()
		if err != nil {
			t.Fatal(err)
		}
		samples, err := expfmt.ExtractSamples(&expfmt.DecodeOptions{Timestamp: model.TimeFromUnixNano(Now.UnixNano())},
			families...)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range samples {
			maps.DeleteFunc(s.Metric, func(_ model.LabelName, v model.LabelValue) bool { return v == "" })
			for l, v := range a.Labels {
				if s.Metric[l] == "" {
					s.Metric[l] = v
				}
			}
		}
		out = append(out, samples...)
	}
	return out
}

// Scrape are the labels of a replica of the auditor on a cluster.
func Scrape(cluster, pod string) model.LabelSet {
	return model.LabelSet{"cluster": model.LabelValue(cluster), "job": "fleetdoctor-auditor",
		"namespace": "cattle-fleet-system", "pod": model.LabelValue(pod), "instance": model.LabelValue(pod + ":8080")}
}

// On returns a bundle deployment on a cluster as the auditor there knows it: only from its release.
func On(cluster, name string, states ...report.State) *view.Deployment {
	d := Deployment(name, states...)
	d.ID.Namespace, d.Namespace = "cluster-"+cluster, "cluster-"+cluster
	d.Exists, d.Cluster, d.Bundle, d.GitRepo = false, "", "", ""
	if d.Counts.Missing > 0 {
		d.State = report.Modified
	}
	return d
}

// Known returns a bundle deployment on a cluster as the auditor of the management cluster knows it, which does not read
// the cluster.
func Known(cluster, name string, reported report.State) *view.Deployment {
	d := Deployment(name)
	d.ID.Namespace, d.Namespace, d.Cluster = "cluster-"+cluster, "cluster-"+cluster, "fleet-default/"+cluster
	d.State, d.Reason, d.Read = report.Unknown, string(directory.ClusterNotRead), false
	two, none := 2, 0
	d.Reported = &report.Reported{State: string(reported), DesiredReady: &two, Ready: &two, Missing: &none,
		Modified: &none, NotReady: &none, Orphaned: &none}
	return d
}

// Hub returns the view of a management cluster that knows bundle deployments.
func Hub(seconds int, deployments ...*view.Deployment) *view.View {
	v := Of(seconds, deployments...)
	v.Coverage = evaluate.Coverage{}
	numbers := map[string]int{}
	for _, d := range deployments {
		numbers[d.Cluster]++
		if d.Reason == "" {
			v.Coverage.Evaluated++
		} else {
			v.Coverage.OnOtherCluster++
		}
	}
	for _, cluster := range slices.Sorted(maps.Keys(numbers)) {
		namespace, name := view.Split(cluster)
		n := numbers[cluster]
		v.Aggregates = append(v.Aggregates, view.Aggregate{Kind: state.ClusterKind, Namespace: namespace, Name: name,
			Reported: &report.Reported{State: "Ready", BundleDeployments: &n, ReadyBundleDeployments: &n}})
	}
	return v
}

// Find adds a finding to a view, about an object of a bundle deployment.
func Find(v *view.View, d *view.Deployment, code string, severity report.Severity, object view.Ref) {
	v.Findings = append(v.Findings, view.Finding{ID: fmt.Sprint(len(v.Findings)), Code: code, Severity: severity,
		Object: object, Cluster: d.Cluster, BundleDeployment: d.ID.String()})
}

// Fleet returns the auditors of a management cluster and of its clusters: edge-1 has problems and two replicas, edge-2
// has an auditor that stopped, and edge-3 has none.
func Fleet() []*Auditor {
	local := Deployment("platform", report.Ready)
	local.ID.Namespace, local.Namespace, local.Cluster = "cluster-local", "cluster-local", "fleet-local/local"
	local.Reported = Known("local", "platform", report.Ready).Reported
	hub := Hub(50, local, Known("edge-1", "web", report.Ready), Known("edge-1", "db", report.Ready),
		Known("edge-2", "web", report.Ready), Known("edge-3", "web", report.Ready))
	Find(hub, hub.Deployments[1], "FD201", report.Warning, ConfigMap("web"))
	edge := func(seconds int) *view.View {
		web := On("edge-1", "web", report.Missing, report.Modified)
		v := Of(seconds, web, On("edge-1", "db", report.Ready, report.Ready))
		Find(v, web, "FD101", report.Error, ConfigMap("a"))
		Find(v, web, "FD104", report.Warning, ConfigMap("b"))
		return v
	}
	return []*Auditor{
		{View: hub, Leads: true, Synced: true, Labels: Scrape("hub", "auditor-0")},
		{View: edge(40), Leads: true, Synced: true, Labels: Scrape("edge-1", "auditor-1")},
		{View: edge(45), Synced: true, Labels: Scrape("edge-1", "auditor-2")},
		{View: Of(-3*3600, On("edge-2", "web", report.Ready, report.Ready)), Leads: true, Synced: true,
			Labels: Scrape("edge-2", "auditor-3")},
	}
}
