// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"encoding/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// BundleSpec has the fields of a Bundle's spec that are read. The options of the targets are not read.
//
// +kubebuilder:pruning:PreserveUnknownFields
type BundleSpec struct {
	Paused         bool `json:"paused,omitempty"`
	BundleDeletion `json:",inline"`
	// Targets are the customizations of fleet.yaml, followed by the targets of the GitRepo. Source:
	// docs/fleet-behavior.md, 5.1.
	Targets            []BundleTarget  `json:"targets,omitempty"`
	TargetRestrictions []ClusterTarget `json:"targetRestrictions,omitempty"`
	// RolloutStrategy is nil if the Bundle states none.
	RolloutStrategy *RolloutStrategy `json:"rolloutStrategy,omitempty"`
	// TargetCustomizationMode is FirstMatch or AllMatches. It is empty before Fleet 0.16, which sets a default.
	TargetCustomizationMode string `json:"targetCustomizationMode,omitempty"`
	// ValuesHash is the hash of the Secret with the values of the Bundle; empty without values, and for a HelmOp.
	ValuesHash string `json:"valuesHash,omitempty"`
	// Helm is nil if the Bundle states no option of Helm.
	Helm *BundleHelm `json:"helm,omitempty"`
	// HelmOpOptions are set in the Bundle of a HelmOp. Only their presence is read.
	//
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Schemaless
	HelmOpOptions json.RawMessage `json:"helmOpOptions,omitempty"`
}

// BundleHelm has the field of a Bundle's Helm options that is read with its targets.
//
// +kubebuilder:pruning:PreserveUnknownFields
type BundleHelm struct {
	// Version of the chart. It may be a constraint.
	Version string `json:"version,omitempty"`
}

// The modes: the first customization that matches a cluster applies, or every one.
const (
	FirstMatch = "FirstMatch"
	AllMatches = "AllMatches"
)

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
