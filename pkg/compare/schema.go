// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"reflect"
	"slices"
	"strings"
	"sync"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
)

// typeOf returns the Go type of a built-in kind, or nil for all others. That is where Fleet draws its line too: kinds of client-go's
// scheme are compared by their struct's merge keys, all others as plain JSON (docs/fleet-behavior.md, 3.1).
func typeOf(gvk schema.GroupVersionKind) reflect.Type { return scheme.Scheme.AllKnownTypes()[gvk] }

// listKind says how two lists are held against each other.
type listKind int

const (
	listAtomic  listKind = iota // as a whole: same length, each element exactly
	listReduced                 // same length, and of each element only what is stated
	listMerge                   // stated elements are found by key, in the stated order; others are nobody's business
	listSet                     // the same for plain values
)

// field is what the walk needs to know of one field of a struct.
type field struct {
	typ reflect.Type // nil where it is not known
	// zeroIsUnset: the API cannot tell a zero value from none (a field that is omitted when empty, and no pointer).
	zeroIsUnset bool
	// nullIsZero: null is kept as the zero value, because the API's map has no place for null, nor has a port or a percentage.
	nullIsZero bool
	// whole: the field is replaced as a whole, not merged. exclusive: a stated key drops the unstated ones beside it.
	whole, exclusive bool
	list             listKind
	mergeKey         string
	owner            reflect.Type // the struct, with name the key into the table of defaults
	name             string
}

// untyped is the field of anything that has no Go type: custom resources.
var untyped = field{list: listReduced}

// fieldsByType caches the fields of struct types. It is a memo of a pure function, so sharing it changes no result.
var fieldsByType sync.Map // reflect.Type -> map[string]field

// member returns the field called name in a value of type t.
func member(parent field, name string) field {
	t := deref(parent.typ)
	switch {
	case t == nil:
		return untyped
	case t.Kind() == reflect.Map:
		return field{typ: t.Elem(), list: parent.list, name: name, nullIsZero: isText(t.Elem())}
	case t.Kind() != reflect.Struct:
		return untyped
	}
	memo, ok := fieldsByType.Load(t)
	if !ok {
		memo, _ = fieldsByType.LoadOrStore(t, structFields(t))
	}
	fields, _ := memo.(map[string]field)
	if len(fields) == 0 {
		return untyped // an object of any kind within the object: runtime.RawExtension
	}
	f, ok := fields[name]
	if !ok {
		return field{list: listReduced, owner: t, name: name}
	}
	return f
}

// element returns the field of the elements of a list.
func element(list field) field {
	t := deref(list.typ)
	if t == nil || t.Kind() != reflect.Slice {
		return untyped
	}
	return field{typ: t.Elem(), list: listAtomic, exclusive: list.exclusive}
}

func isText(t reflect.Type) bool { return t.Kind() == reflect.String || t == bytesType }

func structFields(t reflect.Type) map[string]field {
	out := map[string]field{}
	for f := range t.Fields() {
		name, opts, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" && (f.Anonymous || strings.Contains(opts, "inline")) {
			for n, inner := range structFields(deref(f.Type)) {
				out[n] = inner
			}
			continue
		}
		if name == "" || name == "-" {
			continue
		}
		strategies := strings.Split(f.Tag.Get("patchStrategy"), ",")
		out[name] = field{
			typ: f.Type, owner: t, name: name,
			zeroIsUnset: f.Type.Kind() != reflect.Pointer,
			nullIsZero:  f.Type == intOrString,
			whole:       slices.Contains(strategies, "replace"),
			exclusive:   slices.Contains(strategies, "retainKeys"),
			list:        listKindOf(t, f, name),
			mergeKey:    f.Tag.Get("patchMergeKey"),
		}
	}
	return out
}

func listKindOf(owner reflect.Type, f reflect.StructField, name string) listKind {
	if deref(f.Type).Kind() != reflect.Slice {
		return listAtomic
	}
	if owner == reflect.TypeFor[appsv1.StatefulSetSpec]() && name == "volumeClaimTemplates" {
		// The API server sets more than its defaults here; Fleet compares the stated fields only (docs/fleet-behavior.md, 3.2).
		return listReduced
	}
	if !slices.Contains(strings.Split(f.Tag.Get("patchStrategy"), ","), "merge") {
		return listAtomic
	}
	if f.Tag.Get("patchMergeKey") == "" {
		return listSet
	}
	return listMerge
}

func deref(t reflect.Type) reflect.Type {
	if t != nil && t.Kind() == reflect.Pointer {
		return t.Elem()
	}
	return t
}

// pathKeys lists the keys by which the API server writes an element of a list into a field path, where they are more or other than
// the merge key: key fields of server-side apply, sorted. A test holds the table against client-go's schema. Lists that server-side apply
// keys, but strategic merge takes as a whole (claims of a container's resources), are compared as a whole like Fleet does, and
// their elements named by index; Managers finds the API server's own name for them.
var pathKeys = map[reflect.Type][]string{
	reflect.TypeFor[corev1.ContainerPort]():            {"containerPort", "protocol"},
	reflect.TypeFor[corev1.ServicePort]():              {"port", "protocol"},
	reflect.TypeFor[corev1.TopologySpreadConstraint](): {"topologyKey", "whenUnsatisfiable"},
	reflect.TypeFor[metav1.Condition]():                {"type"},
}
