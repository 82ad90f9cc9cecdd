// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"cmp"
	"errors"
	"slices"
)

// maxKept bounds, in bytes, what is kept of all release records together.
const maxKept = 512 << 20

var errKept = errors.New("the release records come to more than 512 MiB, and this one is among those that unpack to the most for their size")

// budget bounds what is kept of all release records. Where they come to more, those lose their objects that unpack to the most for their size
// in the cluster: a record that was made to fill memory unpacks a thousandfold, one of Helm's tenfold. Which ones those are does not depend
// on the order in which the records come.
type budget struct {
	limit int // 0 stands for maxKept
	kept  int
	// order has the records that keep their objects, the densest last. worst is the least dense of those that lost them.
	order []*record
	worst *record
}

// size is about how many bytes of memory the record takes.
func (r *record) size() int {
	const perObject, perHook = 256, 64
	n := 0
	for _, o := range slices.Concat(r.objects, r.secrets) {
		n += perObject + len(o.Raw)
	}
	for _, h := range r.Hooks {
		n += perHook + len(h.Kind) + len(h.Name)
	}
	return n
}

// byDensity orders records by how much they unpack to for their size in the cluster. The name decides between equal ones.
func byDensity(a, b *record) int {
	return cmp.Or(cmp.Compare(a.kept*max(b.packed, 1), b.kept*max(a.packed, 1)), cmp.Compare(a.String(), b.String()))
}

// add takes a record into account.
func (b *budget) add(r *record) {
	r.kept = r.size()
	if r.kept == 0 {
		return
	}
	if b.worst != nil && byDensity(r, b.worst) > 0 {
		r.drop()
		return
	}
	at, _ := slices.BinarySearchFunc(b.order, r, byDensity)
	b.order = slices.Insert(b.order, at, r)
	b.kept += r.kept
	for b.kept > cmp.Or(b.limit, maxKept) {
		last := len(b.order) - 1
		b.worst = b.order[last]
		b.order = slices.Delete(b.order, last, last+1)
		b.kept -= b.worst.kept
		b.worst.drop()
	}
}

// drop leaves of a record only what it is.
func (r *record) drop() {
	r.objects, r.secrets, r.Hooks, r.manifestErr, r.OverBound = nil, nil, nil, errKept, errKept.Error()
}
