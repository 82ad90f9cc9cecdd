// SPDX-License-Identifier: Apache-2.0

package defaults_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// filled is a field that the server has set in a struct of the manifest, which does not state it or states zero.
type filled struct {
	owner    reflect.Type // the struct that declares the field
	name     string
	value    any
	siblings map[string]any // the stated fields of the struct
	at       []any          // path to the struct: names and indexes
	// omitted reports that a zero value is omitted in JSON, so that a stated zero may mean "not stated".
	omitted bool
}

// zeroed returns the manifest with the field stated as zero.
func (f filled) zeroed(manifest *unstructured.Unstructured) *unstructured.Unstructured {
	out := manifest.DeepCopy()
	put(out.Object, append(slices.Clone(f.at), f.name), zeroOf(f.value))
	return out
}

// put writes a value at a path within another value, and returns that.
func put(in any, path []any, v any) any {
	if len(path) == 0 {
		return v
	}
	switch in := in.(type) {
	case map[string]any:
		name, _ := path[0].(string)
		in[name] = put(in[name], path[1:], v)
	case []any:
		i, _ := path[0].(int)
		in[i] = put(in[i], path[1:], v)
	}
	return in
}

func zeroOf(v any) any {
	switch v.(type) {
	case string:
		return ""
	case int64:
		return int64(0)
	case bool:
		return false
	case []any:
		return []any{}
	}
	return map[string]any{}
}

// walkFilled walks stated and live values side by side and visits each field that the server set, also to zero. It
// pairs list elements by their order, which a server keeps when it creates an object.
func walkFilled(t reflect.Type, at []any, stated, live any, visit func(filled)) {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch live := live.(type) {
	case map[string]any:
		stated, _ := stated.(map[string]any)
		for name, v := range live {
			if len(at) == 0 && (name == "metadata" || name == "status") {
				continue
			}
			path := append(slices.Clone(at), name)
			owner, field, ok := fieldOf(t, name)
			switch s, isStated := stated[name]; {
			case !ok:
			case isStated && !isZero(s):
				walkFilled(field.Type, path, s, v, visit)
			case v != nil:
				visit(filled{owner, name, v, stated, at, field.Type.Kind() != reflect.Pointer})
			}
			if t.Kind() == reflect.Map {
				walkFilled(t.Elem(), path, stated[name], v, visit)
			}
		}
	case []any:
		stated, _ := stated.([]any)
		for i := range min(len(stated), len(live)) {
			walkFilled(t.Elem(), append(slices.Clone(at), i), stated[i], live[i], visit)
		}
	}
}

// fieldOf returns the field with this JSON name and the struct that declares it.
func fieldOf(t reflect.Type, name string) (owner reflect.Type, field reflect.StructField, ok bool) {
	if t.Kind() != reflect.Struct {
		return nil, field, false
	}
	for f := range t.Fields() {
		tag, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if tag == name {
			return t, f, true
		}
		if tag == "" && (f.Anonymous || strings.Contains(options, "inline")) {
			if owner, field, ok := fieldOf(f.Type, name); ok {
				return owner, field, true
			}
		}
	}
	return nil, field, false
}

func isZero(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case map[string]any:
		return len(v) == 0
	case []any:
		return len(v) == 0
	}
	return reflect.ValueOf(v).IsZero()
}

func sorted(list []string) []string {
	slices.Sort(list)
	return list
}

func parse(t *testing.T, manifest string) map[string]any {
	t.Helper()
	var out map[string]any
	if err := yaml.Unmarshal([]byte(manifest), &out); err != nil {
		t.Fatalf("%s: %v", manifest, err)
	}
	return out
}
