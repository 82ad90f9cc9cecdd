// SPDX-License-Identifier: Apache-2.0

package report

import (
	"slices"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
)

// Ignored is a finding that an entry of the ignore file excludes from the report.
type Ignored struct {
	ID       string     `json:"id"`
	Code     string     `json:"code"`
	Severity Severity   `json:"severity"`
	Object   object.Ref `json:"object"`
	Cluster  string     `json:"cluster,omitempty"` // "namespace/name"
	// BundleDeployment is "namespace/name" of the bundle deployment that the finding is about; empty if it is about
	// none.
	BundleDeployment string `json:"bundleDeployment,omitempty"`
	// Reason is the reason in the entry, Expires the last day on which the entry applies (YYYY-MM-DD), if it states
	// one.
	Reason  string `json:"reason"`
	Expires string `json:"expires,omitempty"`
}

// Merged returns a copy in which the findings that are the same on several clusters are one finding.
func (a *Audit) Merged() *Audit {
	if len(a.Source.Clusters) == 0 {
		return a
	}
	return a.WithFindings(merged(a.Findings))
}

// WithFindings returns a copy with other findings. The totals and the codes of the aggregates follow from them.
func (a *Audit) WithFindings(findings []Finding) *Audit {
	out := *a
	out.Findings, out.Summary.Findings = findings, FindingCounts{}
	codes := out.countFindings()
	for kind, list := range out.aggregates() {
		*list = each(*list, func(x Aggregate) Aggregate {
			x.Findings = slices.Compact(codes[kind+" "+x.Namespace+"/"+x.Name])
			return x
		})
	}
	return &out
}
