// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/util/sets"
)

func (w *walker) list(at *step, f field, p pair, d []any, exact bool) {
	live, ok := p.live.([]any)
	if !p.has || !ok {
		if !serverFilled(f, p) {
			w.differs(at, p)
		}
		return
	}
	switch {
	case len(d) == 0 && len(live) > 0 && serverFilled(f, p):
	case exact || f.list == listAtomic:
		w.whole(at, f, p, d, live, true)
	case f.list == listReduced:
		w.whole(at, f, p, d, live, false)
	case f.list == listSet:
		w.set(at, element(f), d, live)
	default:
		w.byKey(at, f, p, d, live)
	}
}

// whole compares lists with significant length and order.
func (w *walker) whole(at *step, f field, p pair, d, live []any, exact bool) {
	if len(d) != len(live) {
		w.differs(at, p)
		return
	}
	elem := element(f)
	before := len(w.differences)
	for i := range d {
		if p := (pair{d[i], live[i], true, nil}); significantNull(d[i], live[i]) {
			w.differs(at.index(i), p)
		} else {
			w.value(at.index(i), elem, p, exact)
		}
		if w.brief && len(w.differences) > before {
			return
		}
	}
	if len(w.differences) > before && permuted(elem, d, live, exact) {
		w.differences = w.differences[:before]
		w.outOfOrder(at, p)
	}
}

// significantNull reports whether a null in an atomic list differs from the live element. A null is significant there,
// because it has an index.
func significantNull(desired, live any) bool { return desired == nil && !isZero(live) }

// maxPermuted limits the search for permuted elements, which is quadratic. Longer lists are reported element by
// element.
const maxPermuted = 64

// permuted reports whether live has the same elements in another order.
func permuted(elem field, d, live []any, exact bool) bool {
	if len(d) < 2 || len(d) > maxPermuted {
		return false
	}
	used := make([]bool, len(live))
next:
	for i := range d {
		for j := range live {
			if !used[j] && !significantNull(d[i], live[j]) && same(elem, d[i], live[j], exact) {
				used[j] = true
				continue next
			}
		}
		return false
	}
	return true
}

// same reports whether a desired value and a live value have no difference.
func same(f field, desired, live any, exact bool) bool {
	w := walker{brief: true}
	w.value(&step{}, f, pair{desired, live, true, nil}, exact)
	return len(w.differences) == 0
}

// set compares lists of plain values that are sets: each stated value must exist, in any order.
func (w *walker) set(at *step, elem field, d, live []any) {
	for _, v := range d {
		if v != nil && !slices.ContainsFunc(live, func(l any) bool { return same(elem, v, l, true) }) {
			w.differs(at.member(v), pair{desired: v})
		}
	}
}

// byKey compares lists with merge keys. Other elements may be anywhere between the stated elements.
func (w *walker) byKey(at *step, f field, p pair, d, live []any) {
	stated, ok := mergeKeys(f, d)
	found, alsoOK := mergeKeys(f, live)
	if !ok || !alsoOK {
		w.whole(at, f, p, d, live, true)
		return
	}
	elem := element(f)
	last, inOrder := -1, true
	for i, j := range pairUp(f, stated, found, d, live) {
		if j < 0 {
			w.differs(at.key(f, d[i]), pair{desired: d[i]})
			continue
		}
		inOrder = inOrder && j > last
		last = j
		w.value(at.key(f, d[i]), elem, pair{d[i], live[j], true, nil}, false)
	}
	if !inOrder {
		w.outOfOrder(at, p)
	}
}

// pairUp returns for each stated element the index of the matching live element, or -1. Each live element matches at
// most once. If elements share a merge key (a port in TCP and in UDP), an element without differences is preferred,
// then one that is the same element for server-side apply.
func pairUp(f field, stated, found []string, d, live []any) []int {
	places := make(map[string][]int, len(found))
	for j, k := range found {
		places[k] = append(places[k], j)
	}
	elem := element(f)
	out := slices.Repeat([]int{-1}, len(d))
	pass := func(matches func(i, j int) bool) {
		for i, k := range stated {
			for n, j := range places[k] {
				if out[i] < 0 && matches(i, j) {
					out[i] = j
					places[k] = slices.Delete(places[k], n, n+1)
					break
				}
			}
		}
	}
	if sets.New(stated...).Len() < len(stated) || len(places) < len(found) {
		pass(func(i, j int) bool { return len(places[stated[i]]) <= maxPermuted && same(elem, d[i], live[j], false) })
		pass(func(i, j int) bool { return identity(f, d[i]).Equals(identity(f, live[j])) })
	}
	pass(func(int, int) bool { return true })
	return out
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

func (w *walker) outOfOrder(at *step, p pair) {
	w.differs(at, p)
	w.differences[len(w.differences)-1].Order = true
}
