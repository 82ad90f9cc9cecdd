// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"context"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

// clusterNamespaces reads the namespaces of clusters. Only an audit of everything reports those of clusters that are
// gone.
func (r *Reading) clusterNamespaces(ctx context.Context, f *state.Fleet) (add func(*rest), err error) {
	found, gaps, err := r.ClusterNamespaces(ctx, f)
	return func(x *rest) { x.fleet.ClusterNamespacesFound, x.gaps = found, append(x.gaps, gaps...) }, err
}
