// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
)

// evidence is the data that decides which kinds were captured in which namespaces. The documentation of the package has the rules.
type evidence struct {
	lists   []list
	objects map[single]struct{}
	harmed  map[folder]bool           // folders in which objects may not have been read
	cuts    map[int]bool              // arguments that were not read to their end
	lost    map[schema.GroupKind]bool // kinds of damaged objects
}

func newEvidence() evidence {
	return evidence{objects: map[single]struct{}{}, harmed: map[folder]bool{}, cuts: map[int]bool{}, lost: map[schema.GroupKind]bool{}}
}

// folder is a folder of an argument.
type folder struct {
	argument int
	path     string
}

// single is a set of separate documents: the objects of a kind in a namespace, in one folder.
type single struct {
	kind      schema.GroupKind
	namespace string
	folder    folder
}

// list is one List.
type list struct {
	file            string // name of the file without folders, which may be the name of a resource
	complete        bool
	selected        bool                      // it was captured with a selector
	kinds           map[schema.GroupKind]bool // of the items, and whether they have namespaces
	namespacedKinds int                       // of the items
	namespace       string                    // of its items
	namespaces      int                       // of its items: 0, 1, or 2 for more
	element         schema.GroupVersionKind   // the kind of the items of a typed List
}

// add adds an item.
func (l *list) add(k object.Key) {
	if l.kinds == nil {
		l.kinds = map[schema.GroupKind]bool{}
	}
	gk := k.GroupKind()
	if k.Namespace != "" && !l.kinds[gk] {
		l.namespacedKinds++
	}
	l.kinds[gk] = l.kinds[gk] || k.Namespace != ""
	if k.Namespace != "" && k.Namespace != l.namespace && l.namespaces < 2 {
		l.namespaces++
		l.namespace = k.Namespace
	}
}

// extent is the set of namespaces in which all objects of a kind were captured. "" stands for cluster-scoped objects.
type extent struct {
	everywhere bool
	namespaces []string
}

// notCaptured is the failure in all namespaces in which nothing proves that all objects of a kind were captured. The
// text does not name the kind, so that kinds with the same failure can be shown together.
var notCaptured = source.Failure{
	Reason: source.NotInSnapshot,
	Detail: "neither a whole List of the kind nor, in that namespace, objects of the kind were captured",
}

// coverage is the coverage of a kind.
func (x extent) coverage() source.Coverage {
	if x.everywhere {
		return source.Covered()
	}
	return source.CoveredIn(x.namespaces, notCaptured)
}

// extents evaluates the evidence. named returns the kind of the resource in the name of a file.
func (e *evidence) extents(named func(file string) (schema.GroupKind, bool)) map[schema.GroupKind]extent {
	out := map[schema.GroupKind]extent{}
	// wide: there are Lists that span namespaces. narrow: there are Lists within one namespace, or they may be in a part that was cut.
	wide, narrow := false, len(e.cuts) > 0
	for _, l := range e.lists {
		wide = wide || !l.selected && l.namespaces > 1
		narrow = narrow || !l.selected && l.namespaces == 1
	}
	for _, l := range e.lists {
		if k, ok := named(l.file); ok && l.complete && len(l.kinds) == 0 {
			l.kinds = map[schema.GroupKind]bool{k: false}
		}
		for k, namespaced := range l.kinds {
			if l.selected {
				continue
			}
			if !l.complete {
				e.lost[k] = true
				continue
			}
			x := out[k]
			x.namespaces = append(x.namespaces, "")
			switch n := l.namespaces; {
			case n > 1, n == 1 && wide && l.namespacedKinds == 1, n == 0 && (wide || !narrow):
				x.everywhere = true
			case n == 1 && namespaced:
				x.namespaces = append(x.namespaces, l.namespace)
			}
			out[k] = x
		}
	}
	for d := range e.objects {
		if !e.harmed[d.folder] && !e.cuts[d.folder.argument] && !e.lost[d.kind] {
			x := out[d.kind]
			x.namespaces = append(x.namespaces, d.namespace)
			out[d.kind] = x
		}
	}
	return out
}
