// SPDX-License-Identifier: Apache-2.0

package collect

import (
	"context"
	"slices"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

// Versions reads only what shows the versions of Fleet's controller and of the agents of this cluster.
func (r *Reader) Versions(ctx context.Context) (*state.Fleet, *state.Cluster, []source.Gap, error) {
	f, gaps, err := r.fleet(ctx, "", nil)
	if err != nil {
		return nil, nil, nil, err
	}
	c, more, err := r.Cluster(ctx, f, ClusterOptions{NoRecords: true})
	return f, c, slices.Concat(gaps, more), err
}
