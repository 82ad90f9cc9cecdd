// SPDX-License-Identifier: Apache-2.0

package collect

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
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
	q := source.Query{Kind: corev1.SchemeGroupVersion.WithKind(state.Namespace), LabelSelector: fleet.ManagedLabel +
		"=true", MetadataOnly: true}
	cover, err := r.list(ctx, q, func(o source.Object) error {
		m, err := o.ReadMeta()
		if err != nil {
			return err
		}
		workspace, name := m.Metadata.Annotations[fleet.ClusterNamespaceLabel],
			m.Metadata.Annotations[fleet.ClusterLabel]
		if workspace == "" || name == "" || m.Metadata.DeletionTimestamp != "" {
			return nil
		}
		created, _ := time.Parse(time.RFC3339, m.Metadata.CreationTimestamp) // zero if it is not known
		found[m.Metadata.Name] = state.ClusterNamespace{Workspace: workspace, Cluster: name, Created: created}
		return nil
	})
	if reason := cover.Failures()["*"].Reason; err != nil || reason == source.KindNotServed {
		return found, nil, err
	}
	const effect = "it is not known whether a namespace is left over from a deleted cluster"
	return found, source.CoverageGaps("listing the namespaces of clusters", cover, effect), nil
}
