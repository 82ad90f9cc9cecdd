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
	"unique"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/ownership"
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

// Status is the status of a revision in its release record, reduced to the values that the index distinguishes.
type Status int8

// The statuses.
const (
	// Inactive is a superseded or failed revision, or one of a release that is not Fleet's. It desires nothing, but its
	// release exists.
	Inactive Status = iota
	// Unreadable is a revision whose record could not be read: its desired objects are unknown.
	Unreadable
	// Deployed is the revision that Helm deployed.
	Deployed
	// Pending is a revision that Helm installs, upgrades or rolls back to. Helm stores the record before it applies.
	Pending
	// Uninstalling is the deployed revision of a release that Helm uninstalls. Its objects still have their owner, and
	// no further object gets it.
	Uninstalling
)

// Release describes one revision of a Helm release.
type Release struct {
	release.Name
	Status Status
	// Bundle is the name of the BundleDeployment; empty for a release that is not Fleet's.
	Bundle string
	// Agents deploy the release: the agent of this revision first, then that of the other revision that counts, if
	// there is one.
	Agents []Agent
	// Metadata is the ownership metadata of the objects in the manifest.
	Metadata ownership.Metadata
	// Objects is the number of distinct objects that the revision desires.
	Objects int
}

// Agent is the namespace of a Fleet agent, and the service account in it that Helm ran as; empty for the agent's own.
type Agent struct{ Namespace, ServiceAccount string }

// Revision is a Release with the objects that it desires. It does not change after NewRevision, so goroutines may share
// it.
type Revision struct {
	Release
	keys []Key
}

// Desires implements Claimant.
func (r *Revision) Desires(yield func(Key, *Revision) bool) {
	for _, k := range r.keys {
		if !yield(k, r) {
			return
		}
	}
}

// OwnSet implements Claimant.
func (r *Revision) OwnSet() Set { return Set{Hash: r.Metadata.Hash} }

// NewRevision makes a Revision that desires objects with these keys.
func NewRevision(r Release, keys []object.Key) *Revision {
	out := &Revision{Release: r, keys: make([]Key, 0, len(keys))}
	added := make(map[Key]bool, len(keys))
	for _, k := range keys {
		if k := KeyOf(object.ID{Key: k}); !added[k] {
			added[k] = true
			out.keys = append(out.keys, k)
		}
	}
	return out
}

// keyBytes and collectionBytes are the memory of a key and a collection beside their text, in the index and in the
// revision, with the spare room of the maps. They are measured and rounded up.
const keyBytes, collectionBytes = 100, 300

// Bytes estimates the memory of the revision in an index, in bytes.
func (r *Revision) Bytes() int {
	n := 0
	collections := map[unique.Handle[collection]]bool{}
	for _, k := range r.keys {
		n += keyBytes + len(k.name)
		if !collections[k.collection] {
			collections[k.collection] = true
			c := k.collection.Value()
			n += collectionBytes + len(c.group) + len(c.kind) + len(c.namespace)
		}
	}
	return n
}

// Claims maps objects to those that desire them, and sets to those that have them. C desires objects and has a set,
// and O is what it desires: a revision of a release in the webhook is both; in an audit, C is a bundle deployment and O
// one of its desired objects. The order does not depend on the order of the changes.
type Claims[O comparable, C Claimant[O]] struct {
	objects ordered[Key, O]
	sets    ordered[Set, C]
}

// Claimant desires objects and has a set. It does not change while it is in Claims.
type Claimant[O any] interface {
	comparable
	// Desires yields the objects that it desires.
	Desires(yield func(Key, O) bool)
	// OwnSet is the set that its objects have. Nothing has the empty hash.
	OwnSet() Set
}

// Set identifies a set of objects on a cluster by the value of their hash label.
type Set struct {
	Cluster object.ClusterID
	Hash    string
}

// NewClaims makes empty Claims, ordered by these functions.
func NewClaims[O comparable, C Claimant[O]](compareObjects func(a, b O) int, compare func(a, b C) int) *Claims[O, C] {
	return &Claims[O, C]{ordered[Key, O]{map[Key][]O{}, map[Key]bool{}, compareObjects},
		ordered[Set, C]{map[Set][]C{}, map[Set]bool{}, compare}}
}

// Replace replaces some of those that desire objects by others. It returns the objects for which Of may have changed,
// each once, in no order. They are computed when they are read, because most callers do not need them.
func (c *Claims[O, C]) Replace(was, is []C) (changed iter.Seq[object.ID]) {
	if slices.Equal(was, is) {
		return func(func(object.ID) bool) {}
	}
	// New claims come first: so the map keeps the entry of an object that both desire.
	for _, x := range is {
		if slices.Contains(was, x) {
			continue
		}
		for k, o := range x.Desires {
			c.objects.add(k, o)
		}
		if set := x.OwnSet(); set.Hash != "" {
			c.sets.add(set, x)
		}
	}
	for _, x := range was {
		if slices.Contains(is, x) {
			continue
		}
		for k, o := range x.Desires {
			c.objects.remove(k, o)
		}
		c.sets.remove(x.OwnSet(), x)
	}
	return desiredBy[O](slices.Concat(was, is))
}

// desiredBy yields the objects that some desire, each once.
func desiredBy[O any, C Claimant[O]](all []C) iter.Seq[object.ID] {
	return func(yield func(object.ID) bool) {
		yielded := map[Key]bool{}
		for _, x := range all {
			for k := range x.Desires {
				if yielded[k] {
					continue
				}
				if yielded[k] = true; !yield(k.id()) {
					return
				}
			}
		}
	}
}

// Of returns the claims to an object. The key of a cluster-scoped object has no namespace. The caller must not change
// the slice.
func (c *Claims[O, C]) Of(id object.ID) []O { return c.objects.groups[KeyOf(id)] }

// Contested reports whether there is more than one claim to an object.
func (c *Claims[O, C]) Contested(id object.ID) bool {
	return len(c.objects.several) > 0 && c.objects.several[KeyOf(id)]
}

// BySet returns those that have a set. At most one of them owns an object with its hash, and only the object shows
// which. The caller must not change the slice.
func (c *Claims[O, C]) BySet(set Set) []C { return c.sets.groups[set] }

// Kinds returns the kinds of all objects on a cluster, in no order.
func (c *Claims[O, C]) Kinds(cluster object.ClusterID) map[schema.GroupKind]bool {
	out := map[schema.GroupKind]bool{}
	for k := range c.objects.groups {
		if kind := k.collection.Value(); kind.cluster == cluster {
			out[schema.GroupKind{Group: kind.group, Kind: kind.kind}] = true
		}
	}
	return out
}

// ordered is a map to slices in ascending order.
type ordered[K, V comparable] struct {
	groups map[K][]V
	// several are the keys with more than one value.
	several map[K]bool
	compare func(a, b V) int
}

// add adds a value after those that are equal.
func (o ordered[K, V]) add(k K, v V) {
	all := o.groups[k]
	i, _ := slices.BinarySearchFunc(all, v, func(a, b V) int { return cmp.Or(o.compare(a, b), -1) })
	o.groups[k] = slices.Insert(all, i, v)
	if len(all) > 0 {
		o.several[k] = true
	}
}

func (o ordered[K, V]) remove(k K, v V) {
	left := slices.DeleteFunc(o.groups[k], func(other V) bool { return other == v })
	if o.groups[k] = left; len(left) == 0 {
		delete(o.groups, k)
	}
	if len(left) < 2 {
		delete(o.several, k)
	}
}

// Key is the identity of an object in little memory: objects of one collection share its handle.
type Key struct {
	collection unique.Handle[collection]
	name       string
}

// collection is one kind in one namespace of a cluster.
type collection struct {
	cluster                object.ClusterID
	group, kind, namespace string
}

// KeyOf returns the key of an object.
func KeyOf(id object.ID) Key {
	return Key{unique.Make(collection{id.Cluster, id.Group, id.Kind, id.Namespace}), id.Name}
}

// id returns the identity of the object.
func (k Key) id() object.ID {
	c := k.collection.Value()
	return object.ID{Cluster: c.cluster,
		Key: object.Key{Group: c.group, Kind: c.kind, Namespace: c.namespace, Name: k.name}}
}
