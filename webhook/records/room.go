// SPDX-License-Identifier: Apache-2.0

package records

import "github.com/fleetdoctor/kubectl-fleetdoctor/pkg/release"

// maxKept bounds what is kept of all records, in bytes: some 450,000 objects. Whoever may write a record can make claims, and memory is
// everybody's.
const maxKept = 100 << 20

// room shares out the bytes that may be kept. A namespace may take as many as it leaves free: one alone half of all, two a third each. So there
// is always room for a namespace that has taken less.
//
// An upgrade needs room for two revisions of a release. The smaller of the two largest is not charged, so that a release which is known stays
// so, however little room is left.
type room struct {
	most, taken int
	spaces      map[string]int         // by namespace
	revisions   map[string]map[int]int // bytes of each, by release
}

func newRoom() room {
	return room{most: maxKept, spaces: map[string]int{}, revisions: map[string]map[int]int{}}
}

// take gives a revision so many bytes in place of those that it has. Where there is no room it has none afterwards.
func (r *room) take(n release.Name, bytes int) (ok bool) {
	before := r.charge(n.Release())
	r.set(n, bytes)
	grows := r.charge(n.Release()) - before
	if ok = grows <= 0 || r.spaces[n.Namespace]+grows <= r.most-r.taken-grows; !ok {
		r.set(n, 0)
		grows = r.charge(n.Release()) - before
	}
	r.taken += grows
	if r.spaces[n.Namespace] += grows; r.spaces[n.Namespace] == 0 {
		delete(r.spaces, n.Namespace)
	}
	return ok
}

func (r *room) set(n release.Name, bytes int) {
	all := r.revisions[n.Release()]
	if bytes == 0 {
		delete(all, n.Revision)
		if len(all) == 0 {
			delete(r.revisions, n.Release())
		}
		return
	}
	if all == nil {
		all = map[int]int{}
		r.revisions[n.Release()] = all
	}
	all[n.Revision] = bytes
}

// charge is what a release is charged for its revisions.
func (r *room) charge(release string) (sum int) {
	first, second := 0, 0
	for _, bytes := range r.revisions[release] {
		sum += bytes
		second = max(second, min(first, bytes))
		first = max(first, bytes)
	}
	return sum - second
}
