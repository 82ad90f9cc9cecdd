// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"cmp"
	"iter"
	"slices"
	"unique"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
)

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
	return &Claims[O, C]{ordered[Key, O]{map[Key][]O{}, compareObjects}, ordered[Set, C]{map[Set][]C{}, compare}}
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
func (c *Claims[O, C]) Of(id object.ID) []O { return c.objects.of[KeyOf(id)] }

// BySet returns those that have a set. At most one of them owns an object with its hash, and only the object shows
// which. The caller must not change the slice.
func (c *Claims[O, C]) BySet(set Set) []C { return c.sets.of[set] }

// Kinds returns the kinds of all objects on a cluster, in no order.
func (c *Claims[O, C]) Kinds(cluster object.ClusterID) map[schema.GroupKind]bool {
	out := map[schema.GroupKind]bool{}
	for k := range c.objects.of {
		if kind := k.collection.Value(); kind.cluster == cluster {
			out[schema.GroupKind{Group: kind.group, Kind: kind.kind}] = true
		}
	}
	return out
}

// ordered is a map to slices in ascending order.
type ordered[K, V comparable] struct {
	of      map[K][]V
	compare func(a, b V) int
}

// add adds a value after those that are equal.
func (o ordered[K, V]) add(k K, v V) {
	all := o.of[k]
	i, _ := slices.BinarySearchFunc(all, v, func(a, b V) int { return cmp.Or(o.compare(a, b), -1) })
	o.of[k] = slices.Insert(all, i, v)
}

func (o ordered[K, V]) remove(k K, v V) {
	left := slices.DeleteFunc(o.of[k], func(other V) bool { return other == v })
	if o.of[k] = left; len(left) == 0 {
		delete(o.of, k)
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
