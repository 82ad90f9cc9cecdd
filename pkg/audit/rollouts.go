// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"context"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/directory"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/settle"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
)

// confirmReleases asks whether the releases of bundle deployments have changed whose objects are missing, modified or
// not desired. Helm stores the record of a new revision before it changes objects. If the newest revision is still the
// one of the desired objects, no upgrade explains the result. Neither does a revision that Fleet's agent did not make:
// that one is over. A snapshot without a manifest may lack records.
func (c ReadCluster) confirmReleases(ctx context.Context, on *directory.Cluster, x *evaluate.Evaluation) error {
	if c.Description.Partial() {
		return nil
	}
	newest := on.State.Latest
	rollouts := map[object.DeploymentID]evaluate.Rollout{}
	asked := map[object.DeploymentID][]settle.Question{}
	var all []settle.Question
	for _, d := range x.PossiblyChanged() {
		rec := newest[d.Release.Release()]
		switch {
		case rec == nil:
			rollouts[d.ID()] = evaluate.Rollout{Changed: true}
			continue
		case rec.Revision > d.Release.Revision && !d.ByHand(rec):
			rollouts[d.ID()] = evaluate.Rollout{Next: d.Next}
		}
		status := rec.Status
		if rec.Damaged != "" {
			status = ""
		}
		asked[d.ID()] = settle.Newest(on.ID, rec.Name, status)
		all = append(all, asked[d.ID()]...)
	}
	if c.Description.Origin == source.OriginCluster {
		answers, err := settle.Ask(ctx, c.Source, all)
		if err != nil {
			return err
		}
		for id, questions := range asked {
			if !answers.Hold(questions) {
				rollouts[id] = evaluate.Rollout{Changed: true}
			}
		}
	}
	x.Upgraded(rollouts)
	return nil
}
