// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"errors"
	"fmt"
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
