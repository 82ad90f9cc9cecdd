// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
)

// list is one List. The documentation of the package has the rules by which it proves that an object is missing.
type list struct {
	file            string // name of the file without folders, which may be the name of a resource
	whole           bool
	kinds           map[schema.GroupKind]bool // of the items, and whether they have namespaces
	namespacedKinds int                       // of the items
	namespace       string                    // of its items
	namespaces      int                       // of its items: 0, 1, or 2 for more
	element         schema.GroupVersionKind   // the kind of the items of a typed List
}

// newList returns a List without items.
func newList(file string, element schema.GroupVersionKind) list {
	l := list{file: file, whole: true, element: element, kinds: map[schema.GroupKind]bool{}}
	if element.Kind != "" {
		l.kinds[element.GroupKind()] = false
	}
	return l
}

// add adds an item.
func (l *list) add(k object.Key) {
	gk, namespaced := k.GroupKind(), k.Namespace != ""
	if namespaced && !l.kinds[gk] {
		l.namespacedKinds++
	}
	l.kinds[gk] = l.kinds[gk] || namespaced
	if namespaced && k.Namespace != l.namespace {
		l.namespaces = min(l.namespaces+1, 2)
		l.namespace = k.Namespace
	}
}

// everywhere reports whether the List proves absence in all namespaces. wide states that a List of the snapshot has
// items in several namespaces, narrow that one may have items in one namespace only.
func (l *list) everywhere(wide, narrow bool) bool {
	switch l.namespaces {
	case 0:
		return wide || !narrow
	case 1:
		return wide && l.namespacedKinds == 1
	}
	return true
}

// extent is the set of namespaces in which all objects of a kind were captured. "" stands for cluster-scoped objects.
type extent struct {
	everywhere bool
	namespaces []string
}

// notCaptured is the failure in all namespaces in which nothing proves that all objects of a kind were captured. The
// text does not name the kind, so that kinds with the same failure can be shown together.
var notCaptured = source.Failure{
	Reason: source.NotInSnapshot, Detail: "no whole List of the kind was captured in that namespace",
}

// coverage is the coverage of a kind.
func (x extent) coverage() source.Coverage {
	if x.everywhere {
		return source.Covered()
	}
	return source.CoveredIn(x.namespaces, notCaptured)
}

// extents evaluates the Lists. named returns the kind of the resource in the name of a file. cut states that data was
// not read.
func extents(lists []list, cut bool, named func(file string) (schema.GroupKind, bool)) map[schema.GroupKind]extent {
	out := map[schema.GroupKind]extent{}
	wide, narrow := false, cut
	for _, l := range lists {
		wide = wide || l.namespaces > 1
		narrow = narrow || l.namespaces == 1
	}
	for _, l := range lists {
		if !l.whole {
			continue
		}
		if k, ok := named(l.file); ok && len(l.kinds) == 0 {
			l.kinds[k] = false
		}
		for k, namespaced := range l.kinds {
			x := out[k]
			x.everywhere = x.everywhere || l.everywhere(wide, narrow)
			x.namespaces = append(x.namespaces, "")
			if namespaced {
				x.namespaces = append(x.namespaces, l.namespace)
			}
			out[k] = x
		}
	}
	return out
}
