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

// filled is a field that the server has written into a struct that the manifest states, where the manifest states none or zero.
type filled struct {
	owner  reflect.Type // the struct that declares the field
	name   string
	value  any
	beside map[string]any // what is stated in the struct
	at     []any          // the way to the struct, by names and numbers
	// omitted: zero is left out when the field is written, so that stating it may be a way to state nothing.
	omitted bool
}

// zeroed returns the manifest with the field stated as zero.
func (f filled) zeroed(manifest *unstructured.Unstructured) *unstructured.Unstructured {
	out := manifest.DeepCopy()
	put(out.Object, append(slices.Clone(f.at), f.name), zeroOf(f.value))
	return out
}

// put writes a value into another one, and returns that.
func put(in any, way []any, v any) any {
	if len(way) == 0 {
		return v
	}
	switch in := in.(type) {
	case map[string]any:
		name, _ := way[0].(string)
		in[name] = put(in[name], way[1:], v)
	case []any:
		i, _ := way[0].(int)
		in[i] = put(in[i], way[1:], v)
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

// compared goes through what is stated, side by side with what is live, and visits each field that was filled in, with zero too. Lists are gone through
// by their order, which a server keeps when it creates an object.
func compared(t reflect.Type, at []any, stated, live any, visit func(filled)) {
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
			way := append(slices.Clone(at), name)
			owner, field, ok := fieldOf(t, name)
			switch s, isStated := stated[name]; {
			case !ok:
			case isStated && !isZero(s):
				compared(field.Type, way, s, v, visit)
			case v != nil:
				visit(filled{owner, name, v, stated, at, field.Type.Kind() != reflect.Pointer})
			}
			if t.Kind() == reflect.Map {
				compared(t.Elem(), way, stated[name], v, visit)
			}
		}
	case []any:
		stated, _ := stated.([]any)
		for i := range min(len(stated), len(live)) {
			compared(t.Elem(), append(slices.Clone(at), i), stated[i], live[i], visit)
		}
	}
}

// fieldOf returns the field of that name in JSON, and the struct that declares it.
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
