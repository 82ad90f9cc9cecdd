// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
)

// evidence is what a snapshot proves by what it does not hold. The rules stand in the package's documentation.
type evidence struct {
	lists   []list
	folders []folder
	ids     map[folderID]int
	objects map[presence]struct{}
	cuts    map[int]bool              // arguments that were not read to their end
	lost    map[schema.GroupKind]bool // kinds of which an object is known to be damaged
}

type folder struct {
	argument int
	harmed   bool // something in it that may have been an object could not be read
}

type folderID struct {
	argument int
	path     string
}

// presence says that a document of its own held an object of the kind in the namespace.
type presence struct {
	kind      schema.GroupKind
	namespace string
	folder    int
}

// list is one List.
type list struct {
	file       string // its file's name without folders, which may name the resource of an empty one
	complete   bool
	selected   bool                      // it was captured with a selector
	kinds      map[schema.GroupKind]bool // of the items, and whether they have namespaces
	items      int
	namespaces map[string]struct{}
	element    schema.GroupVersionKind // of a typed List

	apiVersion, kind string // the same as it is written
}

func (l *list) add(k object.Key) {
	l.items++
	if l.kinds == nil {
		l.kinds = map[schema.GroupKind]bool{}
	}
	l.kinds[k.GroupKind()] = l.kinds[k.GroupKind()] || k.Namespace != ""
	if k.Namespace == "" {
		return
	}
	if l.namespaces == nil {
		l.namespaces = map[string]struct{}{}
	}
	l.namespaces[k.Namespace] = struct{}{}
}

// namespacedKinds is how many kinds of objects with namespaces there are in the List.
func (l *list) namespacedKinds() int {
	n := 0
	for _, namespaced := range l.kinds {
		if namespaced {
			n++
		}
	}
	return n
}

// folder is the number of a folder of an argument.
func (e *evidence) folder(argument int, path string) int {
	if e.ids == nil {
		e.ids = map[folderID]int{}
	}
	id, ok := e.ids[folderID{argument, path}]
	if !ok {
		id = len(e.folders)
		e.ids[folderID{argument, path}] = id
		e.folders = append(e.folders, folder{argument: argument})
	}
	return id
}

func (e *evidence) harm(folder int) { e.folders[folder].harmed = true }

func (e *evidence) cut(argument int) {
	if e.cuts == nil {
		e.cuts = map[int]bool{}
	}
	e.cuts[argument] = true
}

// lose notes that an object of the kind was captured and could not be read, wherever it may belong.
func (e *evidence) lose(k schema.GroupKind) {
	if e.lost == nil {
		e.lost = map[schema.GroupKind]bool{}
	}
	e.lost[k] = true
}

// found notes an object that was a document of its own.
func (e *evidence) found(k object.Key, folder int) {
	if e.objects == nil {
		e.objects = map[presence]struct{}{}
	}
	e.objects[presence{k.GroupKind(), k.Namespace, folder}] = struct{}{}
}

// extent says in which namespaces all objects of a kind were captured, "" being that of cluster-scoped ones.
type extent struct {
	everywhere bool
	namespaces map[string]struct{}
}

func (x *extent) add(namespace string) {
	if x.namespaces == nil {
		x.namespaces = map[string]struct{}{}
	}
	x.namespaces[namespace] = struct{}{}
}

// extents judges all that was found. The name of a file, without its ending, is turned into a kind by named.
func (e *evidence) extents(named func(file string) (schema.GroupKind, bool)) map[schema.GroupKind]*extent {
	out := map[schema.GroupKind]*extent{}
	of := func(k schema.GroupKind) *extent {
		if out[k] == nil {
			out[k] = &extent{}
		}
		return out[k]
	}
	wide, narrow := e.width()
	for _, l := range e.lists {
		if l.selected {
			continue
		}
		if !l.complete {
			for k := range l.kinds {
				e.lose(k)
			}
			continue
		}
		if len(l.kinds) == 0 {
			if k, ok := named(l.file); ok {
				l.kinds = map[schema.GroupKind]bool{k: false}
			}
		}
		for k := range l.kinds {
			x := of(k)
			x.add("")
			switch n := len(l.namespaces); {
			case n > 1, n == 1 && wide && l.namespacedKinds() == 1, n == 0 && (wide || !narrow):
				x.everywhere = true
			case n == 1 && l.kinds[k]:
				for ns := range l.namespaces {
					x.add(ns)
				}
			}
		}
	}
	for p := range e.objects {
		if f := e.folders[p.folder]; !f.harmed && !e.cuts[f.argument] && !e.lost[p.kind] {
			of(p.kind).add(p.namespace)
		}
	}
	return out
}

// width says whether there are Lists that span namespaces, and whether there are, or may have been in what was cut off, some that do not.
func (e *evidence) width() (wide, narrow bool) {
	narrow = len(e.cuts) > 0
	for _, l := range e.lists {
		if l.selected {
			continue
		}
		wide = wide || len(l.namespaces) > 1
		narrow = narrow || len(l.namespaces) == 1
	}
	return wide, narrow
}
