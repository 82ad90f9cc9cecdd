// SPDX-License-Identifier: Apache-2.0

package report

import (
	"slices"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
)

// Merged returns a copy in which the findings that are the same on several clusters are one finding.
func (a *Audit) Merged() *Audit { return a.WithFindings(merged(a.Findings)) }

// WithFindings returns a copy with other findings. The totals and the codes of the aggregates follow from them.
func (a *Audit) WithFindings(findings []Finding) *Audit {
	out := *a
	out.Findings, out.Summary.Findings = withoutOrphans(findings), FindingCounts{}
	codes := out.countFindings()
	for kind, list := range out.aggregates() {
		*list = each(*list, func(x Aggregate) Aggregate {
			x.Findings = slices.Compact(codes[kind+" "+x.Namespace+"/"+x.Name])
			return x
		})
	}
	return &out
}

// merged joins the findings that are the same on several clusters: about the same object of the same bundle, with the
// same message. The order does not change.
func merged(findings []Finding) []Finding {
	type key struct {
		code, bundle, message string
		object                object.Ref
	}
	at := map[key]int{}
	out := make([]Finding, 0, len(findings))
	for _, f := range findings {
		k := key{f.Code, f.Bundle, f.Message, f.Object}
		i, known := at[k]
		switch {
		case f.BundleDeployment == "" || f.Bundle == "" || f.Cluster == "":
		case !known:
			at[k] = len(out)
		case out[i].Cluster != f.Cluster && !slices.Contains(out[i].Clusters, f.Cluster):
			if out[i].Clusters == nil {
				first := out[i]
				out[i].join(&first)
			}
			out[i].join(&f)
			continue
		}
		out = append(out, f)
	}
	return out
}

// join adds a cluster with the same finding.
func (f *Finding) join(o *Finding) {
	f.Clusters, f.IDs = append(f.Clusters, o.Cluster), append(f.IDs, o.ID)
	f.PerCluster = append(f.PerCluster, ClusterFinding{o.Cluster, o.ID, o.BundleDeployment, o.Evidence, o.Remedies})
}
