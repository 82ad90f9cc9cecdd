// SPDX-License-Identifier: Apache-2.0

package state

import (
	"cmp"
	"errors"
	"slices"
	"strings"
	"sync"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/release"
)

// Who may create a Secret can write a record that is small and costs much: a manifest that repeats one key a hundred
// thousand times, or fifteen thousand objects with similar names. The cost of a record is its unpacked size, or perObject
// for each of its objects if that is more.
const (
	// perObject is about what an object needs in an audit, in bytes, beside its content.
	perObject = 1 << 10
	// dense is the ratio of cost to stored size above which a record is dense. The records of Helm unpack to about ten
	// times their size, and need more than a hundred bytes for each object.
	dense = 20
	// maxDense limits the total cost, in bytes, of all dense records, maxDenseNamespace that of those of a namespace.
	maxDense          = 64 << 20
	maxDenseNamespace = 16 << 20
)

var (
	errDense = errors.New("the release records that need more than 20 times their size exceed 64 MiB in total, " +
		"and this is one of them, in one of the namespaces with most of that")
	errDenseNamespace = errors.New("the release records of its namespace that need more than 20 times their size " +
		"exceed 16 MiB in total, and this is one of them")
)

// Work counts the cost of the dense records of a cluster. So that their order does not matter, their manifests are only
// read when all records are counted, and none of those of a namespace above a limit. The zero value is ready to use and
// safe for concurrent use.
type Work struct {
	all, namespace int // the limits; 0 stands for maxDense and maxDenseNamespace

	mu    sync.Mutex // guards costs
	costs map[string]int
}

// charge counts a record of a namespace if it is dense, and reports whether it is.
func (w *Work) charge(namespace string, packed, cost int) (isDense bool) {
	if w == nil || cost <= dense*packed {
		return false
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.costs == nil {
		w.costs = map[string]int{}
	}
	w.costs[namespace] += cost
	return true
}

// costOf returns the cost of a record in bytes.
func costOf(unpacked, objects int) int { return max(unpacked, perObject*objects) }

// objectsIn estimates the number of objects of a record without reading its manifest: each of them has a kind.
func objectsIn(r *release.Record) int {
	return max(strings.Count(r.Manifest, "kind:"), strings.Count(r.Manifest, `kind":`)) + len(r.Hooks)
}

// Full reports whether the dense records of a namespace already exceed its limit.
func (w *Work) Full(namespace string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.full(w.costs[namespace])
}

func (w *Work) full(cost int) bool { return cost > cmp.Or(w.namespace, maxDenseNamespace) }

// Exceeded returns why the dense records of some namespaces may not be read. All records must have been read.
func (w *Work) Exceeded() map[string]error {
	w.mu.Lock()
	defer w.mu.Unlock()
	type namespaceCost struct {
		name string
		cost int
	}
	out := map[string]error{}
	var within []namespaceCost
	total := 0
	for name, cost := range w.costs {
		if w.full(cost) {
			out[name] = errDenseNamespace
			continue
		}
		within = append(within, namespaceCost{name, cost})
		total += cost
	}
	slices.SortFunc(within, func(a, b namespaceCost) int {
		return cmp.Or(cmp.Compare(b.cost, a.cost), cmp.Compare(a.name, b.name))
	})
	for _, n := range within {
		if total <= cmp.Or(w.all, maxDense) {
			break
		}
		out[n.name] = errDense
		total -= n.cost
	}
	return out
}
