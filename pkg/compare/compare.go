// SPDX-License-Identifier: Apache-2.0

// Package compare compares a desired object with a live object. It returns each stated field that differs, and the
// manager that changed it.
//
// It is pure. Only what the manifest states is compared: fields, map keys and elements that others added are ignored.
// Built-in kinds are compared by the merge keys and types of their Go structs, all other kinds as plain JSON with
// atomic lists. Fleet's agent makes the same distinction (docs/fleet-behavior.md, 3). The result of a comparison is one
// of:
package compare

import (
	"reflect"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
)

// Objects compares the stated fields of desired with live, both as decoded by object.Decode, and returns the
// differences in the order of the desired object's sorted fields. gvk is the kind in the manifest's version. Neither
// argument is changed.
func Objects(desired, live map[string]any, gvk schema.GroupVersionKind) []Difference {
	gk := gvk.GroupKind()
	desired, live = normalised(gk, desired), normalised(gk, live)
	w := walker{}
	root := field{typ: typeOf(gvk), list: listReduced}
	for _, name := range sortedKeys(desired) {
		switch {
		case name == "apiVersion", name == "kind", name == "status", name == "rules" && aggregated(gk, desired):
		case name == "metadata":
			w.metadata(&step{name: name}, member(root, name), desired[name], live[name])
		default:
			l, ok := live[name]
			w.value(&step{name: name}, member(root, name), pair{desired[name], l, ok, desired}, false)
		}
	}
	if len(w.differences) == 0 && len(w.repeated) > 0 {
		w.moved(root.typ, desired, live)
	}
	return w.differences
}

// moved reports the lists in which a strategic merge moves live elements that share a merge key: Fleet reports an
// object that its own patch changes.
func (w *walker) moved(typ reflect.Type, desired, live map[string]any) {
	patched, err := mergedInto(typ, desired, live)
	if err != nil {
		return
	}
	for _, l := range w.repeated {
		path := l.at.path()
		if now, ok := reach(patched, path); ok && !reflect.DeepEqual(now, l.p.live) {
			w.outOfOrder(l.at, l.p)
		}
	}
}

// serverOwned are the fields of metadata that the API server sets. They are ignored in a manifest (usually an exported
// object).
var serverOwned = sets.New("name", "namespace", "uid", "resourceVersion", "generation", "creationTimestamp",
	"deletionTimestamp",
	"deletionGracePeriodSeconds", "managedFields", "selfLink", "generateName")

func (w *walker) metadata(at *step, f field, desired, live any) {
	d, _ := desired.(map[string]any)
	l, _ := live.(map[string]any)
	for _, name := range sortedKeys(d) {
		if serverOwned.Has(name) {
			continue
		}
		v, ok := l[name]
		p := pair{d[name], v, ok, d}
		if name == "labels" || name == "annotations" {
			p.desired = withoutOwnershipMetadata(d[name])
			if rest, stated := p.desired.(map[string]any); stated && len(rest) == 0 && !ok {
				continue // an object without ownership metadata may have no other either
			}
		}
		w.value(&step{parent: at, name: name}, member(f, name), p, false)
	}
}
