// SPDX-License-Identifier: Apache-2.0

package compare_test

import (
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/client-go/applyconfigurations"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	smd "sigs.k8s.io/structured-merge-diff/v6/schema"
	"sigs.k8s.io/structured-merge-diff/v6/value"
)

// place is a value within an object, with its description in Kubernetes' own libraries: the schema of server-side
// apply, which defines the notation of paths, and the tags of strategic merge patch, which define the lists that Fleet
// merges. With it, tests find a path without the tested package.
type place struct {
	path   fieldpath.Path
	tokens []any // the same path with only names and indexes
	value  any

	schema *smd.Schema
	atom   smd.Atom
	known  bool // the schema has the place

	tags strategicpatch.LookupPatchMeta // the tags, if the value is a struct; otherwise nil
	// in is the struct that has the value under name; siblings are its stated fields.
	in       reflect.Type
	name     string
	siblings map[string]any
	// mergeKey is the merge key of the elements, if the value is a list that is merged by key.
	mergeKey string
	merged   bool // the value is a list that is merged
	// whole: the value is in a list or map that is not merged. isKey: the value is the merge key of an element.
	whole, isKey bool
	// element is the path of the element, if the value is its merge key.
	element fieldpath.Path
	elemKey string
}

// rootOf describes an object of a kind.
func rootOf(tb testing.TB, gvk schema.GroupVersionKind, content map[string]any) place {
	tb.Helper()
	root := place{value: content}
	typed, err := scheme.Scheme.New(gvk)
	if err != nil {
		return root // a custom resource has no known schema
	}
	typed.GetObjectKind().SetGroupVersionKind(gvk)
	v, err := applyconfigurations.NewTypeConverter(scheme.Scheme).ObjectToTyped(typed)
	if err != nil {
		tb.Fatalf("%s: %v", gvk, err)
	}
	root.schema = v.Schema()
	root.atom, root.known = root.schema.Resolve(v.TypeRef())
	tags, err := strategicpatch.NewPatchMetaFromStruct(reflect.New(reflect.TypeOf(typed).Elem()).Interface())
	if err != nil {
		tb.Fatalf("%s: %v", gvk, err)
	}
	root.tags = tags
	return root
}

func isCustom(gvk schema.GroupVersionKind) bool { return !scheme.Scheme.Recognizes(gvk) }

// resolve continues with a type of the schema, if there is one.
func (p *place) resolve(ref smd.TypeRef, ok bool) {
	if p.known = p.known && ok; p.known {
		p.atom, p.known = p.schema.Resolve(ref)
	}
}

// field returns the value under a name.
func (p place) field(name string, v any) place {
	out := place{value: v, schema: p.schema, known: p.known, whole: p.whole, name: name}
	out.path, out.tokens = append(p.path.Copy(), fieldpath.PathElement{FieldName: &name}),
		append(slices.Clone(p.tokens), name)
	out.siblings, _ = p.value.(map[string]any)
	if p.elemKey == name {
		out.isKey, out.element = true, p.path
	}
	if m := p.atom.Map; p.known && m != nil {
		f, ok := m.FindField(name)
		ref := m.ElementType
		if ok {
			ref = f.Type
		}
		out.resolve(ref, ok || !reflect.DeepEqual(m.ElementType, smd.TypeRef{}))
	} else {
		out.known = false
	}
	if p.tags == nil {
		return out
	}
	if s, ok := p.tags.(strategicpatch.PatchMetaFromStruct); ok {
		if out.in = s.T; out.in.Kind() == reflect.Pointer {
			out.in = out.in.Elem()
		}
	}
	out.follow(p.tags, name)
	return out
}

// follow reads the tags of a field of a struct.
func (p *place) follow(tags strategicpatch.LookupPatchMeta, name string) {
	var patch strategicpatch.PatchMeta
	var err error
	if _, isList := p.value.([]any); isList {
		p.tags, patch, err = tags.LookupPatchMetadataForSlice(name)
	} else {
		p.tags, patch, err = tags.LookupPatchMetadataForStruct(name)
	}
	if err != nil {
		p.tags = nil // a plain value, or a map
	}
	strategies := patch.GetPatchStrategies()
	p.merged, p.mergeKey = slices.Contains(strategies, "merge"), patch.GetPatchMergeKey()
	p.whole = p.whole || slices.Contains(strategies, "replace") || slices.Contains(strategies, "retainKeys")
}

// at returns the i-th element of a list.
func (p place) at(i int, v any) place {
	out := place{value: v, schema: p.schema, known: p.known, tags: p.tags, whole: p.whole || !p.merged}
	out.path, out.tokens = append(p.path.Copy(), p.elementName(i, v)), append(slices.Clone(p.tokens), i)
	if p.merged {
		out.elemKey = p.mergeKey
	}
	if p.known && p.atom.List != nil {
		out.resolve(p.atom.List.ElementType, true)
	} else {
		out.known = false
	}
	return out
}

// elementName names an element as the API server does if the list is merged, otherwise by its index.
func (p place) elementName(i int, v any) fieldpath.PathElement {
	m, isMap := v.(map[string]any)
	switch {
	case !p.merged || !p.known || p.atom.List == nil || p.atom.List.ElementRelationship != smd.Associative:
		return fieldpath.PathElement{Index: &i}
	case !isMap:
		member := value.NewValueInterface(v)
		return fieldpath.PathElement{Value: &member}
	}
	elem, _ := p.schema.Resolve(p.atom.List.ElementType)
	keys := value.FieldList{}
	for _, name := range p.atom.Keys {
		key := m[name]
		if f, ok := elem.FindField(name); ok && (key == nil || key == "") {
			key = f.Default
		}
		keys = append(keys, value.Field{Name: name, Value: value.NewValueInterface(key)})
	}
	keys.Sort()
	return fieldpath.PathElement{Key: &keys}
}

// walk visits a value and all values in it.
func walk(p place, visit func(place)) {
	visit(p)
	switch v := p.value.(type) {
	case map[string]any:
		for name := range v {
			walk(p.field(name, v[name]), visit)
		}
	case []any:
		for i := range v {
			walk(p.at(i, v[i]), visit)
		}
	}
}

// pointed returns the place of a JSON pointer; false if it does not exist.
func pointed(p place, pointer string) (place, bool) {
	for _, token := range strings.Split(strings.TrimPrefix(pointer, "/"), "/") {
		token = strings.NewReplacer("~1", "/", "~0", "~").Replace(token)
		switch v := p.value.(type) {
		case map[string]any:
			next, ok := v[token]
			if !ok {
				return p, false
			}
			p = p.field(token, next)
		case []any:
			i, err := strconv.Atoi(token)
			if err != nil || i >= len(v) {
				return p, false
			}
			p = p.at(i, v[i])
		default:
			return p, false
		}
	}
	return p, true
}

// with returns a copy of content with another value at a place.
func with(content map[string]any, at place, v any) map[string]any {
	out := runtime.DeepCopyJSON(content)
	put(out, at.tokens, v)
	return out
}

// put writes a value into another value, and returns the latter.
func put(in any, tokens []any, v any) any {
	if len(tokens) == 0 {
		return v
	}
	switch in := in.(type) {
	case map[string]any:
		name, _ := tokens[0].(string)
		in[name] = put(in[name], tokens[1:], v)
	case []any:
		i, _ := tokens[0].(int)
		in[i] = put(in[i], tokens[1:], v)
	}
	return in
}
