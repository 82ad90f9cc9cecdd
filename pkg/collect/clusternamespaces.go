// SPDX-License-Identifier: Apache-2.0

package collect

import (
	"context"
	"time"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

// ClusterNamespaces reads the namespaces that Fleet made for the BundleDeployments of Clusters. They prove nothing
// unless all Clusters were read.
func (r *Reader) ClusterNamespaces(ctx context.Context, f *state.Fleet) (map[string]state.ClusterNamespace,
	[]source.Gap, error) {
	if !f.Read(state.ClusterKind, "") || !f.Read(state.BundleDeployment, "") {
		return nil, nil, nil
	}
	found := map[string]state.ClusterNamespace{}
	q := source.Query{Kind: namespaceKind, LabelSelector: fleet.ManagedLabel + "=true"}
	cover, err := r.listMetadata(ctx, q, func(m *object.Meta) {
		workspace, name := m.Metadata.Annotations[fleet.ClusterNamespaceLabel],
			m.Metadata.Annotations[fleet.ClusterLabel]
		if workspace == "" || name == "" || m.Metadata.DeletionTimestamp != "" {
			return
		}
		created, _ := time.Parse(time.RFC3339, m.Metadata.CreationTimestamp) // zero if it is not known
		found[m.Metadata.Name] = state.ClusterNamespace{Workspace: workspace, Cluster: name, Created: created}
	})
	if reason := cover.Failures()["*"].Reason; err != nil || reason == source.KindNotServed {
		return found, nil, err
	}
	const effect = "it is not known whether a namespace is left over from a deleted cluster"
	return found, source.CoverageGaps("listing the namespaces of clusters", cover, effect), nil
}
