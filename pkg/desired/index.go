// SPDX-License-Identifier: Apache-2.0

// Package desired is an index from the key of an object to the Helm releases that desire it. A caller sets and deletes
// releases one by one: from a list of release records, or from a watch of them.
//
// The package is pure. An Index has no lock: callers that fill and ask it at the same time have one.
package desired

import (
	"cmp"
	"iter"
	"maps"
	"slices"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/release"
)

// Index knows which revisions desire an object. D is what the caller keeps about each desired object; struct{} for
// nothing, which then takes no memory.
type Index[D any] struct {
	// revisions are all that is known about each release ("namespace/name"), in ascending order.
	revisions map[string][]*Revision[D]
	// claims are the revisions that desire an object, ordered by release; of one release the newest is first.
	claims map[key][]claim[D]
	// sets are the revisions by the hash of their set, in the order of claims.
	sets                map[string][]*Revision[D]
	objects, unreadable int
}

type claim[D any] struct {
	desired  D // first: see entry
	revision *Revision[D]
}

// New makes an empty Index.
func New[D any]() *Index[D] {
	return &Index[D]{revisions: map[string][]*Revision[D]{}, claims: map[key][]claim[D]{}, sets: map[string][]*Revision[D]{}}
}

// Set adds a revision, or replaces what is known about it.
func (x *Index[D]) Set(r *Revision[D]) {
	x.SetRelease(r.Name.Release(), append(x.without(r.Name), r))
}

// Delete removes a revision.
func (x *Index[D]) Delete(n release.Name) { x.SetRelease(n.Release(), x.without(n)) }

// without returns the revisions of a release except one.
func (x *Index[D]) without(n release.Name) []*Revision[D] {
	return slices.DeleteFunc(slices.Clone(x.revisions[n.Release()]), func(r *Revision[D]) bool { return r.Revision == n.Revision })
}

// SetRelease makes the revisions all that is known about a release ("namespace/name"); without revisions it is removed.
// The Index keeps and sorts the slice.
func (x *Index[D]) SetRelease(name string, revisions []*Revision[D]) {
	slices.SortFunc(revisions, func(a, b *Revision[D]) int { return cmp.Compare(a.Revision, b.Revision) })
	before := x.revisions[name]
	x.unreadable += countUnreadable(revisions) - countUnreadable(before)
	if len(revisions) == 0 {
		delete(x.revisions, name)
	} else {
		x.revisions[name] = revisions
	}
	was, is := active(before), active(revisions)
	// New claims come first: so the map keeps the entry of an object that both revisions desire.
	for _, r := range is {
		if !slices.Contains(was, r) {
			x.claim(r)
		}
	}
	for _, r := range was {
		if !slices.Contains(is, r) {
			x.disclaim(r)
		}
	}
}

func countUnreadable[D any](revisions []*Revision[D]) int {
	n := 0
	for _, r := range revisions {
		if r.Status == Unreadable {
			n++
		}
	}
	return n
}

// active returns the revisions of a release that count, at most two: the highest deployed one, and the newest of all if
// it is pending. A pending revision that is not the newest was given up by Helm, which begins nothing while the newest
// is pending.
func active[D any](revisions []*Revision[D]) []*Revision[D] {
	var out []*Revision[D]
	for _, r := range slices.Backward(revisions) {
		if r.Status == Deployed || r.Status == Uninstalling {
			out = append(out, r)
			break
		}
	}
	if n := len(revisions); n > 0 && revisions[n-1].Status == Pending {
		out = append(out, revisions[n-1])
	}
	return out
}

func (x *Index[D]) claim(r *Revision[D]) {
	for _, o := range r.objects {
		claims := x.claims[o.key]
		i, _ := slices.BinarySearchFunc(claims, r, func(c claim[D], r *Revision[D]) int { return byRelease(c.revision, r) })
		x.claims[o.key] = slices.Insert(claims, i, claim[D]{o.desired, r})
	}
	x.objects += r.Objects
	if hash := r.Metadata.Hash; hash != "" {
		i, _ := slices.BinarySearchFunc(x.sets[hash], r, byRelease)
		x.sets[hash] = slices.Insert(x.sets[hash], i, r)
	}
}

// byRelease orders revisions by namespace and name of their release; of one release the newest is first.
func byRelease[D any](a, b *Revision[D]) int {
	return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name.Name, b.Name.Name), cmp.Compare(b.Revision, a.Revision))
}

func (x *Index[D]) disclaim(r *Revision[D]) {
	for _, o := range r.objects {
		left := slices.DeleteFunc(x.claims[o.key], func(c claim[D]) bool { return c.revision == r })
		if x.claims[o.key] = left; len(left) == 0 {
			delete(x.claims, o.key)
		}
	}
	x.objects -= r.Objects
	left := slices.DeleteFunc(x.sets[r.Metadata.Hash], func(other *Revision[D]) bool { return other == r })
	if x.sets[r.Metadata.Hash] = left; len(left) == 0 {
		delete(x.sets, r.Metadata.Hash)
	}
}

// Lookup yields the releases that desire an object with what the caller keeps about it: of a release the one or two
// revisions that count, the newest first; releases are ordered by namespace and name. The key of a cluster-scoped object
// has no namespace. Agents are those of both revisions, also if only one desires the object: the other may remove it.
func (x *Index[D]) Lookup(k object.Key) iter.Seq2[Release, D] {
	return func(yield func(Release, D) bool) {
		for _, c := range x.claims[keyOf(k)] {
			r := c.revision.Release
			r.Agents = slices.Clone(r.Agents)
			for _, other := range active(x.revisions[r.Release()]) {
				if other != c.revision {
					r.Agents = append(r.Agents, other.Agents...)
				}
			}
			if !yield(r, c.desired) {
				return
			}
		}
	}
}

// BySet returns the releases whose records state the set of a hash, ordered by namespace and name; of one release the
// newest revision. Of several at most one owns an object with that hash, and only the object can say which.
func (x *Index[D]) BySet(hash string) []Release {
	var out []Release
	for _, r := range x.sets[hash] {
		if n := len(out); n == 0 || out[n-1].Release() != r.Release.Release() {
			out = append(out, r.Release)
		}
	}
	return out
}

// HasRelease says whether a release ("namespace/name") has a record, of Fleet's or of another program.
func (x *Index[D]) HasRelease(name string) bool { return len(x.revisions[name]) > 0 }

// Releases yields the names of all releases ("namespace/name"), in no order.
func (x *Index[D]) Releases() iter.Seq[string] { return maps.Keys(x.revisions) }

// Size counts the desired objects, once for each revision that counts; the releases; and the unreadable records.
func (x *Index[D]) Size() (objects, releases, unreadable int) {
	return x.objects, len(x.revisions), x.unreadable
}
