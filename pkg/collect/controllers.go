// SPDX-License-Identifier: Apache-2.0

package collect

import (
	"context"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

// Controllers reads the Deployments that remove the finalizers of objects that are being deleted. It reads nothing if
// no object waits for a finalizer.
func (r *Reader) Controllers(ctx context.Context, f *state.Fleet) error {
	wanted := map[string]bool{}
	for _, d := range f.Deleting() {
		for _, finalizer := range d.Finalizers {
			wanted[d.RemoverOf(finalizer)] = true
		}
	}
	delete(wanted, "")
	for name := range wanted {
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
