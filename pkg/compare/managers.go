// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"
)

// Manager is who last wrote a field, as the object's managedFields have it.
type Manager struct {
	Name, Operation, Subresource string
	Time                         time.Time // zero where not recorded
}

// Managers answers who wrote a field of one live object.
type Managers struct {
	live    map[string]any
	entries []entry
}

type entry struct {
	manager Manager
	fields  *fieldpath.Set
}

// ReadManagers reads the managedFields of a live object, given as JSON. An object without any has no entries, and that is no error.
func ReadManagers(managedFields []byte, live map[string]any) (*Managers, error) {
	m := &Managers{live: live}
	if len(managedFields) == 0 {
		return m, nil
	}
	var raw []metav1.ManagedFieldsEntry
	if err := json.Unmarshal(managedFields, &raw); err != nil {
		return nil, fmt.Errorf("reading managedFields: %w", err)
	}
	for _, r := range raw {
		if r.FieldsV1 == nil {
			continue
		}
		set := &fieldpath.Set{}
		if err := set.FromJSON(r.FieldsV1.GetRawReader()); err != nil {
			return nil, fmt.Errorf("reading the fields of manager %q: %w", r.Manager, err)
		}
		e := entry{manager: Manager{Name: r.Manager, Operation: string(r.Operation), Subresource: r.Subresource}, fields: set}
		if r.Time != nil {
			e.manager.Time = r.Time.UTC()
		}
		m.entries = append(m.entries, e)
	}
	return m, nil
}

// Of returns who wrote the live value of a difference, nil where that is not recorded. What is not there any more names nobody: a manager
// that removes a field leaves no trace. Of several managers that agree on a value, it is the last to have written.
//
// A list of which the API server records the elements one by one names who wrote an element that the manifest does not have. It has no
// record of the order, nor of what was taken out.
func (m *Managers) Of(d Difference) *Manager {
	if !d.LiveSet {
		return nil
	}
	desired, stated := d.Desired.([]any)
	live, isList := d.Live.([]any)
	byElement := stated && isList
	best := m.last(d.Path, byElement)
	if best != nil || !byElement {
		return best
	}
	for i := range live {
		if slices.ContainsFunc(desired, func(e any) bool { return same(untyped, e, live[i], false) }) {
			continue
		}
		who := m.last(append(d.Path.Copy(), fieldpath.PathElement{Index: &i}), false)
		if who != nil && (best == nil || !best.Time.After(who.Time)) {
			best = who
		}
	}
	return best
}

// Unclaimed says whether the live value of a difference is nobody's, while others of the object's fields are somebody's. The API server takes
// down who writes what before admission, so that what a webhook sets is recorded as nobody's; so is what the server itself allots.
// Of lists, and of what is within one, it does not tell: an order is nobody's either, and an element may have other names.
func (m *Managers) Unclaimed(d Difference) bool {
	_, isList := d.Live.([]any)
	inList := slices.ContainsFunc(d.Path, func(e fieldpath.PathElement) bool { return e.FieldName == nil })
	return d.LiveSet && len(m.entries) > 0 && !isList && !inList && m.Of(d) == nil
}

// last returns the last to have written the field at the path, by the record that leads furthest towards it.
// asWhole leaves out records of what is within the field.
func (m *Managers) last(path fieldpath.Path, asWhole bool) *Manager {
	var best *Manager
	depth := 0
	for i := range m.entries {
		n := owned(m.entries[i].fields, path, m.live, asWhole)
		if n == 0 || n < depth {
			continue
		}
		if n > depth || !best.Time.After(m.entries[i].manager.Time) {
			best, depth = &m.entries[i].manager, n
		}
	}
	return best
}

// owned returns how many steps of the path lead to a field of the set that holds it: all of them for the field itself or something
// within it (unless asWhole), fewer for a field that is owned as a whole (a list without keys), none where the set has nothing to say.
func owned(set *fieldpath.Set, path fieldpath.Path, live any, asWhole bool) int {
	for i, step := range path {
		step, next := resolve(set, step, live)
		child, inside := set.Children.Get(step)
		switch {
		case inside && i == len(path)-1:
			if asWhole {
				return 0
			}
			return len(path)
		case set.Members.Has(step) && !inside:
			return i + 1
		case !inside:
			return 0
		}
		set, live = child, next
	}
	return 0
}

// resolve finds the set's own name for a step, and the live value that the step leads to: managedFields may name by its keys an
// element that our path counts, and the other way round.
func resolve(set *fieldpath.Set, step fieldpath.PathElement, live any) (fieldpath.PathElement, any) {
	next := child(live, step)
	if step.FieldName != nil || has(set, step) {
		return step, next
	}
	found := step
	consider := func(e fieldpath.PathElement) {
		switch {
		case e.Key != nil && holds(next, *e.Key):
			found = e
		case e.Value != nil && next != nil && value.Equals(*e.Value, value.NewValueInterface(next)):
			found = e
		}
	}
	set.Members.Iterate(consider)
	for e := range set.Children.All() {
		consider(e)
	}
	return found, next
}

func has(set *fieldpath.Set, e fieldpath.PathElement) bool {
	_, inside := set.Children.Get(e)
	return inside || set.Members.Has(e)
}

func child(v any, step fieldpath.PathElement) any {
	switch {
	case step.FieldName != nil:
		m, _ := v.(map[string]any)
		return m[*step.FieldName]
	case step.Index != nil:
		if l, ok := v.([]any); ok && *step.Index < len(l) {
			return l[*step.Index]
		}
	case step.Key != nil:
		l, _ := v.([]any)
		return keyed(l, *step.Key)
	case step.Value != nil:
		return (*step.Value).Unstructured()
	}
	return nil
}

// keyed returns the element that has the key fields. Where there is none, the difference may be in a key field: then it is the only
// element that has the first of several. That is the merge key, for it happens to sort first in all lists that have more than one.
func keyed(list []any, keys value.FieldList) any {
	var similar []any
	for _, e := range list {
		if holds(e, keys) {
			return e
		}
		if len(keys) > 1 && holds(e, keys[:1]) {
			similar = append(similar, e)
		}
	}
	if len(similar) == 1 {
		return similar[0]
	}
	return nil
}

// holds says whether v is an object that has all the key fields.
func holds(v any, keys value.FieldList) bool {
	m, ok := v.(map[string]any)
	if !ok {
		return false
	}
	for _, k := range keys {
		if have, ok := m[k.Name]; !ok || !value.Equals(k.Value, value.NewValueInterface(have)) {
			return false
		}
	}
	return true
}
