// SPDX-License-Identifier: Apache-2.0

package html

import (
	"slices"
	"strconv"
	"strings"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/printers/digest"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

// places are the places of clusters in their filter.
type places map[string]int

// filters returns the clusters and the codes of the findings of an audit, and the places of the clusters.
func filters(a *report.Audit) (clusters, codes []string, of places) {
	of = places{}
	for i := range a.Findings {
		f := &a.Findings[i]
		codes = append(codes, f.Code)
		for _, c := range digest.Clusters(f) {
			if _, known := of[c]; !known {
				of[c] = len(clusters)
				clusters = append(clusters, c)
			}
		}
	}
	slices.Sort(codes)
	return clusters, slices.Compact(codes), of
}

// of are the places of the clusters of a finding.
func (p places) of(f *report.Finding) string {
	var out []string
	for _, c := range digest.Clusters(f) {
		out = append(out, strconv.Itoa(p[c]))
	}
	return strings.Join(out, " ")
}
