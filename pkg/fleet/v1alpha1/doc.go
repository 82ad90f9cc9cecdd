// SPDX-License-Identifier: Apache-2.0

// Package v1alpha1 has the fields of Fleet's API that fleetdoctor reads, as Fleet writes them
// (fleet.cattle.io/v1alpha1, 0.10 to main). The CRDs that the tests generate from these types keep unknown fields.
//
// +kubebuilder:object:generate=false
// +groupName=fleet.cattle.io
package v1alpha1

import "k8s.io/apimachinery/pkg/runtime/schema"

// GroupVersion is the only version of Fleet's API.
var GroupVersion = schema.GroupVersion{Group: "fleet.cattle.io", Version: "v1alpha1"}

// Kind returns one of Fleet's kinds with its group and version.
func Kind(kind string) schema.GroupVersionKind { return GroupVersion.WithKind(kind) }
