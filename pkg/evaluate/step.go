// SPDX-License-Identifier: Apache-2.0

package evaluate

import "sigs.k8s.io/structured-merge-diff/v6/fieldpath"

// Step is one step of the path to a field: the name of a field or a map key, or an element of a list. The text of a
// path is ambiguous, because a map key can contain dots.
type Step struct {
	// Name is used if the other fields are nil.
	Name string
	// Key has the fields that identify an element of a list, as decoded JSON.
	Key map[string]any
	// Member is an element of a list of plain values, as decoded JSON.
	Member any
	// Index is the position of an element that nothing else identifies.
	Index *int
}

// stepsOf returns the steps of a path.
func stepsOf(path fieldpath.Path) []Step {
	out := make([]Step, len(path))
	for i, e := range path {
		switch {
		case e.FieldName != nil:
			out[i].Name = *e.FieldName
		case e.Key != nil:
			out[i].Key = map[string]any{}
			for _, k := range *e.Key {
				out[i].Key[k.Name] = k.Value.Unstructured()
			}
		case e.Value != nil:
			out[i].Member = (*e.Value).Unstructured()
		default:
			out[i].Index = e.Index
		}
	}
	return out
}
