// SPDX-License-Identifier: Apache-2.0

package printers

import (
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

// Audit lays out the report of an audit. Its names are the bundle deployments that are not ready, or that have no
// result.
func Audit(a *report.Audit, o Options) Document {
	return Document{o, a, a.BundleDeployments, func(t text) { t.audit(a) }, func(t text) {
		for _, bd := range a.BundleDeployments {
			if bd.State != report.Ready {
				t.name(bd.Namespace, bundleDeployment, bd.Name)
			}
		}
	}}
}

func (t text) audit(a *report.Audit) {
	if t.Rows > 0 && !t.Summary {
		t.screen(a)
		return
	}
	t.head("Audit of ", a.Source, a.TakenAt)
	t.summary(a)
	switch {
	case t.Summary:
		t.emptyLine()
		t.totals(a)
		return
	case t.overviewOf(a):
		t.overview(a)
		return
	}
	t.emptyLine()
	t.clustersRead(a.Source.Clusters)
	t.notRead(a.Gaps, a.Notes)
	t.findings(a)
	if len(a.BundleDeployments) > 0 {
		t.deployments(a)
	}
	t.aggregates(a)
	t.ignored(a.Ignored)
	t.explain(a)
}
