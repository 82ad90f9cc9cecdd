// SPDX-License-Identifier: Apache-2.0

package compare

import "fmt"

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
		w.set(at, d, live)
	default:
		w.byKey(at, f, p, d, live)
	}
}

// whole compares lists whose length and order count.
func (w *walker) whole(at *step, f field, p pair, d, live []any, exact bool) {
	if len(d) != len(live) {
		w.differs(at, p)
		return
	}
	elem := element(f)
	before := len(w.differences)
	for i := range d {
		w.value(at.index(i), elem, pair{d[i], live[i], true, nil}, exact)
	}
	if len(w.differences) > before && permuted(elem, d, live, exact) {
		w.differences = w.differences[:before]
		w.differs(at, p)
		w.differences[before].Order = true
	}
}

// maxPermuted bounds the search for a changed order, which is quadratic; longer lists are reported element by element.
const maxPermuted = 64

// permuted says whether live holds the same elements in another order.
func permuted(elem field, d, live []any, exact bool) bool {
	if len(d) < 2 || len(d) > maxPermuted {
		return false
	}
	used := make([]bool, len(live))
next:
	for i := range d {
		for j := range live {
			if !used[j] && same(elem, d[i], live[j], exact) {
				used[j] = true
				continue next
			}
		}
		return false
	}
	return true
}

func same(f field, desired, live any, exact bool) bool {
	var w walker
	w.value(&step{}, f, pair{desired, live, true, nil}, exact)
	return len(w.differences) == 0
}

// set compares lists of plain values that are sets: each stated one must be there, in whatever order.
func (w *walker) set(at *step, d, live []any) {
	for _, v := range d {
		if indexOf(live, v) < 0 {
			w.differs(at.member(v), pair{desired: v})
		}
	}
}

func indexOf(list []any, v any) int {
	for i := range list {
		if list[i] == v {
			return i
		}
	}
	return -1
}

// byKey compares lists whose elements are found by a key: other elements may stand anywhere between the stated ones.
func (w *walker) byKey(at *step, f field, p pair, d, live []any) {
	positions := map[string][]int{}
	for j, e := range live {
		k, ok := keyOf(f, e)
		if !ok {
			w.whole(at, f, p, d, live, true)
			return
		}
		positions[k] = append(positions[k], j)
	}
	elem := element(f)
	last, inOrder := -1, true
	for _, e := range d {
		k, ok := keyOf(f, e)
		if !ok {
			w.whole(at, f, p, d, live, true)
			return
		}
		m, _ := e.(map[string]any)
		j := take(positions, k, elem, e, live)
		if j < 0 {
			w.differs(at.key(f, m), pair{desired: e})
			continue
		}
		inOrder = inOrder && j > last
		last = j
		w.value(at.key(f, m), elem, pair{e, live[j], true, nil}, false)
	}
	if !inOrder {
		w.outOfOrder(at, p)
	}
}

// take picks the live element for a stated one and uses it up. Where several share the merge key (a port in TCP and in UDP), it is one
// that does not differ, if there is one.
func take(positions map[string][]int, key string, elem field, desired any, live []any) int {
	at := positions[key]
	if len(at) == 0 {
		return -1
	}
	best := 0
	for i := range at {
		if len(at) > 1 && same(elem, desired, live[at[i]], false) {
			best = i
			break
		}
	}
	j := at[best]
	positions[key] = append(at[:best:best], at[best+1:]...)
	return j
}

func keyOf(f field, elem any) (string, bool) {
	m, ok := elem.(map[string]any)
	if !ok {
		return "", false
	}
	v, ok := m[f.mergeKey]
	return fmt.Sprint(v), ok && v != nil
}

func (w *walker) outOfOrder(at *step, p pair) {
	w.differs(at, p)
	w.differences[len(w.differences)-1].Order = true
}
