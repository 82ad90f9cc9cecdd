// SPDX-License-Identifier: Apache-2.0

package digest

import (
	"fmt"
	"testing"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

// TestDetails checks what a row says in little and in much room: a name of each state first, then an object and a time.
func TestDetails(t *testing.T) {
	a := &report.Audit{TakenAt: "2026-11-28T00:00:00Z"}
	f := report.Finding{Code: "FD611", Severity: report.Warning,
		Object: object.Ref{APIVersion: "v1", Kind: "ConfigMap", Namespace: "app1", Name: "settings"}}
	for i := range 50 {
		bd := report.BundleDeployment{Namespace: fmt.Sprintf("ns%02d", i), Name: "repo1-app1",
			Cluster: fmt.Sprintf("fleet-default/c%02d", i), Reason: ClusterNotRead,
			Reported: &report.Reported{State: "Ready", AsOf: fmt.Sprintf("2026-11-2%dT07:47:35Z", i%3)}}
		switch {
		case i%3 == 0:
			bd.Reported.State = "Modified"
			f.Clusters = append(f.Clusters, bd.Cluster)
			f.PerCluster = append(f.PerCluster, report.ClusterFinding{Cluster: bd.Cluster, BundleDeployment: bd.Key()})
		case i == 49:
			bd.Reported = &report.Reported{State: "NotReady"}
		}
		a.BundleDeployments = append(a.BundleDeployments, bd)
	}
	a.Findings = []report.Finding{f}
	s := Spreads(a, BundleOf)[0]
	cluster := func(bd *report.BundleDeployment) string { return BaseName(bd.Cluster) }
	width := func(s string) int { return len([]rune(s)) }
	for columns, want := range map[int]string{
		20: "17 Modified; 1 NotReady",
		40: "17 Modified: c00 c03 …; 1 NotReady: c49",
		80: "17 Modified since 11-20: c00 c03 c06 …, configmap app1/settings; 1 NotReady: c49",
	} {
		if got := NewDetails(a).Of(s, columns, cluster, width); got != want {
			t.Errorf("%d columns: %q, want %q", columns, got, want)
		}
	}
}

// TestStep checks the verb with which a user proceeds.
func TestStep(t *testing.T) {
	for want, commands := range map[string][]string{
		"explain":                  {"", "kubectl -n x describe pod y", "helm get manifest x"},
		"repair":                   {"kubectl fleetdoctor repair --snapshot x bundle/a -n b --code=FD101"},
		"adopt":                    {"kubectl -n x get y", "kubectl fleetdoctor adopt bundle/a -n b"},
		"audit --diff":             {"kubectl fleetdoctor audit bundle/a -n b --diff"},
		"audit -o compare-patches": {"kubectl fleetdoctor audit bundle/a -n b -o compare-patches"},
		"audit":                    {"kubectl fleetdoctor audit bundle/a -n b"},
	} {
		f := report.Finding{}
		for _, command := range commands {
			f.Remedies = append(f.Remedies, report.Remedy{Command: command, Text: "x"})
		}
		if got := Step(&f); got != want || Repairable(&f) != (want == "repair") {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
