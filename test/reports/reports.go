// SPDX-License-Identifier: Apache-2.0

// Package reports makes reports of audits for the tests of formats.
package reports

import (
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/audit"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source/snapshot"
	"github.com/fleetdoctor/kubectl-fleetdoctor/test/cases"
)

// Sample audits a sample cluster of the project: "sick" or "clean".
func Sample(t *testing.T, name string) *report.Audit {
	t.Helper()
	_, file, _, _ := runtime.Caller(0)
	s, err := snapshot.Open(t.Context(), []string{filepath.Join(filepath.Dir(file), "..", "testdata", name)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	found, err := audit.Run(t.Context(), s, audit.Options{Commands: cases.Commands, Version: "test"})
	if err != nil {
		t.Fatal(err)
	}
	a := found.Report()
	a.Source.Path = "test/testdata/" + name
	return a
}

// Unread is the report of an audit that could not read everything: it has a gap, an Unknown object, a bundle deployment
// without a result, and one on a cluster that was not read.
func Unread() *report.Audit {
	ref := func(name string) object.Ref {
		return object.Ref{APIVersion: "v1", Kind: "ConfigMap", Namespace: "web", Name: name}
	}
	const local = "fleet-local/local"
	return &report.Audit{
		APIVersion: report.APIVersion, Kind: report.Kind, TakenAt: "2026-01-02T03:04:05Z",
		Tool:    report.Tool{Version: "test"},
		Source:  report.Source{Kind: "cluster", Context: "test"},
		Summary: report.Summary{BundleDeployments: 3, Counts: report.Counts{Desired: 2, Ready: 1, Unknown: 1}},
		BundleDeployments: []report.BundleDeployment{
			{Namespace: "cluster-local", Name: "web", Cluster: local, Bundle: "fleet-local/web", State: report.Unknown,
				Counts: report.Counts{Desired: 2, Ready: 1, Unknown: 1},
				Resources: []report.Resource{{Ref: ref("read"), State: report.Ready},
					{Ref: ref("hidden"), State: report.Unknown, Reason: "Forbidden",
						Message: "configmaps is forbidden"}}},
			{Namespace: "cluster-local", Name: "api", Cluster: local, Bundle: "fleet-local/api", State: report.Unknown,
				Reason: "NoReleaseRecord"},
			{Namespace: "cluster-edge", Name: "web", Cluster: "fleet-default/edge", Bundle: "fleet-default/web",
				State: report.Unknown, Reason: "ClusterNotRead"},
		},
		Findings: []report.Finding{},
		Gaps: []report.Gap{{What: "listing ConfigMaps", Reason: "Forbidden",
			Effect: "objects of this kind are Unknown"}},
	}
}

// LeftOut is a report with a note that does not list three findings: two that a filter hides, and one that is ignored.
func LeftOut() *report.Audit {
	a := Unread()
	object := a.BundleDeployments[0].Resources[0].Ref
	a.Ignored = []report.Ignored{{ID: "FD104-1", Code: "FD104", Severity: report.Warning, Object: object,
		Cluster: "fleet-local/local", BundleDeployment: "cluster-local/web",
		Reason: "it is changed by hand", Expires: "2026-12-31"}}
	a.Summary.Ignored = 1
	a.IgnoreFile, a.Notes = "team/ignored.yaml", []string{"this is a note"}
	a.Filter = &report.Filter{Severity: report.Error, Hidden: report.FindingCounts{Warning: 1, Info: 1}}
	return a
}

// Full returns an invented report that has every part: bundle deployments without a result, stale and partial
// aggregates, gaps, notes, remedies of every form, and differences of texts with many lines, of lists, of Secrets and
// without one side.
func Full() *report.Audit {
	n := func(i int) *int { return &i }
	actual := func(all, ready int, c report.Counts) *report.Actual {
		return &report.Actual{BundleDeployments: all, ReadyBundleDeployments: ready, Counts: c}
	}
	shop := object.Ref{APIVersion: "example.com/v1", Kind: "Shop", Namespace: "web", Name: "größe-店"}
	counts := report.Counts{Desired: 12, Ready: 5, Missing: 2, Unowned: 1, Modified: 1, NotReady: 1, Unknown: 2,
		Orphaned: 1}
	resource := func(state report.State, name, reason, message string) report.Resource {
		return report.Resource{Ref: object.Ref{APIVersion: "v1", Kind: "ConfigMap", Namespace: "web", Name: name},
			State: state, Reason: reason, Message: message}
	}
	owned := resource(report.Unowned, "taken", "ForeignOwner", "")
	owned.Owner = &report.Owner{SetID: "default-other", Release: "web/other"}
	a := &report.Audit{
		APIVersion: report.APIVersion, Kind: report.Kind, TakenAt: "2026-01-02T03:04:05Z",
		Tool: report.Tool{Version: "test"},
		Source: report.Source{Kind: "cluster", Context: "admin@production", Server: "https://cluster.example.com:6443",
			KubernetesVersion: "v1.36.3",
			FleetVersions:     &report.FleetVersions{Controller: "v0.16.1"}},
		Scope: report.Scope{Namespaces: []string{"fleet-default"}},
		GitRepos: []report.Aggregate{{Namespace: "fleet-default", Name: "apps", Actual: actual(3, 1, counts),
			Reported: &report.Reported{DesiredReady: n(20), Ready: n(20), State: "Ready"}},
			{Namespace: "fleet-default", Name: "fine", Actual: actual(1, 1, report.Counts{Desired: 4, Ready: 4}),
				Reported: &report.Reported{DesiredReady: n(4), Ready: n(4), State: "Ready"}}},
		Clusters: []report.Aggregate{
			{Namespace: "fleet-default", Name: "downstream",
				Actual: actual(2, 1, counts.Plus(report.Counts{Desired: 4, Ready: 4})), Findings: []string{"FD205"},
				Reported: &report.Reported{DesiredReady: n(24), Ready: n(24)}},
			{Namespace: "fleet-default", Name: "unread",
				Statuses: &report.Reported{DesiredReady: n(7), Ready: n(2), Stale: true},
				Reported: &report.Reported{DesiredReady: n(7), Ready: n(7), Stale: true}}},
		BundleDeployments: []report.BundleDeployment{
			{Namespace: "cluster-a", Name: "apps-web", Cluster: "fleet-default/downstream",
				Bundle: "fleet-default/apps-web", GitRepo: "fleet-default/apps",
				Release: "web/apps-web:12", State: report.Modified, Counts: counts,
				Reported: &report.Reported{State: "Ready", DesiredReady: n(20), Ready: n(20)},
				Resources: []report.Resource{resource(report.Missing, "gone", "", ""), owned,
					resource(report.Unknown, "hidden", "Forbidden", "user reader may not get it"),
					differing(shop)}},
			{Namespace: "cluster-a", Name: "fine", Cluster: "fleet-default/downstream", Bundle: "fleet-default/fine",
				GitRepo: "fleet-default/fine", State: report.Ready,
				Counts: report.Counts{Desired: 4, Ready: 4}, Reported: &report.Reported{State: "Ready",
					DesiredReady: n(4), Ready: n(4)}, Resources: []report.Resource{}},
			{Namespace: "cluster-b", Name: "apps-web", Cluster: "fleet-default/unread",
				Bundle: "fleet-default/apps-web", GitRepo: "fleet-default/apps", State: report.Unknown,
				Reason: "ClusterNotRead", Reported: &report.Reported{State: "Ready", DesiredReady: n(7), Ready: n(7),
					Stale: true}, Resources: []report.Resource{}}},
		Gaps: []report.Gap{{What: "listing Shop objects in namespace web", Reason: "Forbidden",
			Detail: "user reader may not list it", Effect: "they are Unknown"},
			{Cluster: "edge-1", What: "opening the cluster", Reason: "ReadFailed",
				Effect: "its bundle deployments have no result"}},
		Notes: []string{"the object configmap a/b was found more than once"},
		Ignored: []report.Ignored{{ID: "FD110-1", Code: "FD110", Severity: report.Warning,
			Object: object.Ref{APIVersion: "v1", Kind: "Namespace", Name: "web"},
			Reason: "the labels are set by another team", Expires: "2026-12-31"}},
	}
	addFindings(a, shop)
	return finished(a)
}

// addFindings adds findings with remedies of every form. shop is an object that differs.
func addFindings(a *report.Audit, shop object.Ref) {
	add(a, report.Finding{Code: "FD101", Severity: report.Error, Title: "a desired object is not on the cluster",
		Object:   a.BundleDeployments[0].Resources[0].Ref,
		Message:  "configmap web/gone is not on the cluster",
		Clusters: []string{"fleet-default/downstream", "fleet-default/edge-1", "fleet-default/edge-2"},
		Remedies: []report.Remedy{
			{
				Text: "deploys every bundle of GitRepo fleet-default/apps again, on every cluster",
				URL:  "https://example.com/findings.md#fd101",
				Command: "kubectl -n fleet-default patch gitrepo apps --type=merge " +
					`-p '{"spec":{"forceSyncGeneration":1}}'`,
			},
			{Text: "or add the object to Git"},
		}})
	add(a, report.Finding{Code: "FD104", Severity: report.Warning, Title: "desired fields differ on the cluster",
		Object: shop, Message: "shop.example.com web/größe-店 differs in .spec.list",
		Evidence:    []string{"the object was changed twice"},
		Remediation: "kubectl fleetdoctor audit bundle/apps-web -n fleet-default --diff",
		AsOf:        "2026-01-02T03:00:00Z"})
	add(a, unowned(shop))
	add(a, report.Finding{Code: "FD109", Severity: report.Info, Title: "the object carries a copied hash", Object: shop,
		Message: "for information", Remediation: "nothing needs to be done"})
	a.Findings = append(a.Findings, report.Finding{ID: "FD106-1", Code: "FD106", Severity: report.Warning,
		Title: "an object was abandoned", Message: `configmap web/left has ownership metadata of set "default-gone"`})
}

// differing is an object with differences of every form.
func differing(ref object.Ref) report.Resource {
	page := strings.Repeat("a line that is the same\n", 30)
	return report.Resource{Ref: ref, State: report.Modified, Differences: []report.Difference{
		{Path: `.data["page.html"]`, Desired: evaluate.Plain(page + "one\n" + page),
			Live: evaluate.Plain(page + "two\n" + page), Manager: "kubectl-edit", Operation: "Update",
			Time: "2026-01-02T03:00:00Z"},
		{Path: ".spec.list", Desired: evaluate.Plain([]any{"a", int64(1)}),
			Live: evaluate.Plain([]any{int64(1), "a"}), Note: "the order differs"},
		{Path: ".spec.password", Desired: evaluate.Masked("***1"), Live: evaluate.Masked("***2"),
			Manager: "größe"},
		{Path: ".spec.count", Desired: evaluate.Plain(int64(1)), Live: evaluate.Plain("1"),
			Release: evaluate.Plain(int64(2))},
		{Path: ".spec.gone", Desired: evaluate.Plain(true)}}}
}

// unowned is a finding on two clusters, with a command for each of them.
func unowned(ref object.Ref) report.Finding {
	on := func(cluster string) report.ClusterFinding {
		return report.ClusterFinding{Cluster: "fleet-default/" + cluster, ID: "FD102-" + cluster,
			BundleDeployment: "cluster-" + cluster + "/apps-web",
			Evidence:         []string{"the label is missing", "changed on " + cluster},
			Remedies: []report.Remedy{{Command: "kubectl fleetdoctor adopt --context " + cluster,
				Text: "shows what changes"}}}
	}
	first, second := on("downstream"), on("edge-1")
	return report.Finding{Code: "FD102", Severity: report.Error, Title: "an object is not owned by its bundle",
		Object:  ref,
		Message: "shop.example.com web/größe-店 exists", PerCluster: []report.ClusterFinding{first, second},
		Clusters: []string{first.Cluster, second.Cluster}, IDs: []string{first.ID, second.ID},
		Evidence: first.Evidence, Remedies: first.Remedies, Remediation: first.Remedies[0].Command}
}

func add(a *report.Audit, f report.Finding) {
	bd := a.BundleDeployments[0]
	f.ID, f.Cluster, f.BundleDeployment = fmt.Sprintf("%s-%d", f.Code, len(a.Findings)), bd.Cluster,
		bd.Namespace+"/"+bd.Name
	f.Bundle, f.GitRepo = bd.Bundle, bd.GitRepo
	a.Findings = append(a.Findings, f)
}

// finished fills in the totals.
func finished(a *report.Audit) *report.Audit {
	a.Summary = report.Summary{BundleDeployments: len(a.BundleDeployments), Ignored: len(a.Ignored)}
	for _, bd := range a.BundleDeployments {
		a.Summary.Counts = a.Summary.Counts.Plus(bd.Counts)
	}
	for _, f := range a.Findings {
		switch f.Severity {
		case report.Error:
			a.Summary.Findings.Error++
		case report.Warning:
			a.Summary.Findings.Warning++
		default:
			a.Summary.Findings.Info++
		}
	}
	return a
}

// Many returns a report with n findings of two codes on fifty of a hundred clusters.
func Many(n int) *report.Audit {
	a := &report.Audit{APIVersion: report.APIVersion, Kind: report.Kind, Tool: report.Tool{Version: "test"},
		Source: report.Source{Kind: "snapshot", Path: "many"}, Gaps: []report.Gap{}}
	for i := range 50 {
		a.BundleDeployments = append(a.BundleDeployments, report.BundleDeployment{Namespace: fmt.Sprintf("cluster-%02d",
			i), Name: "apps", Cluster: fmt.Sprintf("fleet-default/edge-%02d", i),
			Bundle: "fleet-default/apps", State: report.Modified})
	}
	for i := range n {
		bd := &a.BundleDeployments[i%50]
		ref := object.Ref{APIVersion: "v1", Kind: "ConfigMap", Namespace: "web", Name: fmt.Sprintf("theme-%05d", i)}
		f := report.Finding{ID: fmt.Sprintf("FD101-%d", i), Code: "FD101", Severity: report.Error,
			Title: "a desired object is not on the cluster", Object: ref, Cluster: bd.Cluster,
			BundleDeployment: bd.Namespace + "/" + bd.Name, Bundle: bd.Bundle, Message: ref.Key().String() +
				" is not on the cluster", Evidence: []string{"it is in the manifest of release web/apps:1"},
			Remediation: "kubectl fleetdoctor preflight bundle/apps -n fleet-default"}
		if i%5 == 0 {
			f.ID, f.Code, f.Severity = fmt.Sprintf("FD110-%d", i), "FD110", report.Warning
		}
		bd.Counts.Desired, bd.Counts.Missing = bd.Counts.Desired+1, bd.Counts.Missing+1
		bd.Resources = append(bd.Resources, report.Resource{Ref: ref, State: report.Missing})
		a.Findings = append(a.Findings, f)
	}
	for i := range a.BundleDeployments {
		bd := &a.BundleDeployments[i]
		zero, well := 0, report.Counts{Desired: 3, Ready: 3}
		a.Clusters = append(a.Clusters, report.Aggregate{Namespace: "fleet-default", Name: fmt.Sprintf("edge-%02d", i),
			Actual:   &report.Actual{BundleDeployments: 1, Counts: bd.Counts},
			Reported: &report.Reported{DesiredReady: &bd.Counts.Desired, Ready: &zero}},
			report.Aggregate{Namespace: "fleet-default", Name: fmt.Sprintf("well-%02d", i),
				Actual:   &report.Actual{BundleDeployments: 1, ReadyBundleDeployments: 1, Counts: well},
				Reported: &report.Reported{DesiredReady: &well.Desired, Ready: &well.Ready}})
	}
	return finished(a)
}
