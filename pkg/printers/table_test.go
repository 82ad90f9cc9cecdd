// SPDX-License-Identifier: Apache-2.0

package printers_test

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/printers"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/redact"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

// closed is a report of nothing but what a test puts into it.
func closed(change func(*report.Audit)) *report.Audit {
	a := &report.Audit{}
	change(a)
	return finished(a)
}

// finished is a report that a test made by hand: added up, and its secrets hidden.
func finished(a *report.Audit) *report.Audit {
	a.APIVersion, a.Kind, a.Summary = report.APIVersion, report.Kind, report.Summary{BundleDeployments: len(a.BundleDeployments)}
	for _, bd := range a.BundleDeployments {
		a.Summary.Counts = a.Summary.Counts.Plus(bd.Counts)
		slices.SortFunc(bd.Resources, func(x, y report.Resource) int { return x.Compare(y.Ref) })
	}
	for _, f := range a.Findings {
		*map[report.Severity]*int{report.Error: &a.Summary.Findings.Error, report.Warning: &a.Summary.Findings.Warning, report.Info: &a.Summary.Findings.Info}[f.Severity]++
	}
	slices.SortFunc(a.BundleDeployments, func(x, y report.BundleDeployment) int {
		return cmp.Or(cmp.Compare(x.Namespace, y.Namespace), cmp.Compare(x.Name, y.Name))
	})
	slices.SortFunc(a.Findings, func(x, y report.Finding) int {
		return cmp.Or(cmp.Compare(x.Code, y.Code), cmp.Compare(x.Cluster, y.Cluster), cmp.Compare(x.BundleDeployment, y.BundleDeployment),
			x.Object.Compare(y.Object), cmp.Compare(x.Message, y.Message))
	})
	return a.Redacted(&redact.Secrets{})
}

// tableOf is a report as the narrow table shows it, line by line.
func tableOf(t *testing.T, change func(*report.Audit)) []string {
	t.Helper()
	return strings.Split(show(t, closed(change), "table", printers.Options{}), "\n")
}

// words are the lines with single blanks between their words.
func words(lines []string) []string {
	out := make([]string, len(lines))
	for i, line := range lines {
		out[i] = strings.Join(strings.Fields(line), " ")
	}
	return out
}

func ofCluster(cluster, name string) report.BundleDeployment {
	return report.BundleDeployment{Namespace: "x", Name: name, Cluster: cluster, State: report.Ready, Counts: report.Counts{Desired: 1, Ready: 1}}
}

// TestClusterLines holds that a cluster's name is not cut to the width of the column of names, and does not widen it.
func TestClusterLines(t *testing.T) {
	long := "fleet-default/" + strings.Repeat("cluster-", 12) + "one"
	got := tableOf(t, func(a *report.Audit) {
		a.BundleDeployments = []report.BundleDeployment{ofCluster("fleet-default/downstream-production-one", "app"), ofCluster(long, "app")}
	})
	if !slices.Contains(got, "fleet-default/downstream-production-one") {
		t.Errorf("the cluster's name is cut:\n%s", strings.Join(got, "\n"))
	}
	var app []string
	for _, line := range got {
		if utf8.RuneCountInString(line) > 100 {
			t.Errorf("%d columns: %s", utf8.RuneCountInString(line), line)
		}
		if strings.HasPrefix(line, "fleet-default/cluster-") && !strings.HasSuffix(line, "-one") {
			t.Errorf("the end of the name is gone: %s", line)
		}
		if strings.HasPrefix(line, "  app ") {
			app = append(app, line)
		}
	}
	if len(app) != 2 || app[0] != app[1] || !strings.HasPrefix(app[0], "  app                1/1") {
		t.Errorf("rows: %q", app)
	}
}

// TestLargeNumbers holds that the name gives way where numbers need the room.
func TestLargeNumbers(t *testing.T) {
	n := 10000
	got := tableOf(t, func(a *report.Audit) {
		bd := ofCluster("", strings.Repeat("name-", 10))
		bd.Counts, bd.Reported = report.Counts{Desired: n, Ready: n - 1, Missing: 1}, &report.Reported{DesiredReady: &n, Ready: &n}
		a.BundleDeployments = []report.BundleDeployment{bd}
	})
	for _, line := range got {
		if utf8.RuneCountInString(line) > 100 {
			t.Errorf("%d columns: %s", utf8.RuneCountInString(line), line)
		}
	}
}

// TestFleetSaysNothing holds that a status that is empty is said to be none.
func TestFleetSaysNothing(t *testing.T) {
	for want, says := range map[string]*report.Reported{"app 1/1 - - - - - - -": {}, "app 1/1 WaitApplied - - - - - -": {State: "WaitApplied"}} {
		got := words(tableOf(t, func(a *report.Audit) {
			bd := ofCluster("", "app")
			bd.Reported = says
			a.BundleDeployments = []report.BundleDeployment{bd}
		}))
		if !slices.Contains(got, want) {
			t.Errorf("no %q in %q", want, got)
		}
	}
}

// TestSummedUp holds the table of what is summed up: no column that is empty, no name that pushes the numbers out, and no sum of deployments
// of which not one has a verdict.
func TestSummedUp(t *testing.T) {
	n := 5
	repo := func(name, state string) report.Aggregate {
		return report.Aggregate{Namespace: "fleet-default", Name: name, Actual: report.Actual{BundleDeployments: 1, Counts: report.Counts{Desired: 5, Ready: 2}},
			Reported: &report.Reported{DesiredReady: &n, Ready: &n, State: state}}
	}
	below := func(name string, state report.State) report.BundleDeployment {
		return report.BundleDeployment{Namespace: "x", Name: name, GitRepo: "fleet-default/" + name, State: state}
	}
	long := strings.Repeat("repository-", 12)
	for name, tc := range map[string]struct {
		repos []report.Aggregate
		state report.State
		want  []string
	}{
		"a state":    {[]report.Aggregate{repo("apps", "Ready")}, report.NotReady, []string{"SUMMED UP READY FLEET SAYS STATE", "gitrepo fleet-default/apps 2/5 5/5 Ready"}},
		"no state":   {[]report.Aggregate{repo("apps", "")}, report.NotReady, []string{"SUMMED UP READY FLEET SAYS", "gitrepo fleet-default/apps 2/5 5/5"}},
		"no verdict": {[]report.Aggregate{repo("apps", "Ready")}, report.Unknown, nil},
		"long": {[]report.Aggregate{repo(long, "Ready")}, report.NotReady, []string{"SUMMED UP READY FLEET SAYS STATE",
			"gitrepo fleet-default/repository-repo…ry-repository-repository-repository- 2/5 5/5 Ready"}},
	} {
		lines := tableOf(t, func(a *report.Audit) {
			a.GitRepos = tc.repos
			for _, r := range tc.repos {
				a.BundleDeployments = append(a.BundleDeployments, below(r.Name, tc.state))
			}
		})
		got := words(lines)
		var shown []string
		if i := slices.IndexFunc(got, func(s string) bool { return strings.HasPrefix(s, "SUMMED UP") }); i >= 0 {
			shown = got[i : i+2]
			if n := utf8.RuneCountInString(lines[i+1]); n > 100 {
				t.Errorf("%s: %d columns: %s", name, n, lines[i+1])
			}
		}
		if !slices.Equal(shown, tc.want) {
			t.Errorf("%s: %q, want %q", name, shown, tc.want)
		}
	}
}

// TestVerdict holds the last line: what is true, and that nothing is well of which nothing is known.
func TestVerdict(t *testing.T) {
	blind := func(n int) []report.BundleDeployment {
		out := make([]report.BundleDeployment, n)
		for i := range out {
			out[i] = report.BundleDeployment{Namespace: "x", Name: fmt.Sprint("blind-", i), State: report.Unknown}
		}
		return out
	}
	warning := report.Finding{Code: "FD607", Severity: report.Warning, Message: "no verdict"}
	waiting := report.BundleDeployment{Namespace: "x", Name: "waiting", State: report.WaitApplied, Reason: "NoReleaseRecord"}
	unread := report.BundleDeployment{Namespace: "x", Name: "unread", State: report.NotReady, Counts: report.Counts{Desired: 2, Unknown: 2}}
	for name, tc := range map[string]struct {
		bds      []report.BundleDeployment
		findings []report.Finding
		gaps     []report.Gap
		want     string
	}{
		"well":       {bds: []report.BundleDeployment{ofCluster("", "app")}, want: "1 of 1 object ready in 1 bundle deployment. All is well."},
		"none":       {want: "No bundle deployment is in this scope."},
		"a gap":      {gaps: []report.Gap{{What: "x"}}, want: "No bundle deployment is in this scope. Nothing is wrong in what could be read."},
		"no verdict": {bds: blind(6), findings: []report.Finding{warning}, want: "No result for 6 of 6 bundle deployments. 0 errors, 1 warning."},
		"some without": {bds: append(blind(1), ofCluster("", "app")),
			want: "1 of 1 object ready in 2 bundle deployments. No result for 1 of 2 bundle deployments. Nothing is wrong in what could be read."},
		"in another state, without": {bds: append(blind(1), waiting, unread, ofCluster("", "app")),
			want: "1 of 3 objects ready in 4 bundle deployments. No result for 3 of 4 bundle deployments. Nothing is wrong in what could be read."},
		"for information": {bds: []report.BundleDeployment{ofCluster("", "app")}, findings: []report.Finding{{Code: "FD207", Severity: report.Info}},
			want: "1 of 1 object ready in 1 bundle deployment. All is well, 1 for information (-o wide shows them)."},
		"none, for information": {findings: []report.Finding{{Code: "FD207", Severity: report.Info}}, want: "No bundle deployment is in this scope. 1 for information (-o wide shows them)."},
	} {
		change := func(a *report.Audit) { a.BundleDeployments, a.Findings, a.Gaps = tc.bds, tc.findings, tc.gaps }
		if got := strings.Join(words(tableOf(t, change)), " "); !strings.HasSuffix(got, tc.want+" ") {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
		for _, line := range tableOf(t, change) {
			if utf8.RuneCountInString(line) > 100 {
				t.Errorf("%s: %d columns: %s", name, utf8.RuneCountInString(line), line)
			}
		}
		coloured := show(t, closed(change), "table", printers.Options{Colour: true})
		if alarm := !strings.Contains(coloured, "\x1b[32mAll is well"); alarm != (!strings.Contains(tc.want, "All is well")) {
			t.Errorf("%s: %q", name, coloured)
		}
	}
}

// TestHeadVersions holds that the head says which Fleet it is, of a downstream cluster that of its agent.
func TestHeadVersions(t *testing.T) {
	for want, v := range map[string]*report.FleetVersions{
		"Audit of snapshot x Fleet v2":             {Controller: "v2", Agents: map[string]string{"a": "v1"}},
		"Audit of snapshot x Fleet agent v1":       {Agents: map[string]string{"a": "v1", "b": "v1"}},
		"Audit of snapshot x Fleet agents v1 / v2": {Agents: map[string]string{"a": "v2", "b": "v1"}},
		"Audit of snapshot x":                      {},
	} {
		got := tableOf(t, func(a *report.Audit) { a.Source = report.Source{Kind: "snapshot", Path: "x", FleetVersions: v} })[0]
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestRepeatedFold holds that what is said of each of many bundles alike is said of three, and how many more there are.
func TestRepeatedFold(t *testing.T) {
	of := func(n int) func(*report.Audit) {
		return func(a *report.Audit) {
			for i := range n {
				name := fmt.Sprintf("blind-%d", i)
				a.BundleDeployments = append(a.BundleDeployments, report.BundleDeployment{Namespace: "x", Name: name, State: report.Unknown})
				a.Findings = append(a.Findings, report.Finding{Code: "FD607", Severity: report.Warning, BundleDeployment: "x/" + name,
					Message: "no verdict on x/" + name, Remediation: "kubectl fleetdoctor audit --print-rbac"})
			}
			a.Findings = append(a.Findings, report.Finding{Code: "FD607", Severity: report.Warning, BundleDeployment: "x/blind-0", Message: "something else", Remediation: "another command"})
		}
	}
	few := show(t, closed(of(3)), "table", printers.Options{})
	if strings.Count(few, "no verdict on") != 3 || strings.Contains(few, "more") {
		t.Errorf("of three:\n%s", few)
	}
	many := show(t, closed(of(5)), "table", printers.Options{})
	for s, want := range map[string]int{"no verdict on": 3, "… and 2 more (-o wide lists them)": 1, "→ kubectl fleetdoctor audit --print-rbac": 1, "something else": 1, "bundle deployment x/blind-0": 1, "bundle deployment x/blind-1": 0} {
		if n := strings.Count(many, s); n != want {
			t.Errorf("of five, %q stands there %d times, want %d:\n%s", s, n, want, many)
		}
	}
	if wide := show(t, closed(of(5)), "wide", printers.Options{}); strings.Count(wide, "no verdict on") != 5 || strings.Contains(wide, "more") {
		t.Errorf("the wide table:\n%s", wide)
	}
}

// TestNames holds that what -o name prints can be an argument of kubectl, also where a capture has names that a shell would act on.
func TestNames(t *testing.T) {
	got := show(t, closed(func(a *report.Audit) {
		a.BundleDeployments = []report.BundleDeployment{{Namespace: "x", Name: "a", State: report.Modified}, {Namespace: "x", Name: "ready", State: report.Ready},
			{Namespace: "y", Name: "$(reboot)", State: report.Unknown}, {Name: "release-only", State: report.Missing}}
	}), "name", printers.Options{})
	want := "bundledeployment.fleet.cattle.io/release-only\n-n x bundledeployment.fleet.cattle.io/a\n-n y 'bundledeployment.fleet.cattle.io/$(reboot)'\n"
	if got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
