// SPDX-License-Identifier: Apache-2.0

package collect

import (
	"context"

	corev1 "k8s.io/api/core/v1"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

// namespaceLabels reads the labels of Namespaces, if a BundleNamespaceMapping selects a bundle. Otherwise no target depends on them.
func (r *Reader) namespaceLabels(ctx context.Context, out *state.Fleet) error {
	if !out.NeedsNamespaces() {
		return nil
	}
	workspaces := out.Workspaces()
	cover, err := r.list(ctx, source.Query{Kind: corev1.SchemeGroupVersion.WithKind(state.Namespace), MetadataOnly: true}, func(o source.Object) error {
		m, err := o.ReadMeta()
		if err == nil && workspaces[m.Metadata.Name] {
			out.AddNamespace(m.Metadata.Name, m.Metadata.Labels)
		}
		return err
	})
	out.Coverage[state.Namespace] = cover
	return err
}
