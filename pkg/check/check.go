// SPDX-License-Identifier: Apache-2.0

// Package check turns the result of an evaluation into findings. There is one file for each check, with its stable
// code. The documentation is generated from the catalogue of the checks. A check is a pure function of the Input.
package check

import (
	"slices"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/facts"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

// running is a row of the catalogue during a run.
type running struct {
	row
	in    *Input
	found *found
}

// Run runs the checks of the scopes, of all scopes if it is called with none. It returns their findings in the order of
// the codes.
func Run(in *Input, scopes ...Scope) []Finding {
	var rows []running
	for _, r := range catalogue {
		if len(scopes) == 0 || slices.Contains(scopes, r.scope) {
			rows = append(rows, running{r, in, &found{}})
		}
	}
	run(in, rows)
	var out []Finding
	for _, r := range rows {
		for _, f := range r.found.findings {
			out = append(out, in.as(f, r.code))
		}
	}
	return out
}

// as returns a finding with a code and what the catalogue has for it.
func (in *Input) as(f Finding, code string) Finding {
	check := checks()[slices.IndexFunc(checks(), func(c Check) bool { return c.Code == code })]
	f.Code, f.Severity, f.Urgency, f.Title = check.Code, check.Severity, check.Urgency, check.Title
	f.Remedies = slices.Clone(f.Remedies)
	in.addSteps(&f)
	for i := range f.Remedies {
		f.Remedies[i].URL = URL(f.Code)
	}
	return f
}

// run goes over each part of the result once.
func run(in *Input, rows []running) {
	for _, d := range in.Result.Deployments {
		for _, r := range rows {
			r.onDeployment(d)
		}
	}
	for _, kind := range above {
		for _, a := range in.Result.Tree[kind] {
			for _, r := range rows {
				r.onAggregate(a)
			}
		}
	}
	for _, r := range rows {
		if r.agent != nil {
			for _, a := range in.Facts.Agents() {
				if in.Result.Includes(state.ClusterKind, a.Cluster) {
					r.agent(r.in, r.found, a)
				}
			}
		}
		if r.cluster != nil {
			for _, c := range in.Result.Desired.Clusters {
				r.cluster(r.in, r.found, c)
			}
		}
		if r.all != nil {
			r.all(r.in, r.found)
		}
	}
}

func (r running) onDeployment(d *evaluate.BundleDeployment) {
	if r.deployment != nil {
		r.deployment(r.in, r.found, d)
	}
	if r.object != nil {
		for i := range d.Objects {
			r.object(r.in, r.found, d, &d.Objects[i])
		}
	}
	if r.values != nil && d.BD != nil {
		r.values(r.in, r.found, r.in.valuesOf(d))
	}
}

func (r running) onAggregate(a *evaluate.Aggregate) {
	if b, ok := a.Object.(*v1alpha1.Bundle); ok {
		r.onBundle(a, b)
	}
	if r.aggregate != nil && a.InScope && slices.Contains(r.kinds, a.Kind) {
		r.aggregate(r.in, r.found, a)
	}
}

func (r running) onBundle(a *evaluate.Aggregate, b *v1alpha1.Bundle) {
	if r.bundle != nil && a.InScope && !facts.Deleting(b) {
		r.bundle(r.in, r.found, b)
	}
	partly := a.InScope || len(a.BundleDeployments) > 0
	if r.bundleValues != nil && partly && !ofHelmOp(b) { // the values of a HelmOp are in its Bundle
		r.bundleValues(r.in, r.found, r.in.valuesOfBundle(b))
	}
}
