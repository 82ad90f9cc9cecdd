// SPDX-License-Identifier: Apache-2.0

package collect

import (
	"context"

	corev1 "k8s.io/api/core/v1"

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
	cover, err := r.list(ctx, source.Query{Kind: corev1.SchemeGroupVersion.WithKind(state.Namespace),
		MetadataOnly: true}, func(o source.Object) error {
		m, err := o.ReadMeta()
		if err == nil && workspaces[m.Metadata.Name] {
			out[m.Metadata.Name] = m.Metadata.Labels
		}
		return err
	})
	return out, cover, err
}
