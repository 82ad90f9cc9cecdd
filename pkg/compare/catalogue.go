// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"cmp"
	"reflect"
	"slices"
)

// Default is one field that the API server sets by itself: a field of a struct of the API, wherever that struct is used.
type Default struct {
	// Struct is the struct's Go type, such as k8s.io/api/core/v1.ServicePort, and Field the name of its field in JSON.
	Struct reflect.Type
	Field  string
	// Value is the default if the manifest states none, as decoded JSON. It is nil if the server computes the value from other stated
	// fields (For returns it then), and if Chosen is true.
	Value any
	// Chosen reports that a stated zero value leaves the value to the server, to admission or to a controller.
	Chosen bool

	compute func(stated map[string]any) any
}

// For returns the default in a struct with these stated fields; nil if there is no default, or if the server may set any value.
func (d Default) For(stated map[string]any) any {
	if d.compute != nil {
		return d.compute(stated)
	}
	return d.Value
}

// Defaults returns the defaults of the API server that a comparison needs, ordered by type and field: fields in atomic lists, and replacements of
// stated zero values. A comparison ignores all other fields that the manifest does not state.
func Defaults() []Default {
	var out []Default
	for k, v := range defaults {
		out = append(out, Default{Struct: k.owner, Field: k.name, Value: v})
	}
	for k, f := range computed {
		out = append(out, Default{Struct: k.owner, Field: k.name, compute: f})
	}
	for k := range allocated {
		out = append(out, Default{Struct: k.owner, Field: k.name, Chosen: true})
	}
	slices.SortFunc(out, func(a, b Default) int {
		return cmp.Or(cmp.Compare(a.Struct.PkgPath(), b.Struct.PkgPath()), cmp.Compare(a.Struct.Name(), b.Struct.Name()),
			cmp.Compare(a.Field, b.Field))
	})
	return out
}
