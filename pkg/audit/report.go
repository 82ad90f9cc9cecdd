// SPDX-License-Identifier: Apache-2.0

package audit

import "github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"

// Report returns the report of the audit, with secrets hidden.
func (a *Audit) Report() *report.Audit { return a.Unmerged().Merged() }

// Unmerged returns the report with a finding for each cluster, with secrets hidden.
func (a *Audit) Unmerged() *report.Audit {
	return report.NewAudit(a.Result, a.Findings, a.options.Version).Redacted(a.Secrets)
}
