// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"context"
	"maps"
	"sync"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/resolve"
)

// confirmRemovals reads again what decides about the releases that garbage collection uninstalls. Predictions do not need it.
func (r *reading) confirmRemovals(ctx context.Context) error {
	if r.options.Predict {
		return nil
	}
	all := map[resolve.RemovalKey]resolve.RemovalFacts{}
	var mu sync.Mutex // guards all
	if err := each(ctx, r.clusters, func(ctx context.Context, i int) error {
		facts, err := r.clusters[i].Removals(ctx, r.Reader, r.desired.Clusters[i])
		mu.Lock()
		defer mu.Unlock()
		maps.Copy(all, facts)
		return err
	}); err != nil {
		return err
	}
	if len(all) > 0 {
		r.input.Removals = all
		r.resolve()
	}
	return nil
}
