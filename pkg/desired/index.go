// SPDX-License-Identifier: Apache-2.0

// Package desired indexes desired objects. Claims map an object to those that desire it, and the hash of a set to those
// that have it: bundle deployments in an audit, revisions of releases in the webhook. Replace changes a part of them,
// and returns the objects that this concerns. An Index keeps Claims current from the release records of a cluster: from
// a list, or one by one from a watch.
//
// The package is pure. Its types have no lock: callers that fill and ask them at the same time have one.
package desired

import (
	"cmp"
	"iter"
	"maps"
	"slices"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/release"
)

// Index finds the revisions of releases that desire an object.
type Index struct {
	// claims have the revisions that count, ordered by release; of one release the newest is first.
	claims *Claims[*Revision, *Revision]
	// revisions are all that is known about each release ("namespace/name"), in ascending order.
	revisions map[string][]*Revision
	objects   int
	// unreadable counts the unreadable records of each namespace that has some.
	unreadable map[string]int
}

// New makes an empty Index.
func New() *Index {
	return &Index{claims: NewClaims(byRelease, byRelease), revisions: map[string][]*Revision{},
		unreadable: map[string]int{}}
}

// Set adds a revision, or replaces what is known about it. It returns what SetRelease returns.
func (x *Index) Set(r *Revision) iter.Seq[object.ID] {
	return x.SetRelease(r.Name.Release(), append(x.without(r.Name), r))
}

// Delete removes a revision. It returns what SetRelease returns.
func (x *Index) Delete(n release.Name) iter.Seq[object.ID] {
	return x.SetRelease(n.Release(), x.without(n))
}

// without returns the revisions of a release except one.
func (x *Index) without(n release.Name) []*Revision {
	return slices.DeleteFunc(slices.Clone(x.revisions[n.Release()]), func(r *Revision) bool {
		return r.Revision == n.Revision
	})
}

// SetRelease makes the revisions all that is known about a release ("namespace/name"); without revisions it is removed.
// The Index keeps and sorts the slice. SetRelease returns the objects for which Lookup may have changed, each once, in
// no order: if other revisions count than before, those that the release desired or desires.
func (x *Index) SetRelease(name string, revisions []*Revision) (changed iter.Seq[object.ID]) {
	slices.SortFunc(revisions, func(a, b *Revision) int { return cmp.Compare(a.Revision, b.Revision) })
	before := x.revisions[name]
	if len(revisions) == 0 {
		delete(x.revisions, name)
	} else {
		x.revisions[name] = revisions
	}
	was, is := active(before), active(revisions)
	x.count(before, was, -1)
	x.count(revisions, is, 1)
	return x.claims.Replace(was, is)
}

// count adds a release n times to the sizes. counting are those of its revisions that count.
func (x *Index) count(revisions, counting []*Revision, n int) {
	for _, r := range revisions {
		if r.Status != Unreadable {
			continue
		}
		if x.unreadable[r.Namespace] += n; x.unreadable[r.Namespace] == 0 {
			delete(x.unreadable, r.Namespace)
		}
	}
	for _, r := range counting {
		x.objects += n * r.Objects
	}
}

// active returns the revisions of a release that count, at most two: the highest deployed one, and the newest of all if
// it is pending. A pending revision that is not the newest was given up by Helm, which begins nothing while the newest
// is pending.
func active(revisions []*Revision) []*Revision {
	var out []*Revision
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

// byRelease orders revisions by namespace and name of their release; of one release the newest is first.
func byRelease(a, b *Revision) int {
	return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name.Name, b.Name.Name),
		cmp.Compare(b.Revision, a.Revision))
}

// Lookup returns the releases that desire an object: of a release the one or two revisions that count, the newest
// first; releases are ordered by namespace and name. The key of a cluster-scoped object has no namespace. Agents are
// those of both revisions, also if only one desires the object: the other may remove it.
func (x *Index) Lookup(k object.Key) []Release {
	var out []Release
	for _, claim := range x.claims.Of(object.ID{Key: k}) {
		r := claim.Release
		r.Agents = slices.Clone(r.Agents)
		for _, other := range active(x.revisions[r.Release()]) {
			if other != claim {
				r.Agents = append(r.Agents, other.Agents...)
			}
		}
		out = append(out, r)
	}
	return out
}

// BySet returns the releases with the set of a hash, ordered by namespace and name, each with its newest revision. If
// there are several, at most one owns an object with that hash, and only the object shows which.
func (x *Index) BySet(hash string) []Release {
	var out []Release
	for _, r := range x.claims.BySet(Set{Hash: hash}) {
		if n := len(out); n == 0 || out[n-1].Release() != r.Release.Release() {
			out = append(out, r.Release)
		}
	}
	return out
}

// HasRelease reports whether a release ("namespace/name") has a record, of Fleet's or of another program.
func (x *Index) HasRelease(name string) bool { return len(x.revisions[name]) > 0 }

// Releases yields the names of all releases ("namespace/name"), in no order.
func (x *Index) Releases() iter.Seq[string] { return maps.Keys(x.revisions) }

// Size counts the desired objects, once for each revision that counts; the releases; and the unreadable records.
func (x *Index) Size() (objects, releases, unreadable int) {
	for _, n := range x.unreadable {
		unreadable += n
	}
	return x.objects, len(x.revisions), unreadable
}

// Unreadable returns the namespaces with unreadable records, in no order.
func (x *Index) Unreadable() []string { return slices.Collect(maps.Keys(x.unreadable)) }
