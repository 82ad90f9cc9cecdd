// SPDX-License-Identifier: Apache-2.0

package state

import (
	"cmp"
	"errors"
	"slices"
)

// maxKept limits the total size, in bytes, of the release records in memory.
const maxKept = 512 << 20

var errKept = errors.New("the release records exceed 512 MiB in total, " +
	"and this is one of those with the highest ratio of unpacked to stored size")

// budget limits the memory of the release records. Beyond the limit, it drops the objects of the records with the
// highest ratio of unpacked to stored size: a record that was made to fill memory has a ratio of a thousand, one of
// Helm has ten. The choice does not depend on the order of the records.
type budget struct {
	limit int // 0 stands for maxKept
	kept  int
	// order has the records that keep their objects, the densest last. worst is the least dense record that lost them.
	order []*Record
	worst *Record
}

// size returns the approximate size of the record in memory, in bytes.
func (r *Record) size() int {
	const perObject, perHook = 256, 64
	n := 0
	for _, o := range slices.Concat(r.Objects, r.Secrets) {
		n += perObject + len(o.Raw)
	}
	for _, h := range r.Hooks {
		n += perHook + len(h.Kind) + len(h.Name)
	}
	return n
}

// byDensity orders records by the ratio of unpacked to stored size, then by name.
func byDensity(a, b *Record) int {
	return cmp.Or(cmp.Compare(a.kept*max(b.packed, 1), b.kept*max(a.packed, 1)), cmp.Compare(a.String(), b.String()))
}

// add counts a record.
func (b *budget) add(r *Record) {
	r.kept = r.size()
	if r.kept == 0 {
		return
	}
	if b.worst != nil && byDensity(r, b.worst) > 0 {
		r.drop(errKept)
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
		b.worst.drop(errKept)
	}
}

// OverBudget makes the record one whose manifest may not be read, because too much would be read together with it.
func (r *Record) OverBudget(why error) { r.drop(why) }

// drop removes the objects and hooks of a record.
func (r *Record) drop(why error) {
	r.Objects, r.Secrets, r.Hooks, r.ManifestError, r.OverBound = nil, nil, nil, why, why.Error()
}
