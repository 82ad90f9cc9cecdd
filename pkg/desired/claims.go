// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"cmp"
	"slices"
	"unique"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
)

// Claims maps objects to those that desire them, and sets to those that have them. O desires an object and S has a
// set: a revision of a release in the webhook; a desired object and its bundle deployment in an audit. The order does
// not depend on the order of the changes.
type Claims[O, S comparable] struct {
	objects ordered[key, O]
	sets    ordered[Set, S]
}

// Set identifies a set of objects on a cluster by the value of their hash label.
type Set struct {
	Cluster object.ClusterID
	Hash    string
}

// NewClaims makes empty Claims, ordered by these functions.
func NewClaims[O, S comparable](compareObjects func(a, b O) int, compareSets func(a, b S) int) *Claims[O, S] {
	return &Claims[O, S]{ordered[key, O]{map[key][]O{}, compareObjects}, ordered[Set, S]{map[Set][]S{}, compareSets}}
}

// Add adds a claim to an object.
func (c *Claims[O, S]) Add(id object.ID, claim O) { c.objects.add(keyOf(id), claim) }

// AddSet adds one that has a set. Nothing has the empty hash.
func (c *Claims[O, S]) AddSet(set Set, claim S) {
	if set.Hash != "" {
		c.sets.add(set, claim)
	}
}

// Of returns the claims to an object. The key of a cluster-scoped object has no namespace. The caller must not change
// the slice.
func (c *Claims[O, S]) Of(id object.ID) []O { return c.objects.of[keyOf(id)] }

// BySet returns those that have a set. At most one of them owns an object with its hash, and only the object shows
// which. The caller must not change the slice.
func (c *Claims[O, S]) BySet(set Set) []S { return c.sets.of[set] }

// Kinds returns the kinds of all objects on a cluster, in no order.
func (c *Claims[O, S]) Kinds(cluster object.ClusterID) map[schema.GroupKind]bool {
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

// key is an object's identity in little memory: objects of one collection share its handle.
type key struct {
	collection unique.Handle[collection]
	name       string
}

// collection is one kind in one namespace of a cluster.
type collection struct {
	cluster                object.ClusterID
	group, kind, namespace string
}

func keyOf(id object.ID) key {
	return key{unique.Make(collection{id.Cluster, id.Group, id.Kind, id.Namespace}), id.Name}
}

// object returns the identity of the object on its cluster.
func (k key) object() object.Key {
	c := k.collection.Value()
	return object.Key{Group: c.group, Kind: c.kind, Namespace: c.namespace, Name: k.name}
}
