// SPDX-License-Identifier: Apache-2.0

package metrics_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/auditor/metrics"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/auditor/view"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
	"github.com/fleetdoctor/kubectl-fleetdoctor/test/views"
)

// released returns a bundle deployment of which only the release is known.
func released(namespace, name string) *view.Deployment {
	d := views.Deployment(name, missing, missing, missing)
	d.Exists, d.Namespace, d.Cluster, d.Bundle, d.GitRepo, d.Release = false, "", "", "", "", namespace+"/"+name
	d.ID = object.DeploymentID{Name: name, Release: d.Release}
	return d
}

// crowd returns a view of many releases of a namespace, followed by one of another namespace. Each has findings.
func crowd(seconds, releases int, prefix string) *view.View {
	var all []*view.Deployment
	for i := range releases {
		all = append(all, released("tenant", fmt.Sprintf("%s-%04d", prefix, i)))
	}
	v := views.Of(seconds, append(all, released("shop", "web"))...)
	for _, d := range v.Deployments {
		for _, o := range d.Objects {
			v.Findings = append(v.Findings, view.Finding{ID: d.Name + o.Ref.Value().Name, Code: "FD101", Object: o.Ref,
				Severity: report.Error, BundleDeployment: d.ID.String()})
		}
	}
	return v
}

// TestReleases checks that many release records in a namespace have a bounded number of series, which is shown, and
// displace none of another namespace.
func TestReleases(t *testing.T) {
	const releases = 1500
	v := crowd(0, releases, "many")
	got := show(t, metrics.New(metrics.Options{}), v)
	compare(t, got, map[string]float64{
		"unnamed_bundledeployments{tenant}":                        releases - 250,
		"auditor_gaps{false}":                                      1,
		"bundledeployment_state{,web,,,,,,Missing,}":               1,
		"object_state{,web,,,,,,ConfigMap,,shop,a,Missing}":        1,
		"finding{,web,,,,,,ConfigMap,,shop,a,FD101,error}":         1,
		"finding{,many-0000,,,,,,ConfigMap,,shop,a,FD101,error}":   1,
		"unnamed_findings{FD101}":                                  3*releases - 100,
		"findings{FD101,error}":                                    3 * (releases + 1),
		"bundledeployment_state{,many-0000,,,,,,Missing,}":         1,
		"unnamed_objects{,many-0000,,,,,}":                         0,
		"unnamed_objects{,many-0200,,,,,}":                         3,
		"bundledeployment_vanished_objects_total{,web,,,,,}":       0,
		"bundledeployment_uninstalled_total{,web,,,,,,true}":       0,
		"bundledeployment_objects{,many-0000,,,,,,Missing}":        3,
		"bundledeployment_desired_objects{,many-0000,,,,,}":        3,
		"bundledeployment_uninstalled_total{,web,,,,,,unknown}":    0,
		"bundledeployment_revisions_total{,many-0000,,,,,}":        0,
		"bundledeployment_vanished_objects_total{,many-0000,,,,,}": 0,
	})
	const perDeployment, others = 20, 4000 // the Bundles and BundleDeployments of the test have others
	if limit := 251*perDeployment + 500 + 100 + others; len(got) > limit {
		t.Errorf("%d series, want at most %d", len(got), limit)
	}
	var namespaces []*view.Deployment
	for i := range 3000 {
		namespaces = append(namespaces, released(fmt.Sprintf("namespace-%04d", i), "web"))
	}
	states := 0
	for series := range show(t, metrics.New(metrics.Options{}), views.Of(0, namespaces...)) {
		if strings.HasPrefix(series, "unnamed_bundledeployments{") {
			states++
		}
	}
	if states != 1000 {
		t.Errorf("%d releases of as many namespaces have no series, want those beyond 2,000", states)
	}
}

// TestChurn checks that releases that come and go do not have more series, and that the series of one that stays
// continue.
func TestChurn(t *testing.T) {
	hour := int(time.Hour / time.Second)
	all := []*view.View{crowd(0, 200, "first"), crowd(10, 200, "second"), crowd(20, 200, "third")}
	compare(t, show(t, metrics.New(metrics.Options{}), all...), map[string]float64{
		"unnamed_bundledeployments{tenant}":                  200,
		"bundledeployment_state{,web,,,,,,Missing,}":         1,
		"bundledeployment_revisions_total{,first-0000,,,,,}": 0,
	})
	all = append(all, crowd(20+hour, 200, "fourth"), crowd(30+hour, 200, "fourth"))
	for series := range show(t, metrics.New(metrics.Options{}), all...) {
		if strings.HasPrefix(series, "unnamed_bundledeployments{") {
			t.Errorf("after those of an hour ago are forgotten: %s", series)
		}
	}
}
