// SPDX-License-Identifier: Apache-2.0

// Package object says which object is meant, and in which order objects are shown.
// It is a leaf: it knows nothing of Fleet, of clusters or of reports.
package object

import (
	"cmp"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Key is the identity of an object within one cluster, whatever version it is read in. It is comparable, so that it can key a map.
// Namespace is empty for cluster-scoped objects.
type Key struct {
	Group, Kind, Namespace, Name string
}

// GroupKind returns the kind without its version.
func (k Key) GroupKind() schema.GroupKind { return schema.GroupKind{Group: k.Group, Kind: k.Kind} }

// Type is the kind as kubectl names it: "deployment.apps".
func (k Key) Type() string {
	if k.Group == "" {
		return strings.ToLower(k.Kind)
	}
	return strings.ToLower(k.Kind) + "." + k.Group
}

// String writes the key as kubectl names objects: "deployment.apps guestbook/frontend".
func (k Key) String() string {
	if k.Namespace == "" {
		return k.Type() + " " + k.Name
	}
	return k.Type() + " " + k.Namespace + "/" + k.Name
}

// Compare orders keys by group, kind, namespace and name.
func (k Key) Compare(o Key) int {
	return cmp.Or(cmp.Compare(k.Group, o.Group), cmp.Compare(k.Kind, o.Kind),
		cmp.Compare(k.Namespace, o.Namespace), cmp.Compare(k.Name, o.Name))
}

// Ref names an object in a report: its Key with the version in which it was stated or read.
type Ref struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Namespace  string `json:"namespace,omitempty"`
	Name       string `json:"name"`
}

// Key returns the identity without the version.
func (r Ref) Key() Key {
	return Key{Group: Group(r.APIVersion), Kind: r.Kind, Namespace: r.Namespace, Name: r.Name}
}

// GroupVersionKind returns the kind with its version.
func (r Ref) GroupVersionKind() schema.GroupVersionKind {
	return schema.FromAPIVersionAndKind(r.APIVersion, r.Kind)
}

// Compare orders references by key, then by version.
func (r Ref) Compare(o Ref) int {
	return cmp.Or(r.Key().Compare(o.Key()), cmp.Compare(r.APIVersion, o.APIVersion))
}

// Group returns the group of an apiVersion: "apps" of "apps/v1", "" of "v1".
func Group(apiVersion string) string {
	if i := strings.LastIndexByte(apiVersion, '/'); i >= 0 {
		return apiVersion[:i]
	}
	return ""
}
