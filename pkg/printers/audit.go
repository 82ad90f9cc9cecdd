// SPDX-License-Identifier: Apache-2.0

package printers

import (
	"strings"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

// Audit lays out the report of an audit. Its names are the bundle deployments that are not well: those that are not
// ready or have no result, and those with an error or a warning. On a cluster that was not read, that is what Fleet
// reports.
func Audit(a *report.Audit, o Options) Document {
	return Document{o, a, a.BundleDeployments, func(t text) { t.audit(a) }, func(t text) {
		problem := withProblems(a.Findings)
		for _, bd := range a.BundleDeployments {
			if notWell(&bd) || problem(bd) {
				t.name(bd.Namespace, bundleDeployment, bd.Name)
			}
		}
	}}
}

// audit shows the report. A screen that is redrawn has at most t.Rows lines of it.
func (t text) audit(a *report.Audit) {
	if !t.Redrawn {
		t.auditParts(a)
		return
	}
	all := t.aside(func(t text) { t.auditParts(a) })
	t.out.WriteString(page(strings.TrimRight(all, "\n")+"\n", t.columns(), t.Rows, "more line"))
}

// auditParts shows the parts of the report: the result first, then causes, then the table of what is not well.
func (t text) auditParts(a *report.Audit) {
	if !t.Summary && t.overviewOf(a) {
		t.overview(a)
		return
	}
	t.head("Audit of ", a.Source, a.TakenAt)
	t.summary(a, a.Summary.Findings)
	if t.Summary {
		t.gapLines(a.Gaps)
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
}
