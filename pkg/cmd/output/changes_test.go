// SPDX-License-Identifier: Apache-2.0

package output

import (
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

var theme = object.Ref{APIVersion: "v1", Kind: "ConfigMap", Namespace: "apps", Name: "theme"}

// watchModified is a report of a deployment that was changed, one that is well, and one on a cluster that is not read.
func watchModified() *report.Audit {
	return &report.Audit{
		BundleDeployments: []report.BundleDeployment{
			{Namespace: "x", Name: "app", Cluster: "c", State: report.Modified,
				Resources: []report.Resource{{Ref: theme, State: report.Modified}}},
			{Namespace: "x", Name: "well", Cluster: "c", State: report.Ready},
			{Namespace: "y", Name: "app", Cluster: "d", State: report.Unknown, Reason: "ClusterNotRead",
				Reported: &report.Reported{State: "Ready"}},
		},
		Findings: []report.Finding{{Code: "FD104", Severity: report.Warning, Cluster: "c", BundleDeployment: "x/app",
			Object: theme, Message: "theme differs"}},
		Summary: report.Summary{BundleDeployments: 3, Counts: report.Counts{Desired: 5, Ready: 4},
			Findings: report.FindingCounts{Warning: 1}},
	}
}

// withoutIDs replaces the identities of findings, which are computed.
func withoutIDs(lines []string) []string {
	for i, line := range lines {
		lines[i] = regexp.MustCompile(`(FD\d+)-[0-9a-f]+`).ReplaceAllString(line, "$1-ID")
	}
	return lines
}

// TestChanges checks the lines of changes. A finding about something that could not be read is never resolved.
func TestChanges(t *testing.T) {
	gap := report.Gap{What: "listing ConfigMaps", Reason: "Forbidden", Effect: "they are Unknown"}
	for name, tc := range map[string]struct {
		before, after func(*report.Audit)
		want          []string
	}{
		"nothing": {},
		"resolved": {after: func(a *report.Audit) {
			a.BundleDeployments[0].State, a.BundleDeployments[0].Resources[0].State, a.Findings = report.Ready,
				report.Ready, nil
		}, want: []string{"bundledeployment x/app Modified -> Ready (cluster c)",
			"finding FD104-ID warning -> resolved: theme differs (cluster c)"}},
		"another finding": {after: func(a *report.Audit) {
			a.Findings = append(a.Findings, report.Finding{Code: "FD101", Severity: report.Error,
				Message: "theme is missing"})
		}, want: []string{"finding FD101-ID error: theme is missing"}},
		"another severity": {after: func(a *report.Audit) { a.Findings[0].Severity = report.Error },
			want: []string{"finding FD104-ID warning -> error: theme differs (cluster c)"}},
		"resolved on one of two clusters": {before: func(a *report.Audit) {
			a.Findings[0].Clusters = []string{"c", "d"}
		},
			want: []string{"finding FD104-ID warning -> resolved: theme differs (cluster d)"}},
		"a deployment of a downstream cluster has no result": {before: func(a *report.Audit) {
			a.BundleDeployments[0].Namespace, a.Findings[0].BundleDeployment = "", "app"
		},
			after: func(a *report.Audit) {
				a.BundleDeployments[0].Namespace, a.Findings = "", nil
				bd := &a.BundleDeployments[0]
				bd.State, bd.Reason, bd.Resources = report.Unknown, "RecordUnreadable", nil
			},
			want: []string{"bundledeployment app Modified -> Unknown (RecordUnreadable) (cluster c)",
				"finding FD104-ID warning -> unknown (it could not be read): theme differs (cluster c)"}},
		"the object cannot be read": {after: func(a *report.Audit) {
			a.BundleDeployments[0].State, a.BundleDeployments[0].Resources[0].State, a.Findings = report.NotReady,
				report.Unknown, nil
		}, want: []string{"bundledeployment x/app Modified -> NotReady (cluster c)",
			"finding FD104-ID warning -> unknown (it could not be read): theme differs (cluster c)"}},
		"the deployment has no result": {after: func(a *report.Audit) {
			bd := &a.BundleDeployments[0]
			bd.State, bd.Reason, bd.Resources, a.Findings = report.Unknown, "Forbidden", nil, nil
		}, want: []string{"bundledeployment x/app Modified -> Unknown (Forbidden) (cluster c)",
			"finding FD104-ID warning -> unknown (it could not be read): theme differs (cluster c)"}},
		"something else cannot be read": {after: func(a *report.Audit) { a.Findings, a.Gaps = nil, []report.Gap{gap} },
			want: []string{"not read: listing ConfigMaps: Forbidden",
				"finding FD104-ID warning -> unknown (it could not be read): theme differs (cluster c)"}},
		"it is read again": {before: func(a *report.Audit) { a.Gaps = []report.Gap{gap} },
			want: []string{"read again: listing ConfigMaps"}},
		"a new deployment, and one less": {after: func(a *report.Audit) { a.BundleDeployments[1].Name = "new" },
			want: []string{"bundledeployment x/new Ready (cluster c)",
				"bundledeployment x/well Ready -> deleted (cluster c)"}},
		"a deployment that cannot be read": {after: func(a *report.Audit) {
			a.BundleDeployments, a.Gaps = a.BundleDeployments[:2], []report.Gap{gap}
		},
			want: []string{"not read: listing ConfigMaps: Forbidden",
				"bundledeployment y/app Unknown (Fleet reports Ready) -> unknown (it could not be read) (cluster d)"}},
		"one of several clusters": {
			before: func(a *report.Audit) {
				a.Findings[0].Clusters, a.Findings[0].IDs = []string{"c", "d", "e"}, []string{"FD104-1", "FD104-2",
					"FD104-3"}
			}, after: func(a *report.Audit) {
				f := &a.Findings[0]
				f.ID, f.Cluster, f.Clusters, f.IDs = "FD104-2", "d", []string{"d", "e", "f"},
					[]string{"FD104-2", "FD104-3", "FD104-4"}
				a.BundleDeployments[0].State, a.BundleDeployments[0].Resources[0].State = report.Ready, report.Ready
			}, want: []string{"bundledeployment x/app Modified -> Ready (cluster c)",
				"finding FD104-ID warning: theme differs (cluster f)",
				"finding FD104-ID warning -> resolved: theme differs (cluster c)"}},
		"one cluster": {before: func(a *report.Audit) { a.BundleDeployments = a.BundleDeployments[:2] },
			after: func(a *report.Audit) { a.BundleDeployments, a.Findings = a.BundleDeployments[:2], nil },
			want:  []string{"finding FD104-ID warning -> resolved: theme differs"}},
		"another detail of a gap": {before: func(a *report.Audit) { a.Gaps = []report.Gap{gap} },
			after: func(a *report.Audit) {
				a.Findings, a.Gaps = nil, []report.Gap{{What: gap.What, Reason: gap.Reason, Detail: "after 1.3s",
					Effect: gap.Effect}}
			}, want: []string{"finding FD104-ID warning -> resolved: theme differs (cluster c)"}},
		"another state in a status": {after: func(a *report.Audit) {
			a.BundleDeployments[2].Reported = &report.Reported{State: "ErrApplied"}
		},
			want: []string{"bundledeployment y/app Unknown (Fleet reports Ready) -> Unknown (Fleet reports " +
				"ErrApplied) (cluster d)"}},
	} {
		before, after := watchModified(), watchModified()
		if tc.before != nil {
			tc.before(before)
		}
		if tc.after != nil {
			tc.after(after)
		}
		if diff := cmp.Diff(tc.want, withoutIDs(ListChanges(before, after))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	first := withoutIDs(ListChanges(nil, watchModified()))
	if diff := cmp.Diff([]string{"bundledeployment x/app Modified (cluster c)",
		"finding FD104-ID warning: theme differs (cluster c)"}, first[1:]); diff != "" || !strings.HasPrefix(first[0],
		"audit: objects ready: 4/5, bundle deployments: 3, without a result: 1,") {
		t.Errorf("the first round: %q (-want +got):\n%s", first[0], diff)
	}
}
