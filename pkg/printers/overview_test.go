// SPDX-License-Identifier: Apache-2.0

package printers_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/printers"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

// fiftyClusters is an invented report of bundles on 50 clusters, of which two were read. Some of what is wrong has one
// cause on many clusters, and on c00 an object is missing, for which three totals are wrong.
func fiftyClusters(bundles int) *report.Audit {
	a := &report.Audit{TakenAt: "2026-01-02T03:04:05Z", Source: report.Source{Kind: "cluster",
		Context: "admin@production", KubernetesVersion: "v1.36.3",
		FleetVersions: &report.FleetVersions{Controller: "v0.16.1"}}}
	missing := object.Ref{APIVersion: "v1", Kind: "ConfigMap", Namespace: "app0", Name: "theme"}
	cause := &report.Origin{ID: "FD101-1", Code: "FD101", Object: missing, Cluster: "fleet-default/c00"}
	for c := range 50 {
		cluster := fmt.Sprintf("fleet-default/c%02d", c)
		a.Clusters = append(a.Clusters, report.Aggregate{Namespace: "fleet-default",
			Name:     cluster[len("fleet-default/"):],
			Reported: &report.Reported{AsOf: fmt.Sprintf("2026-01-02T03:%02d:05Z", c%5)}})
		for b := range bundles {
			if (b+c)%3 == 0 && b > 0 {
				continue
			}
			bd := deploymentOfFleet(cluster, b, c)
			a.BundleDeployments = append(a.BundleDeployments, bd)
			if bd.Reported.State != "ErrApplied" {
				continue
			}
			a.Findings = append(a.Findings, report.Finding{ID: fmt.Sprintf("FD604-%d-%d", c, b), Code: "FD604",
				Severity: report.Error, Urgency: "now", Cluster: cluster, Bundle: bd.Bundle, BundleDeployment: bd.Key(),
				Object:  fleetRef("BundleDeployment", bd.Namespace, bd.Name),
				Message: bd.Key() + " is not applied: Deployed is False: " + reasons[b%2]})
		}
	}
	first := &a.BundleDeployments[0]
	first.State, first.Counts = report.Modified, report.Counts{Desired: 4, Ready: 3, Missing: 1}
	a.Findings = append(a.Findings, report.Finding{ID: cause.ID, Code: "FD101", Severity: report.Error, Urgency: "now",
		Cluster: first.Cluster, Bundle: first.Bundle, BundleDeployment: first.Key(), Object: missing,
		Message: "configmap app0/theme is not on the cluster"})
	a.Findings = append(a.Findings, modifiedOn(a, first.Bundle))
	for code, kind := range map[string]string{"FD202": "Bundle", "FD203": "GitRepo", "FD205": "Cluster"} {
		a.Findings = append(a.Findings, report.Finding{ID: code + "-1", Code: code, Severity: report.Warning,
			Urgency: "status", CausedBy: cause, Message: "the counts are wrong",
			Object: fleetRef(kind, "fleet-default", "x")})
	}
	return finished(a)
}

// modifiedOn is a finding about an object of a bundle on the clusters that were not read.
func modifiedOn(a *report.Audit, bundle string) report.Finding {
	f := report.Finding{Code: "FD611", Severity: report.Warning, Urgency: "now", Bundle: bundle,
		Object:  object.Ref{APIVersion: "v1", Kind: "ConfigMap", Namespace: "app0", Name: "settings"},
		Message: "configmap app0/settings differs, as Fleet reports: its cluster was not read"}
	for _, bd := range a.BundleDeployments {
		if bd.Bundle == bundle && bd.Reported.State == "Modified" {
			f.Clusters = append(f.Clusters, bd.Cluster)
			f.PerCluster = append(f.PerCluster, report.ClusterFinding{Cluster: bd.Cluster,
				ID: "FD611-" + bd.Cluster, BundleDeployment: bd.Key()})
		}
	}
	f.Cluster, f.BundleDeployment = f.PerCluster[0].Cluster, f.PerCluster[0].BundleDeployment
	return f
}

// reasons are what Helm said.
var reasons = []string{"helm said no", "another operation is in progress"}

func fleetRef(kind, namespace, name string) object.Ref {
	return object.Ref{APIVersion: "fleet.cattle.io/v1alpha1", Kind: kind, Namespace: namespace, Name: name}
}

// deploymentOfFleet is the bundle deployment of bundle b on cluster c.
func deploymentOfFleet(cluster string, b, c int) report.BundleDeployment {
	n := 4
	bd := report.BundleDeployment{Namespace: "cluster-" + strings.ReplaceAll(cluster, "/", "-"),
		Name: fmt.Sprintf("repo%d-app%d", b/2, b), Bundle: fmt.Sprintf("fleet-default/repo%d-app%d", b/2, b),
		GitRepo: fmt.Sprintf("fleet-default/repo%d", b/2), Cluster: cluster, State: report.Ready,
		Counts:   report.Counts{Desired: n, Ready: n},
		Reported: &report.Reported{State: "Ready", Ready: &n, DesiredReady: &n}}
	if c < 2 {
		return bd
	}
	bd.State, bd.Reason, bd.Counts = report.Unknown, clusterNotRead, report.Counts{}
	bd.Reported.AsOf = fmt.Sprintf("2025-12-%02dT03:04:05Z", 1+c%28)
	switch {
	case c%17 == 3 && b%4 != 0:
		bd.Reported.State = "ErrApplied"
	case (b*7+c)%11 == 0:
		bd.Reported.State = "Modified"
	case (b*5+c)%13 == 0:
		bd.Reported.State = "NotReady"
	}
	return bd
}

const clusterNotRead = "ClusterNotRead"

// overviews checks that an audit of 50 clusters fits the terminal, also with 300 bundles, and that no line but a
// command is wider. What is no terminal gets everything.
func overviews(t *testing.T, p *people) {
	t.Helper()
	shown := map[string]string{}
	for _, bundles := range []int{20, 300} {
		a := fiftyClusters(bundles)
		for width, rows := range map[int]int{0: 0, 60: 23, 80: 23, 100: 29, 200: 29} {
			o := printers.Options{Width: width, Rows: rows, ReadClusters: "kubectl fleetdoctor audit --via-rancher",
				Details: "kubectl fleetdoctor audit", Again: "kubectl fleetdoctor audit"}
			for _, by := range append([]string{""}, printers.By...) {
				o.By = by
				got := show(t, a, "table", o)
				if n := strings.Count(got, "\n"); rows > 0 && n > rows || rows == 0 && strings.Contains(got, "…") {
					t.Errorf("%d bundles, %d columns, by %q: %d lines", bundles, width, by, n)
				}
				for line := range strings.SplitSeq(got, "\n") {
					n := utf8.RuneCountInString(line)
					if width > 0 && n > width && !command.MatchString(line) {
						t.Errorf("%d bundles: %d of %d columns: %s", bundles, n, width, line)
					}
				}
				if bundles == 20 && (width == 100 || width == 0 && by == "") {
					shown[fmt.Sprintf("by %q, %d columns", by, width)] = got
				}
			}
		}
	}
	for _, title := range slices.Sorted(maps.Keys(shown)) {
		p.Add("50 clusters, "+title, shown[title])
	}
	all := show(t, fiftyClusters(300), "table", printers.Options{By: "bundle", All: true, Width: 80, Rows: 23})
	if n := strings.Count(all, "\n"); n < 300 || strings.Contains(all, "… and") {
		t.Errorf("--all has %d lines:\n%s", n, all)
	}
}

// TestHints checks that an audit suggests the repair of all of it if a cause has one.
func TestHints(t *testing.T) {
	const repair = "kubectl fleetdoctor repair -n apps"
	for command, want := range map[string]bool{"kubectl fleetdoctor repair bundle/a -n apps": true,
		"kubectl fleetdoctor adopt bundle/a -n apps": false} {
		a := closed(func(a *report.Audit) {
			a.BundleDeployments = []report.BundleDeployment{ofCluster("", "a")}
			a.Findings = []report.Finding{{Code: "FD101", Severity: report.Error, Message: "a is not on the cluster",
				Remedies: []report.Remedy{{Command: command}}}}
		})
		got := show(t, a, "table", printers.Options{Repair: repair, Again: "kubectl fleetdoctor audit -n apps"})
		if strings.Contains(got, "\n→ "+repair+"  repairs what can be repaired\n") != want ||
			!strings.HasSuffix(got, "\n→ kubectl fleetdoctor audit -n apps --all  shows details\n") {
			t.Errorf("%s:\n%s", command, got)
		}
	}
}
