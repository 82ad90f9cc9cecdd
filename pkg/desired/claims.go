// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"cmp"
	"slices"
	"unique"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
)

// Claims maps objects to those that desire them, and hashes of sets to those that have the set. O desires an object and S has a set: a revision of
// a release in the webhook; a desired object and its bundle deployment in an audit. The order does not depend on the order of the changes.
type Claims[O, S comparable] struct {
	objects ordered[key, O]
	sets    ordered[string, S]
}

// NewClaims makes empty Claims, ordered by these functions.
func NewClaims[O, S comparable](compareObjects func(a, b O) int, compareSets func(a, b S) int) *Claims[O, S] {
	return &Claims[O, S]{ordered[key, O]{map[key][]O{}, compareObjects}, ordered[string, S]{map[string][]S{}, compareSets}}
}

// Add adds a claim to an object.
func (c *Claims[O, S]) Add(k object.Key, claim O) { c.objects.add(keyOf(k), claim) }

// AddSet adds one that has the set of a hash. Nothing has the empty hash.
func (c *Claims[O, S]) AddSet(hash string, claim S) {
	if hash != "" {
		c.sets.add(hash, claim)
	}
}

// Of returns the claims to an object. The key of a cluster-scoped object has no namespace. The caller must not change the slice.
func (c *Claims[O, S]) Of(k object.Key) []O { return c.objects.of[keyOf(k)] }

// BySet returns those that have the set of a hash. At most one of them owns an object with that hash, and only the object shows which. The
// caller must not change the slice.
func (c *Claims[O, S]) BySet(hash string) []S { return c.sets.of[hash] }

// Kinds returns the kinds of all objects, in no order.
func (c *Claims[O, S]) Kinds() map[schema.GroupKind]bool {
	out := map[schema.GroupKind]bool{}
	for k := range c.objects.of {
		kind := k.collection.Value()
		out[schema.GroupKind{Group: kind.group, Kind: kind.kind}] = true
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

// collection is one kind in one namespace.
type collection struct{ group, kind, namespace string }

func keyOf(k object.Key) key {
	return key{unique.Make(collection{k.Group, k.Kind, k.Namespace}), k.Name}
}
