// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"context"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/collect"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
)

// copies reads the copies of downstreamResources that bundle deployments should have.
func (r *Reading) copies(ctx context.Context, deployments []*evaluate.BundleDeployment) ([]evaluate.Copy, []source.Gap,
	error) {
	if !r.options.statuses() {
		return nil, nil, nil
	}
	out := evaluate.Copies(deployments)
	unread, err := r.Copies(ctx, out, func(c *evaluate.Copy) *collect.Reader {
		return r.Clusters[r.Directory.IndexOf(&c.Deployment.Deployment)].Reader
	})
	return out, unread, err
}

// statuses reports whether the audit compares what the statuses of Fleet state with the objects that Fleet itself
// keeps. Predictions and audits of files or of the status alone do not.
func (o Options) statuses() bool { return !o.StatusOnly && !o.Predict && o.Files == nil }
