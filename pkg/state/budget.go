// SPDX-License-Identifier: Apache-2.0

package state

import (
	"cmp"
	"errors"
	"slices"
	"sync/atomic"
)

// What is parsed is bounded beside what is kept: a manifest of one key a hundred thousand times over is parsed to a small object.
const (
	// dense is from how many times its size in the cluster on a record counts as dense. Those of Helm unpack to about ten times theirs.
	dense = 20
	// maxDense bounds, in bytes, what all dense records may unpack to.
	maxDense = 32 << 20
)

var (
	errUnpacked = errors.New("it unpacks to more than 4 MiB and to more than 100 times its size")
	errDense    = errors.New("the release records that unpack to more than 20 times their size come to more than 32 MiB, and this one is among them")
)

// Work adds up what of the records of a cluster is parsed. The zero value is ready, and may be used from several goroutines.
type Work struct {
	limit int // 0 stands for maxDense
	dense atomic.Int64
}

// charge takes a record into account, and says whether its manifest may be parsed.
func (w *Work) charge(r *Record, unpacked int) bool {
	if r.BundleID == "" || unpacked <= dense*r.packed {
		return true
	}
	r.charged = unpacked
	return w.dense.Add(int64(unpacked)) <= int64(cmp.Or(w.limit, maxDense))
}

// maxKept bounds, in bytes, what is kept of all release records together.
const maxKept = 512 << 20

var errKept = errors.New("the release records come to more than 512 MiB, and this one is among those that unpack to the most for their size")

// budget bounds what is kept of all release records. Where they come to more, those lose their objects that unpack to the most for their size
// in the cluster: a record that was made to fill memory unpacks a thousandfold, one of Helm's tenfold. Which ones those are does not depend
// on the order in which the records come.
type budget struct {
	limit, maxDense int // 0 stands for maxKept and maxDense
	kept            int
	// order has the records that keep their objects, the densest last. worst is the least dense of those that lost them.
	order []*Record
	worst *Record
	// charged is what the dense records unpack to. Where it is too much, none of them is kept, so that their order makes no difference.
	charged int
	dense   []*Record
}

// size is about how many bytes of memory the record takes.
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

// byDensity orders records by how much they unpack to for their size in the cluster. The name decides between equal ones.
func byDensity(a, b *Record) int {
	return cmp.Or(cmp.Compare(a.kept*max(b.packed, 1), b.kept*max(a.packed, 1)), cmp.Compare(a.String(), b.String()))
}

// add takes a record into account.
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

// dropDense drops the dense records where they are too much together.
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

// drop leaves of a record only what it is.
func (r *Record) drop(why error) {
	r.Objects, r.Secrets, r.Hooks, r.ManifestError, r.OverBound = nil, nil, nil, why, why.Error()
}
