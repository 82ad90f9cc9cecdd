// SPDX-License-Identifier: Apache-2.0

package auditor

import (
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source/watched"
)

// maxChanges is how many changed objects wait at most. For more, everything is evaluated again, which loses none: the
// objects themselves are in memory.
const maxChanges = 20_000

// changedObject is an object that changed, in the version of its kind that is watched.
type changedObject struct {
	kind schema.GroupVersionKind
	key  object.Key
}

// batch is what changed since the last evaluation.
type batch struct {
	// objects are the changed objects, each with the queries that select it.
	objects map[changedObject][]source.Query
	// everything is true if more than single objects changed.
	everything bool
	// kinds is true if the kinds of the cluster may have changed.
	kinds bool
	// since is the time at which the first change arrived, lacks the time since which the objects may have changed.
	// Both are zero without a change.
	since, lacks time.Time
}

// add adds an object that queries select. Several watches may report it.
func (b batch) add(o changedObject, asked []source.Query) {
	all := b.objects[o]
	for _, q := range asked {
		if !slices.ContainsFunc(all, func(known source.Query) bool { return sameSelection(known, q) }) {
			all = append(all, q)
		}
	}
	b.objects[o] = all
}

func sameSelection(a, b source.Query) bool {
	return a.LabelSelector == b.LabelSelector && a.FieldSelector == b.FieldSelector && a.MetadataOnly == b.MetadataOnly
}

// inbox collects changes from the watches. An object that changes often is in it once.
type inbox struct {
	now    func() time.Time
	notify chan struct{} // has an element if the batch is not empty

	mu    sync.Mutex // guards batch
	batch batch
}

func newInbox(now func() time.Time) *inbox {
	return &inbox{now: now, notify: make(chan struct{}, 1), batch: batch{objects: map[changedObject][]source.Query{}}}
}

// add adds a change.
func (x *inbox) add(c watched.Change) {
	x.mu.Lock()
	b := &x.batch
	now := x.now()
	if b.since.IsZero() {
		b.since = now
	}
	b.lacks = earliest(b.lacks, earliest(now, c.Since))
	switch {
	case c.Key.Name == "":
		// Also that of a kind that defines kinds: discovery would wait for a server that does not answer, and a
		// definition that changed in the meantime is a change of its own.
		b.everything = true
	case definesKinds[c.Kind.GroupKind()] && selectsAll(c.Asked):
		b.kinds = true
	case len(b.objects) >= maxChanges:
		b.everything = true
	default:
		b.add(changedObject{c.Kind, c.Key}, c.Asked)
	}
	x.mu.Unlock()
	x.wake()
}

// wake makes the evaluation look at the inbox.
func (x *inbox) wake() {
	select {
	case x.notify <- struct{}{}:
	default:
	}
}

// take returns what changed, and empties the inbox.
func (x *inbox) take() batch {
	x.mu.Lock()
	defer x.mu.Unlock()
	out := x.batch
	x.batch = batch{objects: map[changedObject][]source.Query{}}
	return out
}

// waiting is the number of changed objects in the inbox.
func (x *inbox) waiting() int {
	x.mu.Lock()
	defer x.mu.Unlock()
	return len(x.batch.objects)
}

// lacks is the time since which the objects in the inbox may have changed; zero if it is empty.
func (x *inbox) lacks() time.Time {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.batch.lacks
}

// definesKinds are the kinds whose objects add kinds to a cluster.
var definesKinds = map[schema.GroupKind]bool{
	{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}: true,
	{Group: "apiregistration.k8s.io", Kind: "APIService"}:             true,
}

// selectsAll reports whether one of the queries is that of watchKinds.
func selectsAll(asked []source.Query) bool {
	return slices.ContainsFunc(asked, func(q source.Query) bool {
		return q.MetadataOnly && q.LabelSelector == "" && q.FieldSelector == ""
	})
}
