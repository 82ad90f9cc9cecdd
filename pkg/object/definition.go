// SPDX-License-Identifier: Apache-2.0

package object

import "k8s.io/apimachinery/pkg/runtime/schema"

// Defined returns the kind that a CustomResourceDefinition defines, given as JSON; ok is false for any other object.
func Defined(raw []byte) (kind schema.GroupKind, ok bool) {
	var crd struct {
		Kind string `json:"kind"`
		Spec struct {
			Group string `json:"group"`
			Names struct {
				Kind string `json:"kind"`
			} `json:"names"`
		} `json:"spec"`
	}
	if err := Into(raw, &crd); err != nil || crd.Kind != "CustomResourceDefinition" {
		return kind, false
	}
	return schema.GroupKind{Group: crd.Spec.Group, Kind: crd.Spec.Names.Kind}, true
}
