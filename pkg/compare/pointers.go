// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
)

const (
	// maxPointers is the number of differences of an object above which none has a pointer: nobody writes so many
	// rules.
	maxPointers = 1000
	// maxSearched is the length of the lists in which elements are searched by their key or value. The search is
	// quadratic.
	maxSearched = 256
)

// Pointers returns a JSON pointer for each difference of an object: as jsonPointers of a rule after the rules, they
// exclude exactly these fields. A pointer is empty if none leads to the field in both objects, such as to an element
// that is in another position of the live list. All are empty if the objects with such a rule are not equal in
// everything else.
func Pointers(rules []Rule, ref object.Ref, desired, live map[string]any, differences []Difference) []string {
	out := make([]string, len(differences))
	if len(differences) > maxPointers {
		return out
	}
	before := make([]Rule, 0, len(rules)) // operations are applied after all pointers
	for _, r := range rules {
		r.Operations = nil
		before = append(before, r)
	}
	d, dErr := Apply(before, ref, desired)
	l, lErr := Apply(before, ref, live)
	if dErr != nil || lErr != nil {
		return out
	}
	for i, x := range differences {
		out[i] = pointer(x.Path, d, l)
	}
	if !excludes(append(slices.Clone(rules), Exclude(ref, out)), ref, desired, live, differences, out) {
		clear(out)
	}
	return out
}

// Exclude returns the smallest rule that removes the fields of JSON pointers from an object. Empty pointers are
// ignored.
func Exclude(ref object.Ref, pointers []string) Rule {
	return Rule{APIVersion: ref.APIVersion, Kind: ref.Kind, Namespace: ref.Namespace, Name: ref.Name,
		JSONPointers: smallest(pointers)}
}

// excludes reports whether with the rules, exactly the differences without a pointer remain.
func excludes(rules []Rule, ref object.Ref, desired, live map[string]any, differences []Difference,
	pointers []string) bool {
	d, dErr := ApplyDesired(rules, ref, desired)
	l, lErr := Apply(rules, ref, live)
	if dErr != nil || lErr != nil {
		return false
	}
	var want, got []string
	lists := map[string]bool{} // they are excluded with the differences of their elements
	for i, x := range differences {
		lists[x.Path.String()] = x.Order && pointers[i] != ""
	}
	for i, x := range differences {
		path := x.Path.String()
		if pointers[i] == "" && !Inside(path, lists) {
			want = append(want, path)
		}
	}
	for _, x := range Objects(d, l, ref.GroupVersionKind()) {
		got = append(got, x.Path.String())
	}
	return slices.Equal(want, got)
}

// Inside reports whether a path leads to or through an element of one of the lists, which are written as paths.
func Inside(path string, lists map[string]bool) bool {
	for i := range path {
		if path[i] == '[' && lists[path[:i]] {
			return true
		}
	}
	return false
}

// pointer returns the JSON pointer of a path in two objects; empty if it is not the same in both.
func pointer(path fieldpath.Path, desired, live any) string {
	var b strings.Builder
	for _, step := range path {
		segment, ok := index(step, desired, live)
		if step.FieldName != nil {
			segment, ok = *step.FieldName, true
		}
		if !ok {
			return ""
		}
		b.WriteString("/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(segment))
		desired, live = valueAt(desired, segment), valueAt(live, segment)
	}
	return b.String()
}

// index returns the index of an element in two lists, of which one may not have it; ok is false if the index is that of
// another element.
func index(step fieldpath.PathElement, desired, live any) (segment string, ok bool) {
	d, _ := desired.([]any)
	l, _ := live.([]any)
	i, j := find(step, d), find(step, l)
	switch {
	case i == ambiguous, j == ambiguous, i < 0 && j < 0:
		return "", false
	case i < 0:
		return strconv.Itoa(j), j >= len(d)
	case j < 0:
		return strconv.Itoa(i), i >= len(l)
	}
	return strconv.Itoa(i), i == j
}

// absent and ambiguous are results of find.
const (
	absent    = -1
	ambiguous = -2
)

// find returns the index of the element of a list to which a step leads. A key field that an element does not state has
// a default.
func find(step fieldpath.PathElement, list []any) int {
	if step.Index != nil {
		if *step.Index < len(list) {
			return *step.Index
		}
		return absent
	}
	if len(list) > maxSearched {
		return ambiguous
	}
	exact, possible := []int{}, []int{}
	for i, e := range list {
		switch same, unstated := leadsTo(step, e); {
		case same && !unstated:
			exact = append(exact, i)
		case same:
			possible = append(possible, i)
		}
	}
	for _, found := range [][]int{exact, possible} {
		switch len(found) {
		case 0:
		case 1:
			return found[0]
		default:
			return ambiguous
		}
	}
	return absent
}

// leadsTo reports whether a step leads to an element, and whether the element does not state one of its key fields.
func leadsTo(step fieldpath.PathElement, element any) (same, unstated bool) {
	if step.Value != nil {
		return value.Equals(*step.Value, value.NewValueInterface(element)), false
	}
	fields, ok := element.(map[string]any)
	if !ok || step.Key == nil {
		return false, false
	}
	for _, k := range *step.Key {
		v, stated := fields[k.Name]
		if stated && !value.Equals(k.Value, value.NewValueInterface(v)) {
			return false, false
		}
		unstated = unstated || !stated
	}
	return true, unstated
}

func valueAt(parent any, segment string) any {
	switch p := parent.(type) {
	case map[string]any:
		return p[segment]
	case []any:
		if i, err := strconv.Atoi(segment); err == nil && i >= 0 && i < len(p) {
			return p[i]
		}
	}
	return nil
}

// smallest returns the pointers without duplicates and without those that begin with another one. Their order is valid
// if they are applied one after the other: the removal of an element moves those after it, so higher indices come
// first.
func smallest(pointers []string) []string {
	paths := make([][]string, 0, len(pointers))
	for _, p := range pointers {
		if p != "" {
			paths = append(paths, strings.Split(p, "/"))
		}
	}
	slices.SortFunc(paths, func(x, y []string) int { return slices.CompareFunc(x, y, compareSegments) })
	var out []string
	var last []string
	for _, p := range paths {
		if last == nil || len(p) < len(last) || !slices.Equal(p[:len(last)], last) {
			last = p
			out = append(out, strings.Join(p, "/"))
		}
	}
	return out
}

func compareSegments(x, y string) int {
	i, xErr := strconv.ParseUint(x, 10, 32)
	j, yErr := strconv.ParseUint(y, 10, 32)
	if xErr == nil && yErr == nil {
		return cmp.Or(-cmp.Compare(i, j), cmp.Compare(x, y))
	}
	return cmp.Compare(x, y)
}
