// SPDX-License-Identifier: Apache-2.0

package printers_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/printers"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

// many is an invented report of 60 bundle deployments on five clusters, of which two were read, with 40 findings. One
// of the agents is silent.
func many() *report.Audit {
	a := &report.Audit{TakenAt: "2026-01-02T03:04:05Z", Source: report.Source{Kind: "cluster",
		Context: "admin@production", Server: "https://cluster.example.com:6443",
		KubernetesVersion: "v1.36.3", FleetVersions: &report.FleetVersions{Controller: "v0.16.1"}}}
	bundles := []string{"backup-velero", "cert-manager", "external-dns", "ingress-nginx",
		"monitoring-kube-prometheus-stack", "node-config", "policies-kyverno",
		"shop-backend", "shop-frontend", "shop-payments-with-a-rather-long-path", "vault", "vault-crd"}
	for i, cluster := range []string{"edge-factory-munich-042", "prod-eu", "prod-us", "local", "staging"} {
		for j, name := range bundles {
			bd := deploymentOf(cluster, name, i*len(bundles)+j)
			for _, f := range findingsOf(&bd) {
				if len(a.Findings) < 40 {
					a.Findings = append(a.Findings, f)
				}
			}
			a.BundleDeployments = append(a.BundleDeployments, bd)
		}
	}
	n := 60
	a.Clusters = []report.Aggregate{{Namespace: "fleet-default", Name: "local",
		Actual:   &report.Actual{BundleDeployments: 12, Counts: report.Counts{Desired: 60, Ready: 48}},
		Reported: &report.Reported{DesiredReady: &n, Ready: &n, State: "NotReady"}}}
	return finished(a)
}

// deploymentOf is bundle deployment number i. Only the clusters local and staging were read.
func deploymentOf(cluster, name string, i int) report.BundleDeployment {
	n, ready := 5+i%3, 5+i%3
	bd := report.BundleDeployment{Namespace: "cluster-fleet-default-" + cluster, Name: name, Cluster: "fleet-default/" +
		cluster, Bundle: "fleet-default/" + name,
		State: report.Ready, Counts: report.Counts{Desired: n, Ready: n}, Reported: &report.Reported{State: "Ready",
			DesiredReady: &n, Ready: &ready, Stale: cluster == "edge-factory-munich-042"}}
	switch {
	case cluster != "local" && cluster != "staging":
		bd.State, bd.Reason, bd.Counts = report.Unknown, "ClusterNotRead", report.Counts{}
		if i%4 == 1 {
			ready--
			bd.Reported.State = []string{"NotReady", "WaitApplied", "Modified"}[i%3]
		}
	case cluster == "local" && i%12 == 4:
		bd.State, bd.Reason, bd.Counts = report.Unknown, "NoReleaseRecord", report.Counts{}
	case cluster == "local" && i%2 == 0, cluster == "staging" && i%12 < 6:
		bd.State, bd.Counts = report.Modified, report.Counts{Desired: n, Ready: n - 3, Missing: 1, Unowned: i % 3,
			Modified: 2 - i%3, Orphaned: i % 4 / 3}
	}
	return bd
}

// findingsOf returns the findings of a bundle deployment that is not Ready.
func findingsOf(bd *report.BundleDeployment) []report.Finding {
	c := bd.Counts
	var out []report.Finding
	add := func(n int, code string, severity report.Severity, says string) {
		for i := range n {
			ref := object.Ref{APIVersion: "v1", Kind: "ConfigMap", Namespace: bd.Name, Name: fmt.Sprintf("part-%d", i)}
			out = append(out, report.Finding{Code: code, Severity: severity, Object: ref, Cluster: bd.Cluster,
				Bundle: bd.Bundle, BundleDeployment: bd.Namespace + "/" + bd.Name,
				Message: ref.Key().String() + says, Remediation: "kubectl -n " + bd.Name + " get configmaps"})
		}
	}
	add(c.Missing, "FD101", report.Error, " is not on the cluster")
	add(c.Unowned, "FD102", report.Error, " exists, but has no ownership labels or annotations")
	add(c.Modified, "FD104", report.Warning, " differs in .data.colour, .data.size, .data.text, 4 more fields")
	if bd.Reason == "NoReleaseRecord" {
		add(1, "FD607", report.Warning, ": no release record")
	}
	if bd.Reported.State != string(report.Ready) {
		add(1, "FD604", report.Error,
			" waits for bundle deployment "+bd.Namespace+"/vault, which is not ready: this is the root cause")
	}
	return out
}

// TestLayout compares what depends on the size of the terminal with one golden file.
func TestLayout(t *testing.T) {
	var p people
	for _, tc := range []struct {
		name string
		run  func(*testing.T, *people)
	}{{"widths", widths}, {"overviews", overviews}, {"screens", screens}, {"results", results}} {
		t.Run(tc.name, func(t *testing.T) { tc.run(t, &p) })
	}
	p.Compare(t, "layout.txt")
}

// widths shows a report of many deployments and findings on a narrow and on a wide terminal. Except for commands and
// for single words, no line is longer than the terminal is wide.
func widths(t *testing.T, p *people) {
	t.Helper()
	a := many()
	for _, width := range []int{60, 70, 80, 90, 100, 120, 130, 200} {
		o := printers.Options{Width: width, Diff: true, ReadClusters: "kubectl fleetdoctor audit --via-rancher"}
		got := show(t, a, "table", o)
		if width == 80 || width == 120 { // other documents and widths have no golden file, only checks of their lines
			p.Add(fmt.Sprintf("%d columns", width), got)
		}
		for line := range strings.SplitSeq(got, "\n") {
			text := strings.TrimSpace(line)
			if n := utf8.RuneCountInString(line); n > width && strings.Contains(text, " ") &&
				!command.MatchString(line) {
				t.Errorf("%d of %d columns: %s", n, width, line)
			}
		}
		for name, whole := range map[string]int{"monitoring-kube-prometheus-stack": 90,
			"shop-payments-with-a-rather-long-path": 100} {
			if cut := !strings.Contains(got, "\n  "+name+" "); cut != (width < whole) {
				t.Errorf("%d columns: the name %s is cut: %v", width, name, cut)
			}
		}
	}
}

// TestWholeNames checks that no name is shortened if the output is no terminal: a program such as grep finds every row.
func TestWholeNames(t *testing.T) {
	a := many()
	a.Scope.Targets = []string{"cluster/local"}
	agents := &report.Agents{Agents: []report.Agent{{Namespace: "fleet-default", Name: strings.Repeat("name-", 20),
		AgentNamespace: strings.Repeat("agent-", 10)}}}
	const long = "shop-payments-with-a-rather-long-path"
	for name, tc := range map[string]struct {
		document printers.Document
		rows     []string
	}{
		"audit": {printers.Audit(a, printers.Options{All: true}), []string{"  " + long + " "}},
		"sorted": {printers.Audit(a, printers.Options{All: true, Sorted: true}),
			[]string{"fleet-default/edge-factory-munich-042 "}},
		"tree": {printers.Tree(a, printers.Options{All: true}), []string{"bundle fleet-default/" + long + " "}},
		"agents": {printers.Agents(agents, printers.Options{}), []string{agents.Agents[0].Name + " ",
			agents.Agents[0].AgentNamespace + " "}},
	} {
		out := shown(t, "table", tc.document)
		for _, row := range tc.rows {
			if !strings.Contains(out, row) {
				t.Errorf("%s: no %q in\n%s", name, row, out)
			}
		}
	}
}

// TestUnknownHasAReason checks that each cell without a result is on a cluster that was not read, or that the table
// names its reason.
func TestUnknownHasAReason(t *testing.T) {
	lines := strings.Split(show(t, many(), "table", printers.Options{Diff: true}), "\n")
	begin := slices.IndexFunc(lines, func(s string) bool { return strings.HasPrefix(s, "BUNDLEDEPLOYMENT") })
	cluster, others := "", 0
	for _, line := range lines[begin:] {
		switch {
		case strings.HasPrefix(line, "fleet-default/"):
			cluster = line
		case strings.HasPrefix(line, "  ") && strings.Contains(line, " ? ") &&
			!strings.HasSuffix(cluster, " (not read)"):
			others++
		}
	}
	if want := fmt.Sprintf("?: no result for %d bundle deployment: NoReleaseRecord.", others); others != 1 ||
		!slices.Contains(lines, want) {
		t.Errorf("%d cells of read clusters have no result, and there is no line %q", others, want)
	}
}

// TestWidthsOfTables checks that the tables of the other verbs are not wider than the terminal, and that names are
// whole where there is room for them.
func TestWidthsOfTables(t *testing.T) {
	const cluster, namespace = "fleet-default/c-m-a-long-name-of-a-cluster-in-frankfurt",
		"cattle-fleet-a-long-scope-system"
	prediction := report.Prediction{Result: "re-import"}
	agents := &report.Agents{Agents: []report.Agent{
		{Namespace: "fleet-default", Name: "c-m-short", Heartbeat: report.Heartbeat{State: "never"}, Now: prediction,
			AfterUpgrade: prediction},
		{Namespace: "fleet-default", Name: strings.TrimPrefix(cluster, "fleet-default/"), AgentNamespace: namespace,
			Now: prediction, AfterUpgrade: prediction,
			Heartbeat: report.Heartbeat{State: "stale", AgeSeconds: 4000, IntervalSeconds: 900}}}}
	targets := &report.Targets{Bundles: []report.TargetedBundle{{Name: "app",
		Clusters: []report.TargetedCluster{{Cluster: cluster, Result: report.TargetExpected,
			Deployment: report.DeploymentExists, Target: "production-in-europe",
			Customizations: []string{"customization-of-frankfurt", "customization-of-europe"}}}}}}
	impact := &report.Impact{Deletions: []report.Deletion{{Kind: "Bundle", Name: "app",
		Clusters: []report.ClusterImpact{{Cluster: cluster, Result: report.ImpactMayRemove}}}}}
	for _, width := range []int{60, 80, 100, 200} {
		o := printers.Options{Width: width}
		for name, d := range map[string]printers.Document{"agents": printers.Agents(agents, o),
			"targets": printers.Targets(targets, o), "impact": printers.Impact(impact, o)} {
			_, table, _ := strings.Cut(shown(t, "table", d), "CLUSTER ")
			table, _, _ = strings.Cut(table, "\n\n")
			rows := strings.Split(table, "\n")[1:]
			for _, row := range rows {
				if n := utf8.RuneCountInString(row); n > width {
					t.Errorf("%s: %d of %d columns: %s", name, n, width, row)
				}
			}
			if whole := strings.Contains(table, cluster); len(rows) == 0 || width == 200 && !whole || width == 60 &&
				whole {
				t.Errorf("%s, %d columns: %d rows, the name of the cluster is whole: %v", name, width, len(rows), whole)
			}
		}
	}
}
