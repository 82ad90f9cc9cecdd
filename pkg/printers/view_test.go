// SPDX-License-Identifier: Apache-2.0

package printers_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/printers"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

// well returns a report of n bundle deployments that are ready, as Fleet reports, and of those that change makes of one
// more each.
func well(n int, change ...func(*report.BundleDeployment)) *report.Audit {
	return closed(func(a *report.Audit) {
		for i := range n + len(change) {
			one, all := 1, 1
			bd := ofCluster("fleet-local/local", fmt.Sprintf("app-%02d", i))
			bd.Reported = &report.Reported{State: "Ready", Ready: &one, DesiredReady: &all}
			if i >= n {
				change[i-n](&bd)
			}
			a.BundleDeployments = append(a.BundleDeployments, bd)
		}
	})
}

// rowsOf returns the names in the first column of the table of bundle deployments.
func rowsOf(out string) []string {
	var names []string
	for line := range strings.SplitSeq(out, "\n") {
		if name, _, _ := strings.Cut(strings.TrimSpace(line), " "); strings.HasPrefix(name, "app-") {
			names = append(names, name)
		}
	}
	return names
}

// TestWellOnes checks that many bundle deployments that are well become one line, that --all shows them, and that none
// with a problem, without a result, or with another or an old status is among them.
func TestWellOnes(t *testing.T) {
	if got := show(t, well(10), "table", printers.Options{}); len(rowsOf(got)) != 10 || strings.Contains(got, "--all") {
		t.Errorf("ten are not shown:\n%s", got)
	}
	if got := show(t, well(11), "table", printers.Options{}); len(rowsOf(got)) != 0 ||
		!strings.Contains(got, "\nReady, as Fleet reports: 11 bundle deployments (--all shows them).\n") {
		t.Errorf("eleven are shown:\n%s", got)
	}
	three := 3
	a := well(11,
		func(bd *report.BundleDeployment) {
			bd.State, bd.Counts = report.Modified, report.Counts{Desired: 1, Modified: 1}
		},
		func(bd *report.BundleDeployment) { bd.Reported.Ready = &three },
		func(bd *report.BundleDeployment) { bd.Reported.State = "WaitApplied" },
		func(bd *report.BundleDeployment) { bd.Reported.Stale = true },
		func(bd *report.BundleDeployment) { bd.Reported = &report.Reported{} },
		func(bd *report.BundleDeployment) { bd.Counts.Orphaned = 1 },
		func(bd *report.BundleDeployment) { bd.State, bd.Reason = report.Unknown, "Forbidden" },
	)
	a.Findings = []report.Finding{{Code: "FD401", Severity: report.Warning, Cluster: "fleet-local/local",
		BundleDeployment: "x/app-00"}, {Code: "FD108", Severity: report.Info, Cluster: "fleet-local/local",
		BundleDeployment: "x/app-01"}}
	if got := rowsOf(show(t, a, "table", printers.Options{})); len(got) != 18 {
		t.Errorf("with ten well ones, %d of 18 are shown: %q", len(got), got)
	}
	a.BundleDeployments = append(a.BundleDeployments, well(2).BundleDeployments[1])
	a.BundleDeployments[18].Name = "app-99"
	got := show(t, a, "table", printers.Options{})
	if want := []string{"app-00", "app-11", "app-12", "app-13", "app-14", "app-15", "app-16",
		"app-17"}; !equalSets(rowsOf(got), want) || !strings.Contains(got, "Ready, as Fleet reports: 11 other") {
		t.Errorf("shown are %q, want %q:\n%s", rowsOf(got), want, got)
	}
	a.Findings[0].Clusters, a.Findings[0].Bundle, a.BundleDeployments[2].Bundle = []string{"fleet-local/other",
		"fleet-local/local"}, "fleet-local/app", "fleet-local/app"
	a.BundleDeployments = append(a.BundleDeployments, a.BundleDeployments[18])
	if got := rowsOf(show(t, a, "table", printers.Options{})); !slices.Contains(got, "app-02") ||
		slices.Contains(got, "app-03") {
		t.Errorf("a finding on several clusters: shown are %q", got)
	}
	a.BundleDeployments = a.BundleDeployments[:19]
	if all := rowsOf(show(t, a, "table", printers.Options{All: true})); len(all) != 19 || all[0] != "app-00" ||
		!slices.Contains(all[:8], "app-17") {
		t.Errorf("--all shows %q", all)
	}
}

func equalSets(x, y []string) bool {
	x, y = slices.Sorted(slices.Values(x)), slices.Sorted(slices.Values(y))
	return slices.Equal(x, y)
}

// TestTotals checks that --summary fits narrow and wide terminals, and that it says that something could not be read.
func TestTotals(t *testing.T) {
	for name, a := range map[string]*report.Audit{"sick": sample(t, "sick"), "clean": sample(t, "clean"),
		"large": large()} {
		for _, width := range []int{60, 80, 200} {
			for line := range strings.SplitSeq(show(t, a, "table", printers.Options{Summary: true, Width: width}),
				"\n") {
				if n := utf8.RuneCountInString(line); n > width {
					t.Errorf("%s: %d of %d columns: %s", name, n, width, line)
				}
			}
		}
	}
	if got := show(t, large(), "table", printers.Options{Summary: true, Colour: true}); !strings.Contains(got, "12") ||
		showsGreen(got) {
		t.Errorf("the gaps are not counted:\n%s", got)
	}
}

// TestOrderOfUser checks that the table has the order of the document if the user chose it, with a column of clusters
// instead of lines.
func TestOrderOfUser(t *testing.T) {
	a := many()
	slices.Reverse(a.BundleDeployments)
	for _, width := range []int{80, 120} {
		got := show(t, a, "table", printers.Options{Sorted: true, All: true, Width: width})
		lines := strings.Split(got, "\n")
		header := slices.IndexFunc(lines, func(s string) bool { return strings.HasPrefix(s, "BUNDLEDEPLOYMENT") })
		if !slices.Contains(strings.Fields(lines[header]), "CLUSTER") {
			t.Fatalf("%d columns: no column of clusters: %s", width, lines[header])
		}
		for i, bd := range a.BundleDeployments {
			line := lines[header+1+i]
			if !strings.HasPrefix(line, bd.Name[:3]) || !strings.Contains(line, bd.Cluster[len(bd.Cluster)-5:]) ||
				utf8.RuneCountInString(line) > width {
				t.Fatalf("%d columns: row %d is not %s on %s: %s", width, i, bd.Name, bd.Cluster, line)
			}
		}
	}
}

// TestShortHeaders checks that the headers become shorter before the columns of numbers become one.
func TestShortHeaders(t *testing.T) {
	a := closed(func(a *report.Audit) {
		bd := ofCluster("", "app")
		bd.State, bd.Counts = report.Modified, report.Counts{Desired: 9, Ready: 1, Missing: 1, Unowned: 1, Modified: 2,
			NotReady: 1, Unknown: 3, Orphaned: 1}
		a.BundleDeployments = []report.BundleDeployment{bd}
	})
	for width, want := range map[int]string{200: "MODIFIED", 80: "MODIF", 60: "NOT READY"} {
		if got := show(t, a, "table", printers.Options{Width: width}); !strings.Contains(got, "  "+want+" ") &&
			!strings.Contains(got, "  "+want+"\n") {
			t.Errorf("%d columns: no header %s:\n%s", width, want, got)
		}
	}
}
