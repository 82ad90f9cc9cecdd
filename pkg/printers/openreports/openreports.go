// SPDX-License-Identifier: Apache-2.0

// Package openreports writes the report of an audit as objects of the OpenReports API, which dashboards read from a
// cluster.
package openreports

import (
	"io"
	"maps"
	"slices"
	"time"

	"github.com/openreports/reports-api/apis/openreports.io/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/escape"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

// Write writes a stream of YAML documents: a Report for each namespace, and a ClusterReport for everything without a
// namespace. Large reports are split. Objects on another cluster than the one that was read have reports of their own,
// with a label of the cluster.
func Write(w io.Writer, a *report.Audit) error {
	p := &printer{Audit: a, groups: map[group][]v1alpha1.ReportResult{}, present: map[group]bool{},
		excluded: a.Excluded()}
	if t, err := time.Parse(time.RFC3339, a.TakenAt); err == nil {
		p.taken = metav1.Timestamp{Seconds: t.Unix()}
	}
	p.findNamespaces()
	failed := p.addFindings()
	for i := range a.BundleDeployments {
		p.deployment(&a.BundleDeployments[i], failed)
	}
	p.addLeftOut()
	for _, n := range a.Notes {
		p.add(group{}, p.result(note, note, "skip", n))
	}
	for _, g := range a.Gaps {
		r := p.result(state, "Gap", v1alpha1.Result("error"), "could not be read: "+g.What+" ("+g.Why()+"): "+g.Effect)
		p.add(group{cluster: g.Cluster}, r)
	}
	for _, g := range slices.SortedFunc(maps.Keys(p.groups), group.compare) {
		for i, results := range Split(p.groups[g], maxResults) {
			document, err := escape.EncodeYAML(p.document(g, i, results))
			if err != nil {
				return err
			}
			if _, err := io.WriteString(w, "---\n"+string(document)); err != nil {
				return err
			}
		}
	}
	return nil
}
