// SPDX-License-Identifier: Apache-2.0

package query

import (
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

// explainer has what the explanations share.
type explainer struct {
	in     *check.Input
	causes *check.Causes
	// findings are by the key of their bundle deployment, others by the object that they are about.
	findings map[string][]check.Finding
	others   map[object.Ref][]check.Finding
}

func newExplainer(in *check.Input, findings []check.Finding) *explainer {
	x := &explainer{in: in, causes: in.Causes(), findings: map[string][]check.Finding{},
		others: map[object.Ref][]check.Finding{}}
	for _, f := range findings {
		if f.BundleDeployment != "" {
			x.findings[f.BundleDeployment] = append(x.findings[f.BundleDeployment], f)
		}
		x.others[f.Object] = append(x.others[f.Object], f)
	}
	return x
}

// found returns the findings about a step, in its order.
func (x *explainer) found(s *check.Step) []check.Finding {
	var out []check.Finding
	for _, o := range s.Findings {
		among := x.others[o.Object]
		if o.BundleDeployment != "" {
			among = x.findings[o.BundleDeployment]
		}
		for _, f := range among {
			if f.Is(o) {
				out = append(out, f)
			}
		}
	}
	return out
}

// whyDeployment names a member in a report.
func whyDeployment(m check.Member) report.WhyDeployment {
	out := report.WhyDeployment{Bundle: m.Bundle, Cluster: m.Cluster}
	if m.Of != nil {
		out.BundleDeployment = m.Of.Key()
	}
	return out
}
