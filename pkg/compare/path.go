// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"fmt"
	"maps"
	"slices"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"
)

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
