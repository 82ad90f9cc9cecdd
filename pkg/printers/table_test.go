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
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/secret"
)

// closed is an empty report after a change by a test.
func closed(change func(*report.Audit)) *report.Audit {
	a := &report.Audit{}
	change(a)
	return finished(a)
}

// finished returns a report that a test made, with its totals and with hidden secrets.
func finished(a *report.Audit) *report.Audit {
	a.APIVersion, a.Kind, a.Summary = report.APIVersion, report.Kind,
		report.Summary{BundleDeployments: len(a.BundleDeployments)}
	for _, bd := range a.BundleDeployments {
		a.Summary.Counts = a.Summary.Counts.Plus(bd.Counts)
		slices.SortFunc(bd.Resources, func(x, y report.Resource) int { return x.Compare(y.Ref) })
	}
	for _, f := range a.Findings {
		*map[report.Severity]*int{report.Error: &a.Summary.Findings.Error, report.Warning: &a.Summary.Findings.Warning,
			report.Info: &a.Summary.Findings.Info}[f.Severity]++
	}
	slices.SortFunc(a.BundleDeployments, func(x, y report.BundleDeployment) int {
		return cmp.Or(cmp.Compare(x.Namespace, y.Namespace), cmp.Compare(x.Name, y.Name))
	})
	slices.SortFunc(a.Findings, func(x, y report.Finding) int {
		return cmp.Or(cmp.Compare(x.Code, y.Code), cmp.Compare(x.Cluster, y.Cluster), cmp.Compare(x.BundleDeployment,
			y.BundleDeployment),
			x.Object.Compare(y.Object), cmp.Compare(x.Message, y.Message))
	})
	return a.Redacted(&secret.Values{})
}

// tableOf returns the lines of the details of a report on a terminal of 100 columns.
func tableOf(t *testing.T, change func(*report.Audit)) []string {
	t.Helper()
	return strings.Split(show(t, detailed(closed(change)), "table", printers.Options{Width: 100}), "\n")
}

// detailed returns a report of which the user named a part: its details are shown.
func detailed(a *report.Audit) *report.Audit {
	a.Scope.Targets = []string{"gitrepo/apps"}
	return a
}

// words returns the lines with single blanks between their words.
func words(lines []string) []string {
	out := make([]string, len(lines))
	for i, line := range lines {
		out[i] = strings.Join(strings.Fields(line), " ")
	}
	return out
}

func ofCluster(cluster, name string) report.BundleDeployment {
	return report.BundleDeployment{Namespace: "x", Name: name, Cluster: cluster, State: report.Ready,
		Counts: report.Counts{Desired: 1, Ready: 1}}
}

// TestClusterLines checks that the name of a cluster is not shortened to the width of the column of names, and does not
// change it.
func TestClusterLines(t *testing.T) {
	long := "fleet-default/" + strings.Repeat("cluster-", 12) + "one"
	got := tableOf(t, func(a *report.Audit) {
		a.BundleDeployments = []report.BundleDeployment{ofCluster("fleet-default/downstream-production-one", "app"),
			ofCluster(long, "app"), ofCluster(long, "other")}
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
			t.Errorf("the end of the name is missing: %s", line)
		}
		if strings.HasPrefix(line, "  app ") {
			app = append(app, line)
		}
	}
	if len(app) != 2 || app[0] != app[1] || !strings.HasPrefix(app[0], "  app               1/1") {
		t.Errorf("rows: %q", app)
	}
}

// TestOneBundle checks that the table of one bundle on several clusters begins with the names of the clusters.
func TestOneBundle(t *testing.T) {
	got := words(tableOf(t, func(a *report.Audit) {
		a.BundleDeployments = []report.BundleDeployment{ofCluster("fleet-default/c00", "app"),
			ofCluster("fleet-default/c01", "app")}
	}))
	for _, line := range []string{"CLUSTER READY FLEET REPORTS", "fleet-default/c00 1/1 -", "fleet-default/c01 1/1 -"} {
		if !slices.Contains(got, line) {
			t.Errorf("no line %q in %q", line, got)
		}
	}
}

// TestLargeNumbers checks that names are shortened if the numbers need more columns.
func TestLargeNumbers(t *testing.T) {
	n := 10000
	got := tableOf(t, func(a *report.Audit) {
		bd := ofCluster("", strings.Repeat("name-", 10))
		bd.Counts, bd.Reported = report.Counts{Desired: n, Ready: n - 1, Missing: 1}, &report.Reported{DesiredReady: &n,
			Ready: &n}
		a.BundleDeployments = []report.BundleDeployment{bd}
	})
	for _, line := range got {
		if utf8.RuneCountInString(line) > 100 {
			t.Errorf("%d columns: %s", utf8.RuneCountInString(line), line)
		}
	}
}

// TestFleetReportsNothing checks that an empty status is shown as "-".
func TestFleetReportsNothing(t *testing.T) {
	for want, reported := range map[string]*report.Reported{"app 1/1 -": {},
		"app 1/1 WaitApplied": {State: "WaitApplied"}} {
		got := words(tableOf(t, func(a *report.Audit) {
			bd := ofCluster("", "app")
			bd.Reported = reported
			a.BundleDeployments = []report.BundleDeployment{bd}
		}))
		if !slices.Contains(got, want) {
			t.Errorf("no %q in %q", want, got)
		}
	}
}

// TestAggregates checks the table of aggregates: no empty column, no name that is too wide, and no aggregate without an
// evaluated deployment.
func TestAggregates(t *testing.T) {
	n := 5
	repo := func(name, state string) report.Aggregate {
		return report.Aggregate{Namespace: "fleet-default", Name: name, Actual: &report.Actual{BundleDeployments: 1,
			Counts: report.Counts{Desired: 5, Ready: 2}},
			Reported: &report.Reported{DesiredReady: &n, Ready: &n, State: state}}
	}
	unread := func(name string, ready int) report.Aggregate {
		out := repo(name, "Ready")
		out.Actual, out.Statuses = nil, &report.Reported{DesiredReady: &n, Ready: &ready}
		return out
	}
	withoutNumbers := func(name string) report.Aggregate {
		out := unread(name, 0)
		out.Statuses = &report.Reported{}
		return out
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
		"a state": {[]report.Aggregate{repo("apps", "Ready")}, report.NotReady,
			[]string{"AGGREGATE READY FLEET REPORTS STATE", "gitrepo fleet-default/apps 2/5 5/5 Ready"}},
		"no state": {[]report.Aggregate{repo("apps", "")}, report.NotReady, []string{"AGGREGATE READY FLEET REPORTS",
			"gitrepo fleet-default/apps 2/5 5/5"}},
		"no result": {[]report.Aggregate{repo("apps", "Ready")}, report.Unknown, nil},
		"not all were read": {[]report.Aggregate{unread("apps", 1), unread("equal", n)}, report.Unknown,
			[]string{"AGGREGATE READY STATUSES FLEET REPORTS STATE", "gitrepo fleet-default/apps ? 1/5 5/5 Ready"}},
		"no number of the statuses": {[]report.Aggregate{repo("apps", ""), withoutNumbers("old")}, report.NotReady,
			[]string{"AGGREGATE READY FLEET REPORTS", "gitrepo fleet-default/apps 2/5 5/5"}},
		"long": {[]report.Aggregate{repo(long, "Ready")}, report.NotReady,
			[]string{"AGGREGATE READY FLEET REPORTS STATE",
				"gitrepo fleet-default/repository-re…y-repository-repository-repository- 2/5 5/5 Ready"}},
	} {
		lines := tableOf(t, func(a *report.Audit) {
			a.GitRepos = tc.repos
			for _, r := range tc.repos {
				a.BundleDeployments = append(a.BundleDeployments, below(r.Name, tc.state))
			}
		})
		got := words(lines)
		var shown []string
		if i := slices.IndexFunc(got, func(s string) bool { return strings.HasPrefix(s, "AGGREGATE") }); i >= 0 {
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

// results checks the result of an audit: it is green only if everything was evaluated and nothing found.
func results(t *testing.T, p *people) {
	t.Helper()
	unread := func(n int) []report.BundleDeployment {
		out := make([]report.BundleDeployment, n)
		for i := range out {
			out[i] = report.BundleDeployment{Namespace: "x", Name: fmt.Sprint("unread-", i), State: report.Unknown}
		}
		return out
	}
	warning := report.Finding{Code: "FD607", Severity: report.Warning, Message: "no result"}
	info := report.Finding{Code: "FD207", Severity: report.Info}
	waiting := report.BundleDeployment{Namespace: "x", Name: "waiting", State: report.WaitApplied,
		Reason: "NoReleaseRecord"}
	partly := report.BundleDeployment{Namespace: "x", Name: "unread", State: report.NotReady,
		Counts: report.Counts{Desired: 2, Unknown: 2}}
	ready := ofCluster("", "app")
	var summaries strings.Builder
	for _, tc := range []struct {
		name     string
		bds      []report.BundleDeployment
		findings []report.Finding
		gaps     []report.Gap
		green    bool
	}{
		{name: "ready", bds: []report.BundleDeployment{ready}, green: true},
		{name: "none"},
		{name: "a gap", gaps: []report.Gap{{What: "x"}}},
		{name: "no result", bds: unread(6), findings: []report.Finding{warning}},
		{name: "one without a result", bds: append(unread(1), ready)},
		{name: "other states without a result", bds: append(unread(1), waiting, partly, ready)},
		{name: "some objects are unknown", bds: []report.BundleDeployment{{Namespace: "x", Name: "partly",
			State: report.Unknown, Counts: report.Counts{Desired: 3, Ready: 2, Unknown: 1}}}},
		{name: "waiting", bds: []report.BundleDeployment{{Namespace: "x", Name: "waiting", State: report.WaitApplied,
			Counts: report.Counts{Desired: 1, Ready: 1}}}},
		{name: "informational", bds: []report.BundleDeployment{ready}, findings: []report.Finding{info}, green: true},
		{name: "none, informational", findings: []report.Finding{info}},
	} {
		a := closed(func(a *report.Audit) { a.BundleDeployments, a.Findings, a.Gaps = tc.bds, tc.findings, tc.gaps })
		out := show(t, a, "table", printers.Options{})
		fmt.Fprintf(&summaries, "%s:\n%s\n", tc.name, resultOf(out))
		for line := range strings.Lines(out) {
			if n := utf8.RuneCountInString(line); n > 101 {
				t.Errorf("%s: %d columns: %s", tc.name, n, line)
			}
		}
		if green := showsGreen(show(t, a, "table", printers.Options{Colour: true})); green != tc.green {
			t.Errorf("%s: green %v, want %v", tc.name, green, tc.green)
		}
	}
	p.Add("results", summaries.String())
}

// TestHeadVersions checks that the head has the version of Fleet, or of the agent on a downstream cluster.
func TestHeadVersions(t *testing.T) {
	for want, v := range map[string]*report.FleetVersions{
		"Audit of snapshot x with Fleet v2":             {Controller: "v2", Agents: map[string]string{"a": "v1"}},
		"Audit of snapshot x with Fleet agent v1":       {Agents: map[string]string{"a": "v1", "b": "v1"}},
		"Audit of snapshot x with Fleet agents v1 / v2": {Agents: map[string]string{"a": "v2", "b": "v1"}},
		"Audit of snapshot x":                           {},
	} {
		got := tableOf(t, func(a *report.Audit) {
			a.Source = report.Source{Kind: "snapshot", Path: "x", FleetVersions: v}
		})[0]
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestRepeatedFold checks that a finding that more than three bundles have is shown once, with the names of the others.
func TestRepeatedFold(t *testing.T) {
	of := func(n int) func(*report.Audit) {
		return func(a *report.Audit) {
			for i := range n {
				name := fmt.Sprintf("blind-%d", i)
				a.BundleDeployments = append(a.BundleDeployments, report.BundleDeployment{Namespace: "x", Name: name,
					State: report.Unknown})
				a.Findings = append(a.Findings, report.Finding{Code: "FD607", Severity: report.Warning,
					BundleDeployment: "x/" + name,
					Message:          "no verdict on x/" + name, Remediation: "kubectl fleetdoctor audit --print-rbac"})
			}
			a.Findings = append(a.Findings, report.Finding{Code: "FD607", Severity: report.Warning,
				BundleDeployment: "x/blind-0", Message: "something else", Remediation: "another command"})
		}
	}
	few := show(t, detailed(closed(of(3))), "table", printers.Options{})
	if strings.Count(few, "no verdict on") != 3 || strings.Contains(few, "more") {
		t.Errorf("of three:\n%s", few)
	}
	many := show(t, detailed(closed(of(5))), "table", printers.Options{})
	for s, want := range map[string]int{"no verdict on": 1,
		"the same for 4 more: x/blind-1, x/blind-2, x/blind-3, x/blind-4": 1,
		"→ kubectl fleetdoctor audit --print-rbac":                        1, "something else": 1} {
		if n := strings.Count(many, s); n != want {
			t.Errorf("of five, %q is shown %d times, want %d:\n%s", s, n, want, many)
		}
	}
	if wide := show(t, closed(of(5)), "wide", printers.Options{}); strings.Count(wide, "no verdict on") != 5 ||
		strings.Contains(wide, "more") {
		t.Errorf("the wide table:\n%s", wide)
	}
}

// TestNames checks that -o name prints arguments of kubectl, also for names that contain commands of a shell.
func TestNames(t *testing.T) {
	got := show(t, closed(func(a *report.Audit) {
		a.BundleDeployments = []report.BundleDeployment{{Namespace: "x", Name: "a", State: report.Modified},
			{Namespace: "x", Name: "ready", State: report.Ready},
			{Namespace: "y", Name: "$(reboot)", State: report.Unknown}, {Name: "release-only", State: report.Missing},
			{Namespace: "z", Name: "elsewhere", State: report.Unknown, Reason: clusterNotRead,
				Reported: &report.Reported{State: "Ready"}},
			{Namespace: "z", Name: "modified", State: report.Unknown, Reason: clusterNotRead,
				Reported: &report.Reported{State: "Modified"}},
			{Namespace: "z", Name: "warned", State: report.Ready}}
		a.Findings = []report.Finding{{Code: "FD401", Severity: report.Warning, BundleDeployment: "z/warned"}}
	}), "name", printers.Options{})
	want := "bundledeployment.fleet.cattle.io/release-only\n-n x bundledeployment.fleet.cattle.io/a\n-n y " +
		"'bundledeployment.fleet.cattle.io/$(reboot)'\n-n z bundledeployment.fleet.cattle.io/modified\n-n z " +
		"bundledeployment.fleet.cattle.io/warned\n"
	if got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
