// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// ClusterTarget selects clusters. Its fields combine with AND; without any field, it selects none.
//
// +kubebuilder:pruning:PreserveUnknownFields
type ClusterTarget struct {
	Name                 string                `json:"name,omitempty"`
	ClusterName          string                `json:"clusterName,omitempty"`
	ClusterSelector      *metav1.LabelSelector `json:"clusterSelector,omitempty"`
	ClusterGroup         string                `json:"clusterGroup,omitempty"`
	ClusterGroupSelector *metav1.LabelSelector `json:"clusterGroupSelector,omitempty"`
}

// BundleTarget is one target of a Bundle.
//
// +kubebuilder:pruning:PreserveUnknownFields
type BundleTarget struct {
	ClusterTarget `json:",inline"`
	// DoNotDeploy excludes the clusters for which the target decides.
	DoNotDeploy bool `json:"doNotDeploy,omitempty"`
}

// BundleNamespaceMapping lets Bundles of its namespace target the Clusters of other namespaces.
//
// +kubebuilder:object:root=true
// +kubebuilder:pruning:PreserveUnknownFields
type BundleNamespaceMapping struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// BundleSelector selects Bundles, NamespaceSelector selects Namespaces. Without one of them, the mapping has no
	// effect.
	BundleSelector    *metav1.LabelSelector `json:"bundleSelector,omitempty"`
	NamespaceSelector *metav1.LabelSelector `json:"namespaceSelector,omitempty"`
}
