// SPDX-License-Identifier: Apache-2.0

package collect

import (
	"context"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

// NamespaceLabels returns the labels of the Namespaces with Clusters by name, if a BundleNamespaceMapping selects a
// bundle. Otherwise no target depends on them.
func (r *Reader) NamespaceLabels(ctx context.Context, f *state.Fleet) (map[string]map[string]string, source.Coverage,
	error) {
	if !f.NeedsNamespaces() {
		return nil, source.Coverage{}, nil
	}
	out, workspaces := map[string]map[string]string{}, f.Workspaces()
	cover, err := r.listMetadata(ctx, source.Query{Kind: namespaceKind}, func(m *object.Meta) {
		if workspaces[m.Metadata.Name] {
			out[m.Metadata.Name] = m.Metadata.Labels
		}
	})
	return out, cover, err
}
