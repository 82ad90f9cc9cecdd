// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes/scheme"
)

// typeOf returns the Go type of a built-in kind, or nil for all others. As in Fleet, kinds of client-go's scheme are
// compared by their struct's merge keys, all others as plain JSON (docs/fleet-behavior.md, 3.1).
func typeOf(gvk schema.GroupVersionKind) reflect.Type { return scheme.Scheme.AllKnownTypes()[gvk] }

// Custom reports whether a kind is none of client-go's scheme, for example that of a custom resource. Helm patches its
// objects, if it does not apply them server-side, by the difference of two manifests: it does not see the live object.
func Custom(gvk schema.GroupVersionKind) bool { return typeOf(gvk) == nil }

// listKind is how two lists are compared.
type listKind int

const (
	listAtomic  listKind = iota // as a whole: same length, each element exactly
	listReduced                 // same length, and only the stated fields of each element
	listMerge                   // stated elements are found by key, in the stated order; others are ignored
	listSet                     // the same for plain values
)

// field describes one field. Field is its key in the tables of defaults.
type field struct {
	Field
	typ reflect.Type // nil if it is not known
	// zeroIsUnset: the API cannot distinguish a zero value from none (a field that is omitted when empty, and not a
	// pointer).
	zeroIsUnset bool
	// nullIsZero: null is stored as the zero value, because maps of text, ports and percentages of the API cannot store
	// null.
	nullIsZero bool
	// whole: the field is replaced as a whole, not merged. exclusive: a stated key removes the keys that are not
	// stated.
	whole, exclusive bool
	list             listKind
	mergeKey         string
}

// untyped is a field without Go type: of custom resources.
var untyped = field{list: listReduced}

// fieldsByType caches structFields. The function is pure, so all comparisons can share the cache.
var fieldsByType sync.Map // reflect.Type -> map[string]field

// member returns the field called name in a value of the parent's type.
func member(parent field, name string) field {
	t := deref(parent.typ)
	switch {
	case t == nil:
		return untyped
	case t.Kind() == reflect.Map:
		return field{Field: Field{Name: name}, typ: t.Elem(), list: parent.list,
			nullIsZero: t.Elem().Kind() == reflect.String || t.Elem() == bytesType}
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
	if f, ok := fields[name]; ok {
		return f
	}
	return field{Field: Field{t, name}, list: listReduced}
}

// element returns the field of the elements of a list.
func element(list field) field {
	t := deref(list.typ)
	if t == nil || t.Kind() != reflect.Slice {
		return untyped
	}
	return field{typ: t.Elem(), list: listAtomic, exclusive: list.exclusive}
}

func structFields(t reflect.Type) map[string]field {
	out := map[string]field{}
	for f := range t.Fields() {
		name, opts, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" && (f.Anonymous || strings.Contains(opts, "inline")) {
			maps.Copy(out, structFields(deref(f.Type)))
			continue
		}
		if name == "" || name == "-" {
			continue
		}
		strategies := strings.Split(f.Tag.Get("patchStrategy"), ",")
		out[name] = field{
			Field: Field{t, name}, typ: f.Type,
			zeroIsUnset: f.Type.Kind() != reflect.Pointer,
			nullIsZero:  f.Type == intOrString,
			whole:       slices.Contains(strategies, "replace"),
			exclusive:   slices.Contains(strategies, "retainKeys"),
			list:        listKindOf(t, f, slices.Contains(strategies, "merge")),
			mergeKey:    f.Tag.Get("patchMergeKey"),
		}
	}
	return out
}

func listKindOf(owner reflect.Type, f reflect.StructField, merge bool) listKind {
	switch {
	case owner == reflect.TypeFor[appsv1.StatefulSetSpec]() && f.Name == "VolumeClaimTemplates":
		// The API server sets more than defaults here; Fleet compares the stated fields only (docs/fleet-behavior.md,
		// 3.2).
		return listReduced
	case deref(f.Type).Kind() != reflect.Slice || !merge:
		return listAtomic
	case f.Tag.Get("patchMergeKey") == "":
		return listSet
	}
	return listMerge
}

// pathKeys lists the key fields of server-side apply, sorted, for lists in which they differ from the merge key. The
// API server identifies an element by them in a field path. A test compares the table with client-go's schema. Lists
// that have keys in server-side apply but are atomic in strategic merge (claims of a container's resources) are
// compared as a whole, as Fleet does. Their elements have an index in the path; Managers finds the API server's own
// name for them.
var pathKeys = map[reflect.Type][]string{
	reflect.TypeFor[corev1.ContainerPort]():            {"containerPort", "protocol"},
	reflect.TypeFor[corev1.ServicePort]():              {"port", "protocol"},
	reflect.TypeFor[corev1.TopologySpreadConstraint](): {"topologyKey", "whenUnsatisfiable"},
	reflect.TypeFor[metav1.Condition]():                {"type"},
}

// Field is a field of a struct of the API, wherever that struct is used: one entry is valid for the pod templates of
// all workloads.
type Field struct {
	Struct reflect.Type // such as k8s.io/api/core/v1.ServicePort
	Name   string       // in JSON
}

// TypeError returns a field of a manifest, given as JSON, whose value has a type that a built-in kind does not accept,
// as a sentence that does not quote the value. It is empty if the types are correct, or if the kind is not built in.
func TypeError(gvk schema.GroupVersionKind, manifest []byte) string {
	t := typeOf(gvk)
	if t == nil {
		return ""
	}
	wrong, ok := errors.AsType[*json.UnmarshalTypeError](json.Unmarshal(manifest, reflect.New(t).Interface()))
	if !ok {
		return ""
	}
	return "." + wrong.Field + " has a value that is not of type " + wrong.Type.String()
}

var (
	quantityType  = reflect.TypeFor[resource.Quantity]()
	intOrString   = reflect.TypeFor[intstr.IntOrString]()
	durationType  = reflect.TypeFor[metav1.Duration]()
	timeType      = reflect.TypeFor[metav1.Time]()
	microTimeType = reflect.TypeFor[metav1.MicroTime]()
	bytesType     = reflect.TypeFor[[]byte]()
)

// equalScalars reports whether two plain values have the same meaning in a field of that type (nil: not known).
func equalScalars(t reflect.Type, desired, live any) bool {
	if desired == live || equalNumbers(desired, live) || equalNumbers(live, desired) {
		return true
	}
	t = deref(t)
	if t == nil || live == nil || !plain(live) {
		return false
	}
	d, l := fmt.Sprint(desired), fmt.Sprint(live)
	switch t {
	case quantityType:
		return equalQuantities(d, l)
	case intOrString:
		return d == l
	case durationType:
		return equalBy(time.ParseDuration, d, l, func(a, b time.Duration) bool { return a == b })
	case timeType, microTimeType:
		return equalBy(parseTime, d, l, time.Time.Equal)
	case bytesType:
		return equalBy(base64.StdEncoding.DecodeString, d, l, bytes.Equal)
	}
	// A number or boolean in a text field: the manifest lacks the quotes, and the server stored the text.
	return t.Kind() == reflect.String && d == l
}

func equalBy[T any](parse func(string) (T, error), a, b string, equal func(T, T) bool) bool {
	x, err := parse(a)
	if err != nil {
		return false
	}
	y, err := parse(b)
	return err == nil && equal(x, y)
}

// equalQuantities compares quantities as the API server stores them: rounded up to a thousandth.
func equalQuantities(a, b string) bool {
	return equalBy(resource.ParseQuantity, a, b, func(x, y resource.Quantity) bool {
		x.RoundUp(resource.Milli)
		y.RoundUp(resource.Milli)
		return x.Cmp(y) == 0
	})
}

func parseTime(s string) (time.Time, error) { return time.Parse(time.RFC3339Nano, s) }

// equalNumbers reports whether an integer and a float are the same number.
func equalNumbers(a, b any) bool {
	i, isInt := a.(int64)
	f, isFloat := b.(float64)
	return isInt && isFloat && float64(i) == f
}

// plain reports whether a value is neither an object nor a list.
func plain(v any) bool {
	switch v.(type) {
	case map[string]any, []any:
		return false
	}
	return true
}

// isZero reports whether a value is the zero value, which means "not set" in a field that is omitted when empty.
func isZero(v any) bool {
	switch v := v.(type) {
	case []any:
		return len(v) == 0
	case map[string]any:
		return len(v) == 0
	}
	switch v {
	case nil, "", false, int64(0), float64(0):
		return true
	}
	return false
}

func deref(t reflect.Type) reflect.Type {
	if t != nil && t.Kind() == reflect.Pointer {
		return t.Elem()
	}
	return t
}
