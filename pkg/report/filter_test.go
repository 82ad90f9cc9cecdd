// SPDX-License-Identifier: Apache-2.0

package report

import (
	"slices"
	"testing"
)

// filterable is a report with a finding of each severity, a deployment without a result, and one with a damaged release
// record that has a result.
func filterable() *Audit {
	a := &Audit{
		BundleDeployments: []BundleDeployment{
			{Namespace: "x", Name: "read", State: Modified, Counts: Counts{Desired: 2, Ready: 1, Modified: 1}},
			{Namespace: "x", Name: "pruned", State: Unknown, Reason: "NoReleaseRecord"},
			{Namespace: "x", Name: "forbidden", State: Unknown, Reason: "Forbidden"},
		},
		GitRepos: []Aggregate{{Namespace: "x", Name: "apps", Findings: []string{"FD203", "FD605"}}},
		Findings: []Finding{
			{Code: "FD101", Severity: Error, BundleDeployment: "x/read"},
			{Code: "FD104", Severity: Warning, BundleDeployment: "x/read"},
			{Code: "FD108", Severity: Info, BundleDeployment: "x/read"},
			{Code: "FD203", Severity: Warning, Object: ref("GitRepo", "x", "apps")},
			{Code: "FD602", Severity: Error, BundleDeployment: "x/read"},
			{Code: "FD602", Severity: Error, BundleDeployment: "x/pruned"},
			{Code: "FD605", Severity: Warning, Object: ref("GitRepo", "x", "apps")},
			{Code: "FD607", Severity: Warning, BundleDeployment: "x/forbidden"},
		},
	}
	a.countFindings()
	return a
}

// TestFiltered checks which findings a filter leaves out, that it counts them, and that what has no result is never
// hidden.
func TestFiltered(t *testing.T) {
	for _, tc := range []struct {
		filter  Filter
		want    []string // code and bundle deployment
		repo    []string
		summary FindingCounts
		hidden  FindingCounts
	}{
		{Filter{Severity: Error}, []string{"FD101 x/read", "FD602 x/read", "FD602 x/pruned", "FD607 x/forbidden"}, nil,
			FindingCounts{3, 1, 0}, FindingCounts{0, 3, 1}},
		{Filter{Severity: Info}, []string{"FD101 x/read", "FD104 x/read", "FD108 x/read", "FD203 ", "FD602 x/read",
			"FD602 x/pruned", "FD605 ", "FD607 x/forbidden"},
			[]string{"FD203", "FD605"}, FindingCounts{3, 4, 1}, FindingCounts{}},
		{Filter{Codes: []string{"FD203"}}, []string{"FD203 ", "FD602 x/pruned", "FD607 x/forbidden"}, []string{"FD203"},
			FindingCounts{1, 2, 0}, FindingCounts{2, 2, 1}},
		{Filter{Severity: Error, Codes: []string{"FD104"}}, []string{"FD602 x/pruned", "FD607 x/forbidden"}, nil,
			FindingCounts{1, 1, 0}, FindingCounts{2, 3, 1}},
	} {
		a := filterable()
		got := a.Filtered(tc.filter)
		var shown []string
		for _, f := range got.Findings {
			shown = append(shown, f.Code+" "+f.BundleDeployment)
		}
		if !slices.Equal(shown, tc.want) || !slices.Equal(got.GitRepos[0].Findings, tc.repo) {
			t.Errorf("%+v: findings %q, GitRepo %q", tc.filter, shown, got.GitRepos[0].Findings)
		}
		if got.Summary.Findings != tc.summary || got.Filter == nil || got.Filter.Hidden != tc.hidden {
			t.Errorf("%+v: summary %+v, filter %+v", tc.filter, got.Summary.Findings, got.Filter)
		}
		if got.Summary.Counts != a.Summary.Counts || len(got.BundleDeployments) != 3 {
			t.Errorf("%+v changes the counts of objects: %+v", tc.filter, got.Summary)
		}
		if len(a.Findings) != 8 || a.Filter != nil || len(a.GitRepos[0].Findings) != 2 {
			t.Errorf("%+v changes its input", tc.filter)
		}
	}
	if a := filterable(); a.Filtered(Filter{}) != a {
		t.Error("without a filter, the report is another one")
	}
}
