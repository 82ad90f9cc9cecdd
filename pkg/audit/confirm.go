// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"context"
	"slices"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/collect"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
)

// confirm removes the findings of a cluster whose objects changed while it was read: the kinds are listed one after the
// other, so that a BundleDeployment that the controller creates in the meantime looks absent. A snapshot cannot be read
// again.
func (a *Audit) confirm(ctx context.Context, r *collect.Reader) error {
	if r.Description.Origin != source.OriginCluster {
		return nil
	}
	var refs []object.Ref
	for _, f := range a.Findings {
		refs = append(refs, f.DependsOn...)
	}
	if len(refs) == 0 {
		return nil
	}
	changed, err := r.Changed(ctx, a.Desired.Fleet, refs)
	if err != nil {
		return err
	}
	a.Findings = slices.DeleteFunc(a.Findings, func(f check.Finding) bool {
		return slices.ContainsFunc(f.DependsOn, func(ref object.Ref) bool { return changed[ref] })
	})
	return nil
}

// Again reads the live objects of some bundle deployments again and evaluates them. The desired objects stay the same.
// Orphaned objects are not counted, because objects that are not desired are not read.
func (a *Audit) Again(ctx context.Context, scope []object.DeploymentID) ([]*evaluate.BundleDeployment, error) {
	var out []*evaluate.BundleDeployment
	for i, c := range a.Desired.Clusters {
		e := evaluate.New(a.Desired.On(c), a.Desired.Select(scope),
			evaluate.Options{Now: a.clusters[i].Description.TakenAt, Predict: a.options.Predict,
				Masked: a.clusters[i].Description.Unmasked != nil})
		observed, err := a.clusters[i].Live(ctx, e, collect.LiveOptions{Whole: a.Scope.Whole()})
		if err != nil {
			return nil, err
		}
		for _, d := range e.Evaluate(observed).Deployments() {
			d.Counts.Orphaned = 0
			out = append(out, d)
		}
	}
	return out, nil
}
