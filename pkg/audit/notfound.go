// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"fmt"
	"strings"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
)

// NotFoundError reports that an argument names nothing.
type NotFoundError struct {
	// What names it in the message.
	What string
	// Word is the part of the argument that is not known, Before and After are the parts around it. If it is a kind, Kind is true.
	Before, Word, After string
	Kind                bool
	// Known are words that are known in this place.
	Known []string
}

// Error implements error.
func (e *NotFoundError) Error() string {
	if e.Kind {
		return fmt.Sprintf("finding %s: kind %q not found", e.What, e.Word)
	}
	return "finding " + e.What + ": not found"
}

// unknownKind returns the error that no cluster serves the kind of a name.
func (r *reading) unknownKind(n Named) error {
	e := &NotFoundError{What: n.String(), Word: n.Kind, After: strings.TrimPrefix(n.String(), n.Kind), Kind: true}
	for _, c := range r.clusters {
		for _, k := range c.Kinds.All() {
			e.Known = append(e.Known, strings.ToLower(k.Kind))
		}
	}
	return e
}

// unknownName returns the error that no object has a name. The known names are those of desired objects, which are in memory.
func (r *reading) unknownName(n Named) error {
	var desired []object.Ref
	for _, d := range r.desired.Deployments {
		for _, o := range d.Desired {
			desired = append(desired, o.Ref)
		}
	}
	return NotFound(n, desired, r.Kinds)
}

// NotFound returns the error that none of the objects has a name. kinds has the names of their kinds.
func NotFound(n Named, objects []object.Ref, kinds *source.Kinds) *NotFoundError {
	e := &NotFoundError{What: n.String(), Before: strings.TrimSuffix(n.String(), n.Name), Word: n.Name}
	var types []string
	for _, o := range objects {
		k, ok := kinds.Preferred(o.GroupVersionKind().GroupKind())
		if !ok {
			k = source.Kind{GroupVersionKind: o.GroupVersionKind()}
		}
		if k.Called(n.Kind) && (n.Namespace == "" || n.Namespace == o.Namespace) {
			e.Known = append(e.Known, o.Name)
		}
		types = append(types, strings.ToLower(o.Kind))
	}
	if len(e.Known) == 0 && len(types) > 0 { // the kind is mistyped, or no bundle desires an object of it
		e.Before, e.Word, e.After, e.Known = "", n.Kind, strings.TrimPrefix(n.String(), n.Kind), types
	}
	return e
}
