// SPDX-License-Identifier: Apache-2.0

package compare

// walker goes down the desired value and collects what differs.
type walker struct {
	differences []Difference
	// brief asks only whether anything differs. Lists within lists are then looked through once, however deep they lie.
	brief bool
}

// pair is a desired value and the live one. has says whether there is a live one; beside are the stated fields around it.
type pair struct {
	desired, live any
	has           bool
	beside        map[string]any
}

func (w *walker) differs(at *step, p pair) {
	w.differences = append(w.differences,
		Difference{Path: at.path(), Desired: p.desired, Live: p.live, DesiredSet: p.desired != nil, LiveSet: p.has})
}

// value compares one stated value. exact means that it stands in a list that counts as a whole, where live fields beyond the stated
// ones must be explained by a default.
func (w *walker) value(at *step, f field, p pair, exact bool) {
	if p.live == nil {
		p.has = false // null and nothing are the same to the API
	}
	if p.desired == nil && f.nullIsZero {
		if !p.has {
			return
		}
		p.desired = ""
	}
	if p.desired == nil {
		if exact && p.has {
			w.unstated(at, f, p.live, p.beside)
		}
		return
	}
	if f.zeroIsUnset && isZero(p.desired) && !p.has {
		return
	}
	if !p.has && unknownToType(f) {
		return // a field of another API version than ours; a server that prunes it can never hold it
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

// serverFilled says whether a live value is what the API server puts where the manifest states a zero value that the API takes for none.
func serverFilled(f field, p pair) bool {
	if !f.zeroIsUnset || !p.has || !isZero(p.desired) {
		return false
	}
	if allocated[fieldKey{f.owner, f.name}] {
		return true
	}
	return sameValue(f, defaultOf(f, p.beside), p.live)
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
	if !p.has && len(w.differences) == before && (len(d) == 0 || f.typ != nil && !f.zeroIsUnset) {
		w.differs(at, p) // it is gone, and nothing within it has a value whose loss would tell
	}
	if !exact && (!f.exclusive || len(d) == 0) {
		return
	}
	whole, _ := defaultOf(f, p.beside).(map[string]any)
	for _, name := range sortedKeys(live) {
		_, stated := d[name]
		if !stated && !sameValue(member(f, name), whole[name], live[name]) {
			w.unstated(&step{parent: at, name: name}, member(f, name), live[name], d)
		}
	}
}

// unstated reports a live field that nobody stated inside a list that counts as a whole, unless a default explains it.
// siblings are the stated fields beside it, of which some defaults are made.
func (w *walker) unstated(at *step, f field, live any, siblings map[string]any) {
	if live == nil || f.zeroIsUnset && isZero(live) || sameValue(f, defaultOf(f, siblings), live) {
		return
	}
	if m, ok := live.(map[string]any); ok && f.zeroIsUnset && isStruct(f) {
		for _, name := range sortedKeys(m) { // a struct that is always written, empty or not
			w.unstated(&step{parent: at, name: name}, member(f, name), m[name], nil)
		}
		return
	}
	w.differs(at, pair{live: live, has: true})
}
