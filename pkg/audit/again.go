// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"context"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/collect"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
)

// Again reads the live objects of some bundle deployments again and evaluates them. The desired objects stay the same;
// Options.Predict or Options.KeepManifests must have been set.
// Orphaned objects are not counted, because objects that are not desired are not read.
func (a *Audit) Again(ctx context.Context, scope []object.DeploymentID) ([]*evaluate.BundleDeployment, error) {
	var out []*evaluate.BundleDeployment
	for i, c := range a.Desired.Clusters {
		e := evaluate.New(a.Desired.On(c.ID), a.Desired.Select(scope),
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

// Sources returns the sources of the clusters that were read.
func (a *Audit) Sources() map[object.ClusterID]source.Source {
	out := map[object.ClusterID]source.Source{}
	for i, c := range a.Desired.Clusters {
		out[c.ID] = a.clusters[i].Source
	}
	return out
}
