// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"context"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/directory"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/resolve"
)

// confirmReleases reads the release records of bundle deployments again whose objects are missing, modified or not
// desired. Helm stores the record of a new revision before it changes objects. If the newest revision is still the one
// of the desired objects, no upgrade explains the result. A snapshot without a manifest may lack records.
func (c ReadCluster) confirmReleases(ctx context.Context, on *directory.Cluster, x *evaluate.Evaluation) error {
	var changed []*resolve.BundleDeployment
	for _, d := range x.PossiblyChanged() {
		changed = append(changed, d.BundleDeployment)
	}
	if c.Description.Partial() || len(changed) == 0 {
		return nil
	}
	rollouts, err := c.Rollouts(ctx, on, changed)
	if err != nil {
		return err
	}
	x.Upgraded(rollouts)
	return nil
}
