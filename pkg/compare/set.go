// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"
)

// ErrNotExact is returned if an object cannot be changed in exactly some fields.
var ErrNotExact = errors.New("its fields cannot be restored one by one: a rule of the bundle ignores a part of a list")

// set sets the value at a path, or removes it.
func set(content map[string]any, path fieldpath.Path, to any, is bool) error {
	_, err := changed(content, path, to, is)
	return err
}

// changed returns a value in which the value at a path is set or removed. Maps are changed in place.
func changed(v any, path fieldpath.Path, to any, is bool) (any, error) {
	if len(path) == 0 {
		return to, nil
	}
	if name := path[0].FieldName; name != nil {
		return changedField(v, *name, path[1:], to, is)
	}
	list, _ := v.([]any)
	i := indexOf(list, path[0])
	switch last := len(path) == 1; {
	case i < 0 && last && is:
		return append(list, to), nil
	case i < 0:
		return nil, fmt.Errorf("%w: %s", ErrNotExact, path)
	case last && !is:
		return slices.Delete(list, i, i+1), nil
	}
	member, err := changed(list[i], path[1:], to, is)
	if err == nil {
		list[i] = member
	}
	return list, err
}

func changedField(v any, name string, rest fieldpath.Path, to any, is bool) (any, error) {
	fields, ok := v.(map[string]any)
	if !ok {
		if v != nil || !is {
			return nil, ErrNotExact
		}
		fields = map[string]any{}
	}
	if len(rest) == 0 && !is {
		delete(fields, name)
		return fields, nil
	}
	member, err := changed(fields[name], rest, to, is)
	if err == nil {
		fields[name] = member
	}
	return fields, err
}

// indexOf returns the index of an element of a list; -1 if the list does not have it.
func indexOf(list []any, e fieldpath.PathElement) int {
	switch {
	case e.Index != nil:
		if *e.Index < len(list) {
			return *e.Index
		}
	case e.Value != nil:
		return slices.IndexFunc(list, func(v any) bool {
			return value.Equals(value.NewValueInterface(v), *e.Value)
		})
	case e.Key != nil:
		return slices.IndexFunc(list, func(v any) bool {
			fields, _ := v.(map[string]any)
			return !slices.ContainsFunc(*e.Key, func(k value.Field) bool {
				is, stated := fields[k.Name] // a key has the defaults of what is not stated
				return stated && !value.Equals(value.NewValueInterface(is), k.Value)
			})
		})
	}
	return -1
}

// reach returns the value at a path.
func reach(v any, path fieldpath.Path) (found any, ok bool) {
	for _, e := range path {
		if e.FieldName != nil {
			fields, _ := v.(map[string]any)
			if v, ok = fields[*e.FieldName]; !ok {
				return nil, false
			}
			continue
		}
		list, _ := v.([]any)
		i := indexOf(list, e)
		if i < 0 {
			return nil, false
		}
		v = list[i]
	}
	return v, true
}

// step is one step of the path to a value. The path itself is built only for a difference, because most objects are
// equal.
type step struct {
	parent *step
	name   string // of a field; used if elem is nil
	elem   *fieldpath.PathElement
}

func (s *step) path() fieldpath.Path {
	var p fieldpath.Path
	for at := s; at != nil; at = at.parent {
		e := fieldpath.PathElement{FieldName: &at.name}
		if at.elem != nil {
			e = *at.elem
		}
		p = append(p, e)
	}
	slices.Reverse(p)
	return p
}

// index is the step to the i-th element of a list.
func (s *step) index(i int) *step {
	return &step{parent: s, elem: &fieldpath.PathElement{Index: &i}}
}

// key is the step to an element of a list by its key fields, written as the API server writes them.
func (s *step) key(list field, elem any) *step {
	keys := identity(list, elem)
	return &step{parent: s, elem: &fieldpath.PathElement{Key: &keys}}
}

// identity returns the fields by which server-side apply identifies an element of a list, sorted, with their defaults.
func identity(list field, elem any) value.FieldList {
	fields, _ := elem.(map[string]any)
	names := pathKeys[deref(element(list).typ)]
	if names == nil {
		names = []string{list.mergeKey}
	}
	keys := value.FieldList{}
	for _, n := range names {
		v := fields[n]
		if isZero(v) {
			v = defaultOf(member(element(list), n), fields)
		}
		if v != nil {
			keys = append(keys, value.Field{Name: n, Value: value.NewValueInterface(v)})
		}
	}
	keys.Sort()
	return keys
}

// mergeKeys returns the merge key of each element, and false if one has none.
func mergeKeys(f field, list []any) ([]string, bool) {
	out := make([]string, len(list))
	for i, e := range list {
		m, _ := e.(map[string]any)
		if m[f.mergeKey] == nil {
			return nil, false
		}
		out[i] = fmt.Sprint(m[f.mergeKey])
	}
	return out, true
}

// member is the step to an element of a set of plain values.
func (s *step) member(v any) *step {
	e := value.NewValueInterface(v)
	return &step{parent: s, elem: &fieldpath.PathElement{Value: &e}}
}

func sortedKeys(m map[string]any) []string {
	// one allocation: it is most of the cost of a comparison
	keys := slices.AppendSeq(make([]string, 0, len(m)), maps.Keys(m))
	slices.Sort(keys)
	return keys
}
