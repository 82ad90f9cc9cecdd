// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"context"
	"slices"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/resolve"
)

// removals finds the releases that garbage collection uninstalls, and reads again what decides about them. Predictions
// do not need them.
func (r *Reading) removals(ctx context.Context) ([]*resolve.Removal, error) {
	if r.options.Predict {
		return nil, nil
	}
	found := resolve.Removals(r.Directory, r.States)
	confirmed := make([][]*resolve.Removal, len(r.Clusters))
	err := Each(ctx, r.Clusters, func(ctx context.Context, i int) (err error) {
		elsewhere := func(x *resolve.Removal) bool { return x.On != r.Directory.Clusters[i] }
		here := slices.DeleteFunc(slices.Clone(found), elsewhere)
		confirmed[i], err = r.Clusters[i].Removals(ctx, r.Reader, here)
		return err
	})
	return slices.Concat(confirmed...), err
}
