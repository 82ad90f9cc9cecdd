// SPDX-License-Identifier: Apache-2.0

package printers_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/olekukonko/tablewriter/pkg/twwidth"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/printers"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

// estate is a report with a GitRepo on 14 clusters, a HelmOp, a bundle with neither, and a release without a bundle.
func estate() *report.Audit {
	n := func(i int) *int { return &i }
	a := &report.Audit{Source: report.Source{Kind: "cluster", Context: "management"}, Notes: []string{"a note"}}
	a.GitRepos = []report.Aggregate{{Namespace: "fleet-default", Name: "apps",
		Actual: &report.Actual{BundleDeployments: 14, ReadyBundleDeployments: 12, Counts: report.Counts{Desired: 42,
			Ready: 26}},
		Reported: &report.Reported{State: "Modified", Ready: n(42), DesiredReady: n(42), BundleDeployments: n(14),
			ReadyBundleDeployments: n(14)}}}
	a.Bundles = []report.Aggregate{{Namespace: "fleet-default", Name: "apps-web", Actual: a.GitRepos[0].Actual,
		Reported: &report.Reported{BundleDeployments: n(14), ReadyBundleDeployments: n(14)}}}
	reported := func(deployments int) *report.Reported {
		return &report.Reported{BundleDeployments: n(deployments), ReadyBundleDeployments: n(deployments)}
	}
	a.GitRepos = append(a.GitRepos,
		report.Aggregate{Namespace: "fleet-default", Name: "empty", Actual: &report.Actual{}, Reported: reported(0)},
		report.Aggregate{Namespace: "fleet-default", Name: "unread", Reported: reported(3)})
	vault := report.Aggregate{Namespace: "fleet-default", Name: "vault", Reported: reported(1)}
	vault.Statuses, vault.Reported.Ready, vault.Reported.DesiredReady = &report.Reported{Ready: n(2),
		DesiredReady: n(3)}, n(3), n(3)
	a.HelmOps = []report.Aggregate{vault}
	for i := range 14 {
		bd := report.BundleDeployment{Namespace: fmt.Sprintf("cluster-%02d", i), Name: "apps-web",
			Cluster: fmt.Sprintf("fleet-default/edge-%02d", i), Bundle: "fleet-default/apps-web",
			GitRepo: "fleet-default/apps",
			State:   report.Ready, Counts: report.Counts{Desired: 3, Ready: 3},
			Reported: &report.Reported{State: "Ready",
				Ready: n(3), DesiredReady: n(3), Stale: i == 3}}
		if i == 8 {
			bd.State, bd.Counts = report.Modified, report.Counts{Desired: 14, Ready: 1, Modified: 12, Unknown: 1}
			for k := range 14 {
				r := report.Resource{Ref: object.Ref{APIVersion: "apps/v1", Kind: "Deployment",
					Namespace: "a-namespace-with-a-rather-long-name",
					Name:      fmt.Sprintf("a-deployment-with-a-rather-long-name-%02d", k)}, State: report.Modified}
				switch k {
				case 0:
					r.State, r.Reason = report.Unknown, "Forbidden"
				case 1:
					r.State = report.Ready
				}
				bd.Resources = append(bd.Resources, r)
			}
		}
		a.BundleDeployments = append(a.BundleDeployments, bd)
	}
	a.BundleDeployments = append(a.BundleDeployments,
		report.BundleDeployment{Namespace: "cluster-01", Name: "vault", Cluster: "fleet-default/edge-01",
			Bundle: "fleet-default/vault", HelmOp: "fleet-default/vault", State: report.Unknown,
			Reason: "ClusterNotRead", Reported: &report.Reported{State: "Ready"}},
		report.BundleDeployment{Namespace: "cluster-01", Name: "alone", Cluster: "fleet-default/edge-01",
			Bundle: "fleet-default/alone", State: report.Ready, Counts: report.Counts{Desired: 1, Ready: 1}},
		report.BundleDeployment{Name: "released", State: report.Ready, Counts: report.Counts{Desired: 1, Ready: 1}})
	return finished(a)
}

// TestTree compares trees with their golden file.
func TestTree(t *testing.T) {
	tree := func(o printers.Options, targets ...string) string {
		a := estate()
		a.Scope.Targets = targets
		o.ReadClusters = "kubectl fleetdoctor audit --cluster NAME=KUBECONFIG"
		return shown(t, "table", printers.Tree(a, o))
	}
	var p people
	p.Add("everything", tree(printers.Options{}))
	p.Add("--all, in colour", tree(printers.Options{Colour: true, All: true}))
	p.Add("two clusters, and a bundle that does not exist", tree(printers.Options{}, "cluster/edge-01",
		"cluster/fleet-default/edge-08", "bundle/nothing"))
	p.Add("--all of two bundle deployments", tree(printers.Options{All: true},
		"bundledeployment/cluster-08/apps-web", "bundledeployment/released"))
	p.Add("nothing", shown(t, "table", printers.Tree(finished(&report.Audit{}), printers.Options{})))
	p.Add("50 clusters", shown(t, "table", printers.Tree(fiftyClusters(20), printers.Options{Width: 100})))
	p.Compare(t, "tree.txt")
}

// TestLargeTree checks that a tree of 50 clusters counts what is well, and that it fits two screens.
func TestLargeTree(t *testing.T) {
	got := shown(t, "table", printers.Tree(fiftyClusters(20), printers.Options{Width: 100}))
	if n := strings.Count(got, "\n"); n > 80 {
		t.Errorf("%d lines", n)
	}
}

// TestTreeWidth checks that a tree fits the terminal.
func TestTreeWidth(t *testing.T) {
	for _, width := range []int{60, 80, 100, 200} {
		for _, all := range []bool{false, true} {
			out := shown(t, "table", printers.Tree(estate(),
				printers.Options{Width: width, All: all}))
			for line := range strings.SplitSeq(out, "\n") {
				if n := twwidth.WidthWithOptions(line, twwidth.Options{}); n > width {
					t.Errorf("%d of %d columns: %s", n, width, line)
				}
			}
		}
	}
}

// TestTreeHidesNothing checks that each bundle deployment and object is in a tree with --all, once for each root.
func TestTreeHidesNothing(t *testing.T) {
	a := estate()
	out := shown(t, "table", printers.Tree(a, printers.Options{Width: 300, All: true}))
	for _, bd := range a.BundleDeployments {
		name := "cluster " + bd.Cluster + " "
		if bd.Cluster == "" {
			name = "bundledeployment " + bd.Name + " "
		}
		if !strings.Contains(out, name) {
			t.Errorf("no line of %s", name)
		}
		for _, r := range bd.Resources {
			if strings.Count(out, r.Name+" ") != 1 {
				t.Errorf("%s is shown %d times", r.Name, strings.Count(out, r.Name+" "))
			}
		}
	}
}
