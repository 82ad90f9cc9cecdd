// SPDX-License-Identifier: Apache-2.0

package state

import (
	"cmp"
	"errors"
	"strings"
	"sync"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/release"
)

// Who may create a Secret can write a record that is small and costs much: a manifest that repeats one key a hundred
// thousand times, or fifteen thousand objects with similar names. The cost of a record is its unpacked size, or
// perObject for each of its objects if that is more.
const (
	// perObject is about what an object needs in an audit, in bytes, beside its content.
	perObject = 1 << 10
	// dense is the ratio of cost to stored size above which a record is dense. The records of Helm unpack to about ten
	// times their size, and need more than a hundred bytes for each object.
	dense = 20
	// maxDense limits the total cost, in bytes, of all dense records, maxDenseNamespace that of those of a namespace.
	maxDense          = 48 << 20
	maxDenseNamespace = 16 << 20
	// Of the cost of a record, one of namedShare counts if Fleet names it, and one of supersededShare if its revision
	// is superseded: its objects are not evaluated.
	namedShare, supersededShare = 4, 8
)

var (
	errDense = errors.New("the release records that need more than 20 times their size exceed 48 MiB in total, " +
		"and this is one of them, in one of the namespaces with most of that")
	errDenseNamespace = errors.New("the release records of its namespace that need more than 20 times their size " +
		"exceed 16 MiB in total, and this is one of them")
)

// Work counts the cost of the dense records of a cluster. So that their order does not matter, their manifests are only
// read when all records are counted, and none of those of a namespace above a limit. The zero value is ready to use and
// safe for concurrent use.
type Work struct {
	// Named are the records that Fleet names; see Fleet.NamedReleases.
	Named map[release.Name]bool

	all, namespace int // the limits; 0 stands for maxDense and maxDenseNamespace

	mu    sync.Mutex // guards costs
	costs shares
}

// charge counts a record if it is dense, and reports whether it is.
func (w *Work) charge(r *release.Record, packed, unpacked, objects int) (isDense bool) {
	cost := max(unpacked, perObject*objects)
	if w == nil || cost <= dense*packed {
		return false
	}
	switch {
	case w.Named[r.Name]:
		cost /= namedShare
	case r.Status == release.StatusSuperseded:
		cost /= supersededShare
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.costs == nil {
		w.costs = shares{}
	}
	w.costs[r.Namespace] += cost
	return true
}

// objectsIn estimates the number of objects of a record without reading its manifest: each of them is a document or,
// with a kind, in a List.
func objectsIn(r *release.Record) int {
	n := 1 + strings.Count(r.Manifest, "\n---")
	if strings.Contains(r.Manifest, "List") {
		n = max(n, strings.Count(r.Manifest, "kind:"), strings.Count(r.Manifest, `kind":`))
	}
	return n + len(r.Hooks)
}

// Full reports whether the dense records of a namespace already exceed its limit.
func (w *Work) Full(namespace string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.costs[namespace] > cmp.Or(w.namespace, maxDenseNamespace)
}

// Exceeded returns why the dense records of some namespaces may not be read. All records must have been read.
func (w *Work) Exceeded() map[string]error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.costs.exceeded(share{cmp.Or(w.namespace, maxDenseNamespace), errDenseNamespace},
		share{cmp.Or(w.all, maxDense), errDense})
}
