// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"context"
	"maps"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/resolve"
)

// confirmRemovals reads again what decides about the releases that garbage collection uninstalls.
func (r *reading) confirmRemovals(ctx context.Context) error {
	all := map[resolve.RemovalKey]resolve.RemovalFacts{}
	for i, c := range r.desired.Clusters {
		facts, err := r.clusters[i].Removals(ctx, r.Reader, c)
		if err != nil {
			return err
		}
		maps.Copy(all, facts)
	}
	if len(all) > 0 {
		r.input.Removals = all
		r.resolve()
	}
	return nil
}
