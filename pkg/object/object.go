// SPDX-License-Identifier: Apache-2.0

// Package object has the identity of objects, their order in documents, and the decoders of their JSON. It does not
// depend on Fleet, clusters or reports.
package object

import (
	"cmp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Key is the identity of an object within one cluster, in all versions of its kind. Namespace is empty for
// cluster-scoped objects.
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

// String writes the key for people: "deployment guestbook/frontend", "shop.example.com web/main".
func (k Key) String() string {
	kind := k.Type()
	if slices.Contains(impliedGroups, k.Group) {
		kind = strings.ToLower(k.Kind)
	}
	if k.Namespace == "" {
		return kind + " " + k.Name
	}
	return kind + " " + k.Namespace + "/" + k.Name
}

// impliedGroups are the groups of Kubernetes whose kinds people name without them. No two of these groups have a kind
// of the same name.
var impliedGroups = []string{"apps", "batch", "autoscaling", "policy", "networking.k8s.io", "rbac.authorization.k8s.io",
	"apiextensions.k8s.io"}

// Compare orders keys by group, kind, namespace and name.
func (k Key) Compare(o Key) int {
	switch { // without comparisons that are not needed: reports sort all objects
	case k.Group != o.Group:
		return cmp.Compare(k.Group, o.Group)
	case k.Kind != o.Kind:
		return cmp.Compare(k.Kind, o.Kind)
	case k.Namespace != o.Namespace:
		return cmp.Compare(k.Namespace, o.Namespace)
	}
	return cmp.Compare(k.Name, o.Name)
}

// Ref identifies an object in a document: its Key with the version of the manifest or of the read object.
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

// IsSecret reports whether the object is a Secret of the core group.
func (r Ref) IsSecret() bool { return r.Kind == "Secret" && Group(r.APIVersion) == "" }

// Compare orders references by key, then by version.
func (r Ref) Compare(o Ref) int {
	return cmp.Or(r.Key().Compare(o.Key()), cmp.Compare(r.APIVersion, o.APIVersion))
}

// Group returns the group of an apiVersion: "apps" of "apps/v1", "" of "v1".
func Group(apiVersion string) string {
	return apiVersion[:max(0, strings.LastIndexByte(apiVersion, '/'))]
}

// Content is an object as apimachinery's unstructured package represents it: map[string]any, []any, string, bool,
// int64, float64, nil.
type Content = map[string]any
