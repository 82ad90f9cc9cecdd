// SPDX-License-Identifier: Apache-2.0

package index

import "github.com/fleetdoctor/kubectl-fleetdoctor/pkg/release"

// limits bound what is kept of all records, in bytes. Whoever may write a record can make claims, and memory is everybody's.
type limits struct {
	// most is the room for all namespaces together, and share what one of them may take of it.
	most, share int
	// reserved is the part of most that holds no more than the first bytes of each namespace, so many as first.
	reserved, first int
}

// These have room for some 450,000 objects, 70,000 of one namespace; the reserved part for some 580 objects of each of 256 namespaces.
const (
	maxKept      = 100 << 20
	maxShare     = 16 << 20
	reservedRoom = 32 << 20
	firstRoom    = 128 << 10
)

// room shares out the bytes that may be kept. The first bytes of a namespace are taken from the reserved part, as long as that has some, and
// all others from the rest. So namespaces that have taken their share, however many, leave room for one that has no record yet.
//
// An upgrade needs room for two revisions of a release. The smaller of the two largest is not charged, so that a release which is known stays
// so, however little room is left.
type room struct {
	limits
	reserve, rest int // bytes that are taken of both parts
	spaces        map[string]space
	revisions     map[string]map[int]int // bytes of each, by release
}

// space is what a namespace has taken of the reserved part, and of the rest.
type space struct{ reserve, rest int }

func newRoom() room {
	return room{limits: limits{most: maxKept, share: maxShare, reserved: reservedRoom, first: firstRoom}, spaces: map[string]space{},
		revisions: map[string]map[int]int{}}
}

// take gives a revision so many bytes in place of those that it has. Where there is no room it has none afterwards.
func (r *room) take(n release.Name, bytes int) (ok bool) {
	before := r.charge(n.Release())
	r.set(n, bytes)
	if ok = r.resize(n.Namespace, r.charge(n.Release())-before); !ok {
		r.set(n, 0)
		r.resize(n.Namespace, r.charge(n.Release())-before) // which is no more than before
	}
	return ok
}

// resize changes what a namespace has taken, unless there is no room for it. For no more than it has there always is.
func (r *room) resize(namespace string, by int) (ok bool) {
	had := r.spaces[namespace]
	sum := had.reserve + had.rest + by
	has := space{reserve: min(sum, r.first, r.reserved-r.reserve+had.reserve)}
	has.rest = sum - has.reserve
	rest := r.rest - had.rest + has.rest
	if sum > r.share || rest > r.most-r.reserved {
		return false
	}
	r.reserve, r.rest = r.reserve-had.reserve+has.reserve, rest
	if r.spaces[namespace] = has; sum == 0 {
		delete(r.spaces, namespace)
	}
	return true
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
