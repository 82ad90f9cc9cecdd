// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"context"
	"slices"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/desired"
)

// removals finds the releases that garbage collection uninstalls. Predictions do not need them.
func (r *Reading) removals(ctx context.Context) ([]*desired.Removal, error) {
	if r.options.Predict {
		return nil, nil
	}
	found := desired.Removals(r.Directory, r.States)
	return found, Each(ctx, r.Clusters, func(ctx context.Context, i int) error {
		elsewhere := func(x *desired.Removal) bool { return x.ClusterID != r.Directory.Clusters[i].ID }
		return r.Clusters[i].CountCustomResources(ctx, slices.DeleteFunc(slices.Clone(found), elsewhere))
	})
}
