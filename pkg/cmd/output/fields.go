// SPDX-License-Identifier: Apache-2.0

package output

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"k8s.io/client-go/util/jsonpath"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/cli"
)

// field is a field of a JSON object.
type field struct {
	name string
	of   reflect.Type
}

// fieldsOf returns the fields of a type in JSON, those of embedded types too. It is empty for a type that is not a
// struct, and for one with a form of its own.
func fieldsOf(t reflect.Type) []field {
	if t.Kind() != reflect.Struct || t.Implements(reflect.TypeFor[json.Marshaler]()) {
		return nil
	}
	var out []field
	for _, f := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.IsExported() && name != "" && name != "-" {
			out = append(out, field{name, value(f.Type)})
		}
	}
	return out
}

// value returns the type that a pointer points to.
func value(t reflect.Type) reflect.Type {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t
}

// lists returns the names of the fields that are lists of objects, in the order of the type, and the types of their
// elements.
func lists(document reflect.Type) (names []string, elements map[string]reflect.Type) {
	elements = map[string]reflect.Type{}
	for _, f := range fieldsOf(document) {
		if f.of.Kind() == reflect.Slice && len(fieldsOf(value(f.of.Elem()))) > 0 {
			names = append(names, f.name)
			elements[f.name] = value(f.of.Elem())
		}
	}
	return names, elements
}

// unknownFieldError is a part of a path that names no field.
type unknownFieldError struct {
	path  string   // the path up to the field
	name  string   // the field
	known []string // the fields that exist there
	list  bool     // the path before the field is a list
}

// Error implements error.
func (e *unknownFieldError) Error() string {
	if e.list {
		return fmt.Sprintf("%s is a list: write %s[*].%s", e.path, e.path, e.name)
	}
	return fmt.Sprintf("there is no field %s.%s", e.path, e.name)
}

// hint lists the fields that exist.
func (e *unknownFieldError) hint() string {
	if e.list {
		return ""
	}
	where := ""
	if e.path != "" {
		where = " of " + e.path
	}
	out := "Fields" + where + ": " + strings.Join(slices.Sorted(slices.Values(e.known)), ", ")
	if near := cli.HintIn(e.path+".", e.name, "", e.known); near != "" {
		out = near + "\n" + out
	}
	return out
}

// checkPath returns an *unknownFieldError as the error if a path names a field that no value of the type can have. It
// follows the path up to the first part that is more than a name or an index.
func checkPath(path string, t reflect.Type) error {
	parsed, err := jsonpath.Parse("path", bracketed(path))
	if err != nil {
		return err
	}
	at := ""
	for _, node := range parsed.Root.Nodes {
		list, ok := node.(*jsonpath.ListNode)
		if !ok {
			return nil
		}
		for _, node := range list.Nodes {
			if t, at, err = step(node, t, at); t == nil || err != nil {
				return err
			}
		}
	}
	return nil
}

// step follows one part of a path. The type is nil if the rest cannot be checked.
func step(node jsonpath.Node, t reflect.Type, at string) (reflect.Type, string, error) {
	isList := t.Kind() == reflect.Slice
	switch n := node.(type) {
	case *jsonpath.ArrayNode, *jsonpath.WildcardNode:
		if isList {
			return value(t.Elem()), at + "[*]", nil
		}
	case *jsonpath.FieldNode:
		return stepInto(n.Value, t, at, isList)
	}
	return nil, "", nil
}

func stepInto(name string, t reflect.Type, at string, isList bool) (reflect.Type, string, error) {
	if isList && len(fieldsOf(value(t.Elem()))) > 0 {
		return nil, "", &unknownFieldError{path: at, name: name, list: true}
	}
	fields := fieldsOf(t)
	if len(fields) == 0 {
		return nil, "", nil // a map, or a type with a form of its own
	}
	var known []string
	for _, f := range fields {
		if f.name == name {
			return f.of, at + "." + name, nil
		}
		known = append(known, f.name)
	}
	return nil, "", &unknownFieldError{path: at, name: name, known: known}
}

// bracketed is the path as a template: {.name}.
func bracketed(path string) string {
	bare := strings.TrimSuffix(strings.TrimPrefix(path, "{"), "}")
	return "{." + strings.TrimPrefix(bare, ".") + "}"
}
