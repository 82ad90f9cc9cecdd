// SPDX-License-Identifier: Apache-2.0

package source

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
)

// Named is the name of an object as the user writes it. Kind is a word that Kind.Called accepts; an empty Namespace
// means all namespaces.
type Named struct{ Kind, Namespace, Name string }

// String writes the name as on the command line.
func (n Named) String() string {
	out := n.Name
	if n.Namespace != "" {
		out = n.Namespace + "/" + out
	}
	if n.Kind != "" {
		out = n.Kind + "/" + out
	}
	return out
}

// NotFoundError reports that an argument names nothing.
type NotFoundError struct {
	// What names it in the message.
	What string
	// Word is the part of the argument that is not known, Before and After are the parts around it. If it is a kind,
	// Kind is true.
	Before, Word, After string
	Kind                bool
	// Known are words that are known in this place. If the name exists in other namespaces, Elsewhere are its names
	// there instead.
	Known, Elsewhere []string
	// Snapshot is true if the source is a snapshot, which need not have all kinds.
	Snapshot bool
	// DesiredBy are the bundle deployments that desire the object.
	DesiredBy []string
	// Undesired is true if only the objects were looked for that bundles desire. Unread is the reason why other bundles
	// may desire the object; empty if all bundles are known.
	Undesired bool
	Unread    string
}

// Error implements error.
func (e *NotFoundError) Error() string {
	switch {
	case e.Kind && e.Snapshot:
		return fmt.Sprintf("%s not found: the snapshot has no objects of kind %q, and no definition of it", e.What,
			e.Word)
	case e.Kind:
		return fmt.Sprintf("%s not found: the cluster does not serve a kind %q", e.What, e.Word)
	case len(e.DesiredBy) > 0:
		return fmt.Sprintf("%s not found, but bundle deployment %s desires it", e.What, strings.Join(e.DesiredBy, ", "))
	case e.Unread != "":
		return fmt.Sprintf("it is not known whether a bundle desires %s: %s", e.What, e.Unread)
	case e.Undesired:
		return "no bundle has or desires " + e.What
	}
	return e.What + " not found"
}

// Is reports whether an object has the name.
func (n Named) Is(o object.Ref, kinds *Kinds) bool {
	return o.Name == n.Name && n.hasNamespace(o) && n.hasKind(o, kinds)
}

// hasNamespace reports whether an object is in the namespace of the name. A cluster-scoped object is: as in kubectl,
// the namespace has no effect.
func (n Named) hasNamespace(o object.Ref) bool {
	return n.Namespace == "" || o.Namespace == "" || n.Namespace == o.Namespace
}

func (n Named) hasKind(o object.Ref, kinds *Kinds) bool {
	if n.Kind == "" {
		return true
	}
	k, ok := kinds.Preferred(o.GroupVersionKind().GroupKind())
	if !ok {
		k = Kind{GroupVersionKind: o.GroupVersionKind()}
	}
	return k.Called(n.Kind)
}

// NotFound returns the error that none of the objects has a name. kinds has the names of their kinds.
func NotFound(n Named, objects []object.Ref, kinds *Kinds) *NotFoundError {
	e := &NotFoundError{What: n.String(), Before: strings.TrimSuffix(n.String(), n.Name), Word: n.Name}
	mistyped := !slices.ContainsFunc(kinds.All(), func(k Kind) bool { return k.Called(n.Kind) })
	var types []string
	for _, o := range objects {
		types = append(types, strings.ToLower(o.Kind))
		if !n.hasKind(o, kinds) {
			continue
		}
		mistyped = false
		switch {
		case n.hasNamespace(o):
			e.Known = append(e.Known, o.Name)
		case n.Name == o.Name:
			e.Elsewhere = append(e.Elsewhere, Named{n.Kind, o.Namespace, o.Name}.String())
		}
	}
	if mistyped {
		e.Before, e.Word, e.After, e.Known = "", n.Kind, strings.TrimPrefix(n.String(), n.Kind), types
	}
	return e
}
