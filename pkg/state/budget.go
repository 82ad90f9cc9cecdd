// SPDX-License-Identifier: Apache-2.0

package state

import (
	"cmp"
	"errors"
	"slices"
	"sync/atomic"
)

// Parsing has a limit of its own: a manifest that repeats one key a hundred thousand times becomes a small object.
const (
	// dense is the ratio of unpacked to stored size above which a record is dense. The records of Helm unpack to about
	// ten times their size.
	dense = 20
	// maxDense limits the total unpacked size, in bytes, of all dense records.
	maxDense = 32 << 20
)

var errDense = errors.New("the release records that unpack to more than 20 times their size exceed 32 MiB in total, " +
	"and this is one of them")

// Work counts the size of the dense records of a cluster. The zero value is ready to use and safe for concurrent use.
type Work struct {
	limit int // 0 stands for maxDense
	dense atomic.Int64
}

// charge counts a record of Fleet, and reports whether its manifest may be parsed.
func (w *Work) charge(r *Record, unpacked int) bool {
	if unpacked <= dense*r.packed {
		return true
	}
	r.charged = unpacked
	return w.dense.Add(int64(unpacked)) <= int64(cmp.Or(w.limit, maxDense))
}

// maxKept limits the total size, in bytes, of the release records in memory.
const maxKept = 512 << 20

var errKept = errors.New("the release records exceed 512 MiB in total, " +
	"and this is one of those with the highest ratio of unpacked to stored size")

// budget limits the memory of the release records. Beyond the limit, it drops the objects of the records with the
// highest ratio of unpacked to stored size: a record that was made to fill memory has a ratio of a thousand, one of
// Helm has ten. The choice does not depend on the order of the records.
type budget struct {
	limit, maxDense int // 0 stands for maxKept and maxDense
	kept            int
	// order has the records that keep their objects, the densest last. worst is the least dense record that lost them.
	order []*Record
	worst *Record
	// charged is the total unpacked size of the dense records. Beyond the limit, none of them is kept, so that their
	// order does not matter.
	charged int
	dense   []*Record
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
	if r.charged > 0 {
		b.charged += r.charged
		b.dense = append(b.dense, r)
		b.dropDense()
	}
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

// dropDense drops the dense records if they exceed their limit in total.
func (b *budget) dropDense() {
	if b.charged <= cmp.Or(b.maxDense, maxDense) {
		return
	}
	for _, r := range b.dense {
		if at := slices.Index(b.order, r); at >= 0 {
			b.order = slices.Delete(b.order, at, at+1)
			b.kept -= r.kept
		}
		r.drop(errDense)
	}
	b.dense = nil
}

// drop removes the objects and hooks of a record.
func (r *Record) drop(why error) {
	r.Objects, r.Secrets, r.Hooks, r.ManifestError, r.OverBound = nil, nil, nil, why, why.Error()
}
