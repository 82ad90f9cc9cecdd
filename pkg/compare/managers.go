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

// Manager is the last manager of a field in the object's managedFields.
type Manager struct {
	Name, Operation, Subresource string
	Time                         time.Time // zero if it is not recorded
}

// Managers finds the managers of the fields of one live object.
type Managers struct {
	live    map[string]any
	entries []entry
}

type entry struct {
	manager Manager
	fields  *fieldpath.Set
}

// ReadManagers reads the managedFields of a live object from JSON. An object without managedFields is not an error.
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
		e := entry{manager: Manager{Name: r.Manager, Operation: string(r.Operation), Subresource: r.Subresource},
			fields: set}
		if r.Time != nil {
			e.manager.Time = r.Time.UTC()
		}
		m.entries = append(m.entries, e)
	}
	return m, nil
}

// Of returns the manager that wrote the live value of a difference, nil if it is not recorded. A manager that removes a
// field is not recorded. Of several managers that agree on a value, Of returns the last writer.
//
// If the API server records the elements of a list one by one, Of returns the manager of an element that the manifest
// does not have. The order and removed elements are not recorded.
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

// Unclaimed reports whether the live value of a difference has no manager, although other fields of the object have
// one. The API server records managers before admission, so values that a webhook or the server itself sets have no
// manager. It is false for lists and for fields within lists: an order has no manager either, and an element may be
// recorded under another name.
func (m *Managers) Unclaimed(d Difference) bool {
	_, isList := d.Live.([]any)
	inList := slices.ContainsFunc(d.Path, func(e fieldpath.PathElement) bool { return e.FieldName == nil })
	if !d.LiveSet || isList || inList {
		return false
	}
	return len(m.entries) > 0 && m.Of(d) == nil
}

// Wrote reports whether a manager is recorded for the live value at a path, alone or with others.
func (m *Managers) Wrote(manager string, path fieldpath.Path) bool {
	return slices.ContainsFunc(m.entries, func(e entry) bool {
		return e.manager.Name == manager && owned(e.fields, path, m.live, false) == len(path)
	})
}

// LastWrite returns when one of some managers wrote the object last; zero if that is not recorded.
func (m *Managers) LastWrite(managers ...string) time.Time {
	var out time.Time
	for _, e := range m.entries {
		if slices.Contains(managers, e.manager.Name) && e.manager.Time.After(out) {
			out = e.manager.Time
		}
	}
	return out
}

// Owners returns the names of all managers that own the live value of a difference: one that changes it alone conflicts
// with each of the others.
func (m *Managers) Owners(d Difference) []string {
	if !d.LiveSet {
		return nil
	}
	_, isList := d.Live.([]any)
	var out []string
	for _, e := range m.owners(d.Path, isList) { // managers of single elements are not those of the list
		out = append(out, e.Name)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// last returns the last manager of the field at the path.
func (m *Managers) last(path fieldpath.Path, asWhole bool) *Manager {
	var best *Manager
	for _, o := range m.owners(path, asWhole) {
		if best == nil || !best.Time.After(o.Time) {
			best = o
		}
	}
	return best
}

// owners returns the managers of the field at the path, from the records with the longest match. asWhole ignores
// records of fields within the field.
func (m *Managers) owners(path fieldpath.Path, asWhole bool) []*Manager {
	var out []*Manager
	depth := 1
	for i := range m.entries {
		n := owned(m.entries[i].fields, path, m.live, asWhole)
		if n > depth {
			out, depth = nil, n
		}
		if n == depth {
			out = append(out, &m.entries[i].manager)
		}
	}
	return out
}

// owned returns how many steps of the path lead to the field of the set that contains it: all steps for the field
// itself or a field within it (unless asWhole), fewer for a field that is owned as a whole (a list without keys), 0 if
// the set does not have it.
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

// resolve finds the name that the set has for a step, and the live value of the step. If the path has an index,
// managedFields can have keys, and the other way round.
func resolve(set *fieldpath.Set, step fieldpath.PathElement, live any) (fieldpath.PathElement, any) {
	next := child(live, step)
	if _, inside := set.Children.Get(step); inside || step.FieldName != nil || set.Members.Has(step) {
		return step, next
	}
	found := step
	consider := func(e fieldpath.PathElement) {
		switch {
		case e.Key != nil && hasKeys(next, *e.Key):
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

// keyed returns the element with the key fields. If there is no such element, the difference may be in a key field:
// then keyed returns the only element with the first of several key fields. That is the merge key, which sorts first in
// all lists with several key fields.
func keyed(list []any, keys value.FieldList) any {
	var similar []any
	for _, e := range list {
		if hasKeys(e, keys) {
			return e
		}
		if len(keys) > 1 && hasKeys(e, keys[:1]) {
			similar = append(similar, e)
		}
	}
	if len(similar) == 1 {
		return similar[0]
	}
	return nil
}

// hasKeys reports whether v is an object that has all the key fields.
func hasKeys(v any, keys value.FieldList) bool {
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
