// SPDX-License-Identifier: Apache-2.0

package auditor

import (
	"context"
	"fmt"
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
		if !slices.ContainsFunc(all, func(known source.Query) bool {
			same := known.LabelSelector == q.LabelSelector && known.FieldSelector == q.FieldSelector
			return same && known.MetadataOnly == q.MetadataOnly
		}) {
			all = append(all, q)
		}
	}
	b.objects[o] = all
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

const (
	// evaluationTimeout is how long an evaluation may wait for the API server. What was read until then is in memory,
	// so the next evaluation continues.
	evaluationTimeout = 10 * time.Minute
	// stuckTimeout is how long an evaluation may take. Only a fault of the program takes longer.
	stuckTimeout = 15 * time.Minute
)

// StuckError means that an evaluation does not end.
type StuckError struct{ Since time.Time }

// Error implements error.
func (e *StuckError) Error() string {
	return fmt.Sprintf("an evaluation began at %s, and has not ended", e.Since.UTC().Format(time.RFC3339))
}

// progress is the evaluation that runs, and what the last published state lacks. Its methods are safe for concurrent
// use.
type progress struct {
	mu    sync.Mutex
	began time.Time // zero while none runs
	// lacks is the time of the first change that was taken and is not published; zero without one. published is true if
	// a state was published.
	lacks     time.Time
	published bool
}

// take records that changes since a time are evaluated; zero without a change.
func (p *progress) take(since time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lacks = earliest(p.lacks, since)
}

// publish records that an evaluation which began at a time is published. With an error, it has no state.
func (p *progress) publish(began time.Time, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err != nil {
		p.lacks = earliest(p.lacks, began)
		return
	}
	p.lacks, p.published = time.Time{}, true
}

// current returns the time until which the published state has all changes that were taken until now. ok is false
// before the first state.
func (p *progress) current(now time.Time) (when time.Time, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return earliest(now, p.lacks), p.published
}

// earliest returns the earlier one of two times. A zero time does not count.
func earliest(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// evaluate runs an evaluation, with a context that ends after evaluationTimeout.
func (p *progress) evaluate(ctx context.Context, began time.Time, run func(context.Context)) {
	p.set(began)
	defer p.set(time.Time{})
	ctx, cancel := context.WithTimeoutCause(ctx, evaluationTimeout,
		fmt.Errorf("the evaluation did not end within %s, because the API server does not answer", evaluationTimeout))
	defer cancel()
	run(ctx)
}

func (p *progress) set(began time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.began = began
}

// stuck returns a *StuckError if an evaluation does not end.
func (p *progress) stuck(now time.Time) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.began.IsZero() || now.Sub(p.began) <= stuckTimeout {
		return nil
	}
	return &StuckError{p.began}
}
