// SPDX-License-Identifier: Apache-2.0

package collect

import (
	"context"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

// Namespaces returns the labels and annotations of those wanted Namespaces that exist. It returns nil and the reason if
// not all could be read.
func (r *Reader) Namespaces(ctx context.Context, wanted map[string]bool) (map[string]state.NamespaceMeta,
	source.Failure, error) {
	out := map[string]state.NamespaceMeta{}
	cover, err := r.listMetadata(ctx, source.Query{Kind: namespaceKind}, func(m *object.Meta) {
		if wanted[m.Metadata.Name] {
			out[m.Metadata.Name] = state.NamespaceMeta{Labels: m.Metadata.Labels, Annotations: m.Metadata.Annotations}
		}
	})
	if f, whole := cover.Of(""); err != nil || !whole {
		return nil, f, err
	}
	return out, source.Failure{}, nil
}
