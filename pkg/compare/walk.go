// SPDX-License-Identifier: Apache-2.0

package compare

import "reflect"

// walker compares a desired value with a live value and collects the differences.
type walker struct {
	differences []Difference
	// brief stops at the first difference in a list, if only the presence of a difference matters. Nested lists are
	// then compared only once.
	brief bool
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
