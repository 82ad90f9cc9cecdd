// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/util/sets"
)

// walker compares a desired value with a live value and collects the differences.
type walker struct {
	differences []Difference
	// brief stops at the first difference in a list, if only the presence of a difference matters. Nested lists are
	// then compared only once.
	brief bool
	// repeated are the lists in which live elements share a merge key, and stated ones do not.
	repeated []repeatedList
}

// repeatedList is a list in which live elements share a merge key.
type repeatedList struct {
	at *step
	p  pair
}

// pair is a desired value and the live value. has reports whether the live value exists; siblings are the stated fields
// of the same struct.
type pair struct {
	desired, live any
	has           bool
	siblings      map[string]any
}

func (w *walker) differs(at *step, p pair) {
	w.differences = append(w.differences,
		Difference{Path: at.path(), Desired: p.desired, Live: p.live, DesiredSet: p.desired != nil, LiveSet: p.has})
}

// value compares one stated value. exact means that it is in an atomic list, where a default must explain each live
// field that is not stated.
func (w *walker) value(at *step, f field, p pair, exact bool) {
	if p.live == nil {
		p.has = false // for the API, null is the same as a missing value
	}
	if p.desired == (emptied{}) {
		if p.desired = map[string]any{}; !p.has {
			w.differs(at, p)
			return
		}
	}
	if p.desired == nil && f.nullIsZero {
		if !p.has {
			return
		}
		p.desired = ""
	}
	if p.desired == nil {
		if exact && p.has {
			w.unstated(at, f, p.live, p.siblings)
		}
		return
	}
	if f.zeroIsUnset && isZero(p.desired) && !p.has {
		return
	}
	if !p.has && f.typ == nil && f.Struct != nil {
		return // a field that this version of the struct does not have: a server that prunes it can never store it
	}
	switch d := p.desired.(type) {
	case map[string]any:
		w.object(at, f, p, d, exact)
	case []any:
		w.list(at, f, p, d, exact)
	default:
		if !equalScalars(f.typ, p.desired, p.live) && !serverFilled(f, p) {
			w.differs(at, p)
		}
	}
}

// serverFilled reports whether the API server set the live value because the manifest states a zero value that the API
// treats as unset.
func serverFilled(f field, p pair) bool {
	if !f.zeroIsUnset || !p.has || !isZero(p.desired) {
		return false
	}
	return Allocated.Has(f.Field) || sameValue(f, defaultOf(f, p.siblings), p.live)
}

func (w *walker) object(at *step, f field, p pair, d map[string]any, exact bool) {
	live, ok := p.live.(map[string]any)
	if p.has && !ok {
		w.differs(at, p)
		return
	}
	exact = exact || f.whole
	before := len(w.differences)
	for _, name := range sortedKeys(d) {
		l, has := live[name]
		w.value(&step{parent: at, name: name}, member(f, name), pair{d[name], l, has, d}, exact)
	}
	alwaysWritten := f.typ != nil && !f.zeroIsUnset
	shown := p.has || len(w.differences) > before
	if !shown && (len(d) == 0 || alwaysWritten) {
		w.differs(at, p) // it is missing, and no difference of its fields shows that
	}
	if !exact && (!f.exclusive || len(d) == 0) {
		return
	}
	whole, _ := defaultOf(f, p.siblings).(map[string]any)
	for _, name := range sortedKeys(live) {
		_, stated := d[name]
		if !stated && !sameValue(member(f, name), whole[name], live[name]) {
			w.unstated(&step{parent: at, name: name}, member(f, name), live[name], d)
		}
	}
}

// unstated reports a live field in an atomic list that the manifest does not state, unless a default explains it.
// siblings are the stated fields of the same struct, from which some defaults are computed.
func (w *walker) unstated(at *step, f field, live any, siblings map[string]any) {
	if live == nil || f.zeroIsUnset && isZero(live) {
		return
	}
	if sameValue(f, defaultOf(f, siblings), live) {
		return
	}
	isStruct := f.zeroIsUnset && f.typ != nil && f.typ.Kind() == reflect.Struct
	if m, ok := live.(map[string]any); ok && isStruct {
		for _, name := range sortedKeys(m) { // a struct that is always written, even if it is empty
			w.unstated(&step{parent: at, name: name}, member(f, name), m[name], nil)
		}
		return
	}
	w.differs(at, pair{live: live, has: true})
}

// sameValue reports whether a live value is a default; nil is no default.
func sameValue(f field, value, live any) bool {
	return value != nil && same(f, value, live, true)
}

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
	pairs, unique := pairUp(f, stated, found, d, live)
	if !unique && sets.New(stated...).Len() == len(stated) {
		w.repeated = append(w.repeated, repeatedList{at, p})
	}
	for i, j := range pairs {
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
// then one that is the same element for server-side apply. unique reports whether no live elements share one.
func pairUp(f field, stated, found []string, d, live []any) (pairs []int, unique bool) {
	places := make(map[string][]int, len(found))
	for j, k := range found {
		places[k] = append(places[k], j)
	}
	unique = len(places) == len(found)
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
	if sets.New(stated...).Len() < len(stated) || !unique {
		pass(func(i, j int) bool { return len(places[stated[i]]) <= maxPermuted && same(elem, d[i], live[j], false) })
		pass(func(i, j int) bool { return identity(f, d[i]).Equals(identity(f, live[j])) })
	}
	pass(func(int, int) bool { return true })
	return out, unique
}

func (w *walker) outOfOrder(at *step, p pair) {
	w.differs(at, p)
	w.differences[len(w.differences)-1].Order = true
}
