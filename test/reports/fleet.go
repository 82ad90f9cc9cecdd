// SPDX-License-Identifier: Apache-2.0

package reports

import (
	"fmt"
	"slices"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

// fleetStates are the states of the bundle deployments of Fleet in turn: three of ten are not ready.
var fleetStates = []report.State{report.Ready, report.Modified, report.Ready, report.Ready, report.NotReady,
	report.Ready, report.ErrApplied, report.Ready, report.Ready, report.Ready}

// Fleet returns the report of a management cluster with so many bundles, each on every second cluster. The first
// clusters were read.
func Fleet(bundles, clusters, read int) *report.Audit {
	a := &report.Audit{APIVersion: report.APIVersion, Kind: report.Kind, TakenAt: "2026-01-02T03:04:05Z",
		Tool: report.Tool{Version: "test"}, Source: report.Source{Kind: "cluster", Context: "management",
			KubernetesVersion: "v1.36.3", FleetVersions: &report.FleetVersions{Controller: "v0.16.1"}}}
	for c := range read {
		a.Source.Clusters = append(a.Source.Clusters, report.ClusterSource{Name: clusterName(c)})
	}
	for c := range clusters {
		for b := range bundles {
			if (b+c)%2 == 0 {
				deploy(a, b, c, c < read)
			}
		}
		total(a, c, c < read)
	}
	return finished(a).Merged()
}

func clusterName(c int) string { return fmt.Sprintf("fleet-default/edge-%02d", c) }

// deploy adds a bundle deployment of five objects, with the findings of its state.
func deploy(a *report.Audit, b, c int, read bool) {
	n := func(i int) *int { return &i }
	state := fleetStates[(b*7+c*3/2)%len(fleetStates)]
	bundle := fmt.Sprintf("fleet-default/repo%d-app%03d", b%10, b)
	bd := report.BundleDeployment{Namespace: fmt.Sprintf("cluster-edge-%02d", c), Name: bundle[len("fleet-default/"):],
		Cluster: clusterName(c), Bundle: bundle, GitRepo: fmt.Sprintf("fleet-default/repo%d", b%10), State: state,
		Counts:   report.Counts{Desired: 5, Ready: 5},
		Reported: &report.Reported{State: string(state), DesiredReady: n(5), Ready: n(5)}}
	deployment := object.Ref{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "web", Name: "frontend"}
	finding := func(code string, severity report.Severity, urgency report.Urgency, on object.Ref, message string) {
		a.Findings = append(a.Findings, report.Finding{ID: fmt.Sprintf("%s-%d-%d", code, b, c), Code: code,
			Severity: severity, Urgency: urgency, Title: "a problem of " + code, Object: on, Cluster: bd.Cluster,
			BundleDeployment: bd.Key(), Bundle: bundle, GitRepo: bd.GitRepo, Message: message,
			Evidence: []string{"it was read at 2026-01-02T03:00:00Z on cluster " + bd.Cluster},
			Remedies: []report.Remedy{{
				Command: "kubectl fleetdoctor why bundle/" + bd.Name + " --cluster " + bd.Cluster,
				Text:    "shows the root cause"}, {Text: "correct the bundle in Git"}}})
	}
	self := object.Ref{APIVersion: "fleet.cattle.io/v1alpha1", Kind: "BundleDeployment", Namespace: bd.Namespace,
		Name: bd.Name}
	resource := report.Resource{Ref: deployment, State: state}
	switch {
	case state == report.ErrApplied:
		bd.Counts.Ready, bd.Counts.Missing, resource.State = 4, 1, report.Missing
		finding("FD604", report.Error, "now", self,
			bd.Key()+" is not applied: Helm reports that the chart has no values")
	case !read:
	case state == report.Modified:
		bd.Counts.Ready, bd.Counts.Modified = 4, 1
		resource.Differences = []report.Difference{{Path: ".spec.replicas", Desired: evaluate.Plain(int64(2)),
			Live: evaluate.Plain(int64(3)), Manager: "kubectl-edit", Operation: "Update", Time: "2026-01-02T03:00:00Z"}}
		finding("FD104", report.Warning, "now", deployment, deployment.Key().String()+" differs in .spec.replicas")
	case state == report.NotReady:
		bd.Counts.Ready, bd.Counts.NotReady = 4, 1
		finding("FD107", report.Warning, "now", deployment,
			fmt.Sprintf("%s is not ready: %d of 3 replicas are available",
				deployment.Key(), c%3))
	}
	if resource.State != report.Ready {
		bd.Resources = append(bd.Resources, resource)
	}
	if !read {
		bd.State, bd.Reason, bd.Counts, bd.Resources = report.Unknown, "ClusterNotRead", report.Counts{}, nil
	}
	a.BundleDeployments = append(a.BundleDeployments, bd)
}

// total adds a cluster, with a finding about its numbers that follows from the first finding on it.
func total(a *report.Audit, c int, read bool) {
	reported, counts, all, ready := 0, report.Counts{}, 0, 0
	for _, bd := range a.BundleDeployments {
		if bd.Cluster != clusterName(c) {
			continue
		}
		all, counts, reported = all+1, counts.Plus(bd.Counts), reported+5
		if bd.State == report.Ready {
			ready++
		}
	}
	x := report.Aggregate{Namespace: "fleet-default", Name: clusterName(c)[len("fleet-default/"):],
		Reported: &report.Reported{DesiredReady: &reported, Ready: &reported, AsOf: "2026-01-02T03:00:00Z"}}
	if read {
		x.Actual = &report.Actual{BundleDeployments: all, ReadyBundleDeployments: ready, Counts: counts}
	}
	a.Clusters = append(a.Clusters, x)
	i := slices.IndexFunc(a.Findings, func(f report.Finding) bool { return f.Cluster == clusterName(c) })
	if !read || i < 0 {
		return
	}
	cause := &a.Findings[i]
	a.Findings = append(a.Findings, report.Finding{ID: fmt.Sprintf("FD205-%d", c), Code: "FD205", Urgency: "status",
		Severity: report.Warning, Title: "a cluster reports wrong numbers", Cluster: clusterName(c),
		Object: object.Ref{APIVersion: "fleet.cattle.io/v1alpha1", Kind: "Cluster", Namespace: x.Namespace,
			Name: x.Name},
		Message:  fmt.Sprintf("cluster %s reports %d/%d ready objects", clusterName(c), reported, reported),
		CausedBy: &report.Origin{ID: cause.ID, Code: cause.Code, Object: cause.Object, Cluster: cause.Cluster}})
}
