// SPDX-License-Identifier: Apache-2.0

package report

import (
	"slices"
	"strings"
	"testing"
)

// TestSince checks that only findings whose changes are all recorded, and before the time, are hidden, on every cluster
// of the finding.
func TestSince(t *testing.T) {
	const limit, old, recent = "2026-01-02T03:04:05Z", "2026-01-02T03:04:04Z", "2026-01-02T04:04:05+01:00"
	deployment := func(cluster string, differences map[string][]string) BundleDeployment {
		bd := BundleDeployment{Namespace: "x", Name: "d", Cluster: cluster}
		for name, times := range differences {
			r := Resource{Ref: ref("ConfigMap", "x", name)}
			for _, at := range times {
				r.Differences = append(r.Differences, Difference{Path: ".data", Time: at})
			}
			bd.Resources = append(bd.Resources, r)
		}
		return bd
	}
	modified := func(name string, clusters ...string) Finding {
		f := Finding{Code: "FD104", Severity: Warning, Object: ref("ConfigMap", "x", name), Cluster: clusters[0],
			BundleDeployment: "x/d"}
		if len(clusters) > 1 {
			for _, c := range clusters {
				f.PerCluster = append(f.PerCluster, ClusterFinding{Cluster: c, BundleDeployment: "x/d"})
			}
		}
		return f
	}
	a := &Audit{BundleDeployments: []BundleDeployment{
		deployment("one", map[string][]string{"old": {old, old}, "recent": {old, recent}, "partly": {old, ""},
			"either": {"", recent}, "both": {old}, "unlike": {old}, "none": nil}),
		deployment("two", map[string][]string{"both": {old}, "unlike": {recent}}),
	}, Findings: []Finding{modified("old", "one"), modified("recent", "one"), modified("partly", "one"),
		modified("either", "one"), modified("both", "one", "two"), modified("unlike", "one", "two"),
		modified("none", "one"), modified("old", "two"), // the other cluster
		{Code: "FD101", Severity: Error, Object: ref("ConfigMap", "x", "old"), Cluster: "one", BundleDeployment: "x/d",
			AsOf: old},
		{Code: "FD609", Severity: Warning, Object: ref("ConfigMap", "x", "old"), Cluster: "one",
			BundleDeployment: "x/d"}}}
	a.countFindings()
	got := a.Filtered(Filter{Since: limit})
	var shown []string
	for _, f := range got.Findings {
		shown = append(shown, f.Code+" "+f.Object.Name+" "+f.Cluster)
	}
	want := []string{"FD104 recent one", "FD104 partly one", "FD104 either one", "FD104 unlike one", "FD104 none one",
		"FD104 old two", "FD101 old one"}
	if !slices.Equal(shown, want) {
		t.Errorf("%q, want %q", shown, want)
	}
	if got.Filter.Hidden != (FindingCounts{Warning: 3}) || got.Filter.String() != "--since="+limit {
		t.Errorf("filter %+v", got.Filter)
	}
	if len(got.Notes) != 1 || !strings.Contains(got.Notes[0], "4 findings") || len(a.Notes) > 0 {
		t.Errorf("notes %q", got.Notes)
	}
	if (&Filter{Since: limit}).Same(&Filter{Since: old}) {
		t.Error("filters with other times are the same")
	}
}
