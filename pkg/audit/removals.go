// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"context"
	"slices"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/resolve"
)

// removals finds the releases that garbage collection uninstalls. Predictions do not need them.
func (r *Reading) removals(ctx context.Context) ([]*resolve.Removal, error) {
	if r.options.Predict {
		return nil, nil
	}
	found := resolve.Removals(r.Directory, r.States)
	return found, Each(ctx, r.Clusters, func(ctx context.Context, i int) error {
		elsewhere := func(x *resolve.Removal) bool { return x.ClusterID != r.Directory.Clusters[i].ID }
		return r.Clusters[i].CountCustomResources(ctx, slices.DeleteFunc(slices.Clone(found), elsewhere))
	})
}
