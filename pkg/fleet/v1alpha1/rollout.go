// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import "k8s.io/apimachinery/pkg/util/intstr"

// RolloutStrategy limits how many clusters of a Bundle are updated at a time. Source: docs/fleet-behavior.md, 5.7.
//
// +kubebuilder:pruning:PreserveUnknownFields
type RolloutStrategy struct {
	// MaxUnavailable, a number or a percentage, limits the unavailable clusters of the whole Bundle, and of each
	// partition that states no limit.
	MaxUnavailable           *intstr.IntOrString `json:"maxUnavailable,omitempty"`
	MaxUnavailablePartitions *intstr.IntOrString `json:"maxUnavailablePartitions,omitempty"`
	AutoPartitionSize        *intstr.IntOrString `json:"autoPartitionSize,omitempty"`
	AutoPartitionThreshold   *int                `json:"autoPartitionThreshold,omitempty"`
	Partitions               []Partition         `json:"partitions,omitempty"`
}

// Partition selects the clusters that are updated together.
//
// +kubebuilder:pruning:PreserveUnknownFields
type Partition struct {
	ClusterTarget  `json:",inline"`
	MaxUnavailable *intstr.IntOrString `json:"maxUnavailable,omitempty"`
}
