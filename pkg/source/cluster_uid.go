// SPDX-License-Identifier: Apache-2.0

package source

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ClusterUID returns the uid of the Namespace kube-system, which identifies a cluster; empty if it was not found, or
// not read according to the coverage.
func ClusterUID(ctx context.Context, src Source) (uid string, cover Coverage, err error) {
	q := Query{Kind: corev1.SchemeGroupVersion.WithKind("Namespace"), FieldSelector: "metadata.name=" +
		metav1.NamespaceSystem, MetadataOnly: true}
	cover, err = src.List(ctx, q, func(o Object) error {
		if m, err := o.ReadMeta(); err == nil {
			uid = m.Metadata.UID
		}
		return nil
	})
	return uid, cover, err
}
