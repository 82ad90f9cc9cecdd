// SPDX-License-Identifier: Apache-2.0

package query

import (
	"context"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/collect"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/directory"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/secret"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

// Versions reads the versions of Kubernetes, and of Fleet's controller and agents.
func Versions(ctx context.Context, src source.Source, o AgentsOptions) (report.Source, []report.Gap, error) {
	r, err := collect.Open(ctx, src, &secret.Values{}, o.Progress)
	if err != nil {
		return report.Source{}, nil, err
	}
	f, c, gaps, err := r.Versions(ctx)
	if err != nil {
		return report.Source{}, nil, err
	}
	found := directory.Build(directory.Input{Fleet: f, Clusters: []*state.Cluster{c}})
	return report.NewSource(r.Description, found), report.Gaps(append(gaps, r.Description.Gaps...)), nil
}
