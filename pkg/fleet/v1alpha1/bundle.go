// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"encoding/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Bundle is a set of manifests with its target clusters. BundleContents has its files.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:pruning:PreserveUnknownFields
type Bundle struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +kubebuilder:pruning:PreserveUnknownFields
	Spec BundleSpec `json:"spec,omitempty"`
	// +kubebuilder:pruning:PreserveUnknownFields
	Status Status `json:"status,omitempty"`

	// Size is the size of its JSON in bytes, if that may be large.
	Size int `json:"-"`
}

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
	// ContentsID names the Secret of the OCI registry that has the contents; empty if the cluster has them.
	ContentsID string `json:"contentsId,omitempty"`
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
