// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import "strings"

// BundleDeletion are the fields of a Bundle's spec that decide what its deletion removes. Source:
// docs/fleet-behavior.md, 1.12.
//
// +kubebuilder:pruning:PreserveUnknownFields
type BundleDeletion struct {
	// TargetNamespace, if set, is the namespace of every object.
	TargetNamespace string `json:"namespace,omitempty"`
	KeepResources   bool   `json:"keepResources,omitempty"`
	DeleteNamespace bool   `json:"deleteNamespace,omitempty"`
}

// RepoDeletion are the same fields of a GitRepo.
//
// +kubebuilder:pruning:PreserveUnknownFields
type RepoDeletion struct {
	TargetNamespace string `json:"targetNamespace,omitempty"`
	KeepResources   bool   `json:"keepResources,omitempty"`
	DeleteNamespace bool   `json:"deleteNamespace,omitempty"`
}

// Deletes returns the Namespace of the management cluster that is deleted with the object; empty if none is deleted.
func (d RepoDeletion) Deletes() string {
	ns := d.TargetNamespace
	switch ns {
	case "default", "fleet-local", "fleet-default", "cattle-fleet-system", "cattle-fleet-clusters-system":
		return ""
	}
	if !d.DeleteNamespace || d.KeepResources || strings.HasPrefix(ns, "kube-") {
		return ""
	}
	return ns
}
