// SPDX-License-Identifier: Apache-2.0

package printers

import (
	"bytes"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

// Audit lays out the report of an audit. Its names are the bundle deployments that are not ready, or that have no
// result.
func Audit(a *report.Audit, o Options) Document {
	return Document{o, a, a.BundleDeployments, func(t text, b *bytes.Buffer) error {
		return t.audit(b, a)
	}, func(b *bytes.Buffer) {
		for _, bd := range a.BundleDeployments {
			if bd.State != report.Ready {
				printName(b, bd.Namespace, bundleDeployment, bd.Name)
			}
		}
	}}
}

func (t text) audit(b *bytes.Buffer, a *report.Audit) error {
	if t.Rows > 0 && !t.Summary {
		return t.screen(b, a)
	}
	t.head(b, "Audit of ", a.Source, a.TakenAt)
	if t.Summary {
		return t.totals(b, a)
	}
	t.clustersRead(b, a.Source.Clusters)
	t.notRead(b, a.Gaps, a.Notes)
	if len(a.BundleDeployments) > 0 {
		if err := t.deployments(b, a); err != nil {
			return err
		}
	}
	if err := t.trees(b, a); err != nil {
		return err
	}
	if err := t.aggregates(b, a); err != nil {
		return err
	}
	t.findings(b, a)
	t.explain(b, a)
	t.ignored(b, a.Ignored)
	t.summary(b, a)
	return nil
}
