// SPDX-License-Identifier: Apache-2.0

package collect

import (
	"context"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

// Controllers reads the Deployments that explain why Fleet does not act. It reads nothing if no object needs that.
func (r *Reader) Controllers(ctx context.Context, f *state.Fleet) error {
	for name := range f.WantedControllers() {
		q := source.Query{Kind: deploymentKind, FieldSelector: "metadata.name=" + name}
		cover, err := r.list(ctx, q, func(o source.Object) error { return f.AddController(o.Raw) })
		if err != nil {
			return err
		}
		if cover.Whole() {
			f.ControllersRead(name)
		}
	}
	return nil
}
