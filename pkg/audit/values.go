// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"context"
	"slices"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/collect"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

// values reads the values Secrets of the management cluster. Predictions and audits of files or of the status alone do
// not need them.
func (r *Reading) values(ctx context.Context, f *state.Fleet, workspace string) (add func(*rest), err error) {
	values, gaps, err := r.Values(ctx, f, workspace)
	return func(x *rest) { x.fleet.Values, x.gaps = values, append(x.gaps, gaps...) }, err
}

// copies reads the copies of downstreamResources that bundle deployments should have.
func (r *Reading) copies(ctx context.Context, deployments []*evaluate.BundleDeployment) ([]evaluate.Copy, []source.Gap,
	error) {
	if !r.options.statuses() {
		return nil, nil, nil
	}
	out := evaluate.Copies(deployments)
	unread, err := r.Copies(ctx, out, func(c *evaluate.Copy) *collect.Reader {
		return r.Clusters[slices.Index(r.Directory.Clusters, c.Deployment.On)].Reader
	})
	return out, unread, err
}

// statuses reports whether the audit compares what the statuses of Fleet state with the objects that Fleet itself
// keeps. Predictions and audits of files or of the status alone do not.
func (o Options) statuses() bool { return !o.StatusOnly && !o.Predict && o.Files == nil }
