// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"cmp"
	"reflect"
	"slices"
)

// Default is one thing that the API server writes by itself: a field of a struct of the API, wherever that struct stands.
type Default struct {
	// Struct is the struct's Go type, such as k8s.io/api/core/v1.ServicePort, and Field the name of its field in JSON.
	Struct reflect.Type
	Field  string
	// Value is what is written where the manifest states none, as decoded JSON. It is nil where the server makes it from what is stated
	// beside the field, which For answers, and where it is Chosen.
	Value any
	// Chosen says that the manifest leaves the value to the server, to admission or to a controller by stating zero.
	Chosen bool

	compute func(stated map[string]any) any
}

// For returns the value that is written into a struct of which these fields are stated; nil where none is, or any may be.
func (d Default) For(stated map[string]any) any {
	if d.compute != nil {
		return d.compute(stated)
	}
	return d.Value
}

// Defaults returns all that is known of what the API server writes by itself, as far as a comparison needs it, ordered by type and field:
// what stands in lists that count as a whole, and what a stated zero value is replaced by. Others are fields that nobody stated.
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
