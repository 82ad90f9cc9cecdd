// SPDX-License-Identifier: Apache-2.0

package printers_test

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/printers"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
	"github.com/fleetdoctor/kubectl-fleetdoctor/test/golden"
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
	for code, kind := range map[string]string{"FD202": "Bundle", "FD203": "GitRepo", "FD205": "Cluster"} {
		a.Findings = append(a.Findings, report.Finding{ID: code + "-1", Code: code, Severity: report.Warning,
			Urgency: "status", CausedBy: cause, Message: "the counts are wrong",
			Object: fleetRef(kind, "fleet-default", "x")})
	}
	return finished(a)
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

// TestOverview checks that an audit of 50 clusters fits one screen of 40 lines, also with 300 bundles, and that it
// begins with the causes. No line but a command is wider than the terminal.
func TestOverview(t *testing.T) {
	for _, bundles := range []int{20, 300} {
		a := fiftyClusters(bundles)
		for _, width := range []int{0, 60, 80, 100, 200} {
			o := printers.Options{Width: width, ReadClusters: "kubectl fleetdoctor audit --via-rancher",
				Details: "kubectl fleetdoctor audit", Explain: "kubectl fleetdoctor explain"}
			for _, by := range append([]string{""}, printers.By...) {
				o.By = by
				got := show(t, a, "table", o)
				if n := strings.Count(got, "\n"); n > 40 {
					t.Errorf("%d bundles, %d columns, by %q: %d lines", bundles, width, by, n)
				}
				for line := range strings.SplitSeq(got, "\n") {
					n := utf8.RuneCountInString(line)
					if width > 0 && n > width && !command.MatchString(line) {
						t.Errorf("%d bundles: %d of %d columns: %s", bundles, n, width, line)
					}
				}
				if bundles == 20 && width > 60 {
					golden.Compare(t, fmt.Sprintf("fifty%s.overview%d", by, width), got)
				}
			}
		}
	}
	all := show(t, fiftyClusters(300), "table", printers.Options{By: "bundle", All: true})
	if n := strings.Count(all, "\n"); n < 300 || strings.Contains(all, "more problem") {
		t.Errorf("--all has %d lines:\n%s", n, all)
	}
}
