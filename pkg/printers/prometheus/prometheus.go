// SPDX-License-Identifier: Apache-2.0

// Package prometheus writes the report of an audit as metrics, for example for the textfile collector of node_exporter.
package prometheus

import (
	"io"
	"time"

	"github.com/prometheus/common/expfmt"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/printers/digest"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

// Write writes the report as gauges in the text format. No label is the name of an object that a bundle deploys: the
// number of series depends only on the numbers of bundle deployments, clusters and checks.
func Write(w io.Writer, a *report.Audit) error {
	m := &metrics{families: map[string]*family{}}
	m.audit(a)
	m.findings(a)
	for i := range a.BundleDeployments {
		m.deployment(&a.BundleDeployments[i])
	}
	for i := range a.Clusters {
		if !a.Clusters[i].OutOfScope {
			m.cluster(&a.Clusters[i])
		}
	}
	for _, f := range m.inOrder() {
		if _, err := expfmt.MetricFamilyToText(w, f); err != nil {
			return err
		}
	}
	return nil
}

// audit adds the metrics of the audit as a whole.
func (m *metrics) audit(a *report.Audit) {
	m.set("fleetdoctor_audit_info",
		"The program that made the report, the kind of its source, and the file that ignores findings, if it ignores "+
			"any.", 1, label{"version", a.Tool.Version}, label{"source", a.Source.Kind},
		label{"ignore_file", a.IgnoreFile})
	if taken, err := time.Parse(time.RFC3339, a.TakenAt); err == nil {
		m.set("fleetdoctor_audit_taken_timestamp_seconds", "When the data of the audit was taken.",
			float64(taken.Unix()))
	}
	complete := 0.0
	if a.Complete() {
		complete = 1
	}
	m.set("fleetdoctor_audit_complete", "1 if everything in scope was read. 0 if not; then a lower number of findings "+
		"does not mean that problems are solved.", complete)
	m.set("fleetdoctor_audit_gaps", "Number of things that could not be read.", float64(len(a.Gaps)))
	const left = "Number of findings that the audit found and that the other metrics do not count, by the reason: a " +
		"filter, an ignore file or a baseline."
	for _, by := range []string{report.ByFilter, report.ByIgnoreFile, report.ByBaseline} {
		m.add("fleetdoctor_audit_left_out_findings", left, 0, label{"reason", by})
	}
	for _, l := range a.LeftOut() {
		m.add("fleetdoctor_audit_left_out_findings", left, float64(l.Count), label{"reason", l.By})
	}
}

// findings adds a series for each check and for each cluster, also without a finding, so that a solved problem is seen
// as a zero.
func (m *metrics) findings(a *report.Audit) {
	of := func(code, name string, severity report.Severity) []label {
		return []label{{"code", code}, {"name", name}, {"severity", string(severity)}}
	}
	const help = "Number of findings of a check."
	names := map[string]string{}
	for _, c := range check.Catalogue() {
		names[c.Code] = c.Name
		m.add("fleetdoctor_findings", help, 0, of(c.Code, c.Name, report.Severity(c.Severity))...)
	}
	on := func(cluster string, severity report.Severity, n float64) {
		m.add("fleetdoctor_cluster_findings", "Number of findings on a cluster.", n, label{clusterLabel, cluster},
			label{"severity", string(severity)})
	}
	for _, bd := range a.BundleDeployments {
		for _, severity := range []report.Severity{report.Error, report.Warning, report.Info} {
			on(bd.Cluster, severity, 0)
		}
	}
	for _, f := range a.Findings {
		m.add("fleetdoctor_findings", help, 1, of(f.Code, names[f.Code], f.Severity)...)
		for _, cluster := range digest.Clusters(&f) {
			on(cluster, f.Severity, 1)
		}
	}
}

// clusterLabel is the name of the label of a cluster. Prometheus often adds a label "cluster" of its own.
const clusterLabel = "fleet_cluster"

// deployment adds the metrics of a bundle deployment. Without a result, it has no series of actual numbers.
func (m *metrics) deployment(bd *report.BundleDeployment) {
	id := []label{{clusterLabel, bd.Cluster}, {"bundledeployment", bd.Key()}}
	const prefix = "fleetdoctor_bundledeployment_"
	m.set(prefix+"info", "The bundle of a bundle deployment, and its GitRepo or HelmOp.", 1,
		with(id, label{"bundle", bd.Bundle}, label{"gitrepo", bd.GitRepo}, label{"helmop", bd.HelmOp})...)
	m.set(prefix+"state", "The actual state of a bundle deployment, with the reason if it is Unknown.", 1,
		with(id, label{"state", string(bd.State)}, label{"reason", bd.Reason})...)
	if bd.Reason == "" {
		m.counts(prefix, "of a bundle deployment", id, bd.Counts)
	}
	m.reported(prefix, "of a bundle deployment", id, bd.Reported)
}

// cluster adds the totals of a cluster. The actual ones exist only if all of its bundle deployments were read.
func (m *metrics) cluster(c *report.Aggregate) {
	id := []label{{clusterLabel, c.Namespace + "/" + c.Name}}
	const prefix = "fleetdoctor_cluster_"
	if x := c.Actual; x != nil {
		const all, ready = "Number of bundle deployments of a cluster.", "Number of bundle deployments of a cluster " +
			"that are actually ready."
		m.set(prefix+"bundledeployments", all, float64(x.BundleDeployments), id...)
		m.set(prefix+"ready_bundledeployments", ready, float64(x.ReadyBundleDeployments), id...)
		m.counts(prefix, "of a cluster", id, x.Counts)
	}
	m.reported(prefix, "of a cluster", id, c.Reported)
}

// counts adds the actual counts of objects.
func (m *metrics) counts(prefix, of string, id []label, c report.Counts) {
	m.add(prefix+"desired_objects", "Number of desired objects "+of+".", float64(c.Desired), id...)
	for _, n := range []struct {
		state report.State
		count int
	}{{report.Ready, c.Ready}, {report.NotReady, c.NotReady}, {report.Modified, c.Modified},
		{report.Unowned, c.Unowned}, {report.Missing, c.Missing}, {report.Unknown, c.Unknown}} {
		m.add(prefix+"objects", "Number of desired objects "+of+" by their actual state.", float64(n.count),
			with(id, label{"state", string(n.state)})...)
	}
	m.add(prefix+"orphaned_objects", "Number of objects "+of+" that are left over from an earlier revision.",
		float64(c.Orphaned), id...)
}

// reported adds the numbers in the status of Fleet.
func (m *metrics) reported(prefix, of string, id []label, r *report.Reported) {
	if r == nil {
		return
	}
	if r.DesiredReady != nil {
		m.add(prefix+"reported_desired_objects", "Number of desired objects "+of+" that Fleet reports.",
			float64(*r.DesiredReady), id...)
	}
	if r.Ready != nil {
		m.add(prefix+"reported_ready_objects", "Number of ready objects "+of+" that Fleet reports.", float64(*r.Ready),
			id...)
	}
}
