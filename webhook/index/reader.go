// SPDX-License-Identifier: Apache-2.0

package index

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/desired"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/release"
)

// statusLabel is the label of a record's Secret to which Helm copies the status.
const statusLabel = "status"

// record is the metadata of a release record's Secret that a reflector needs, and the revision of a listed Secret.
type record struct {
	metav1.ObjectMeta
	revision *Revision
}

// GetObjectKind implements runtime.Object.
func (r *record) GetObjectKind() schema.ObjectKind { return schema.EmptyObjectKind }

// DeepCopyObject implements runtime.Object. A revision does not change.
func (r *record) DeepCopyObject() runtime.Object {
	out := &record{revision: r.revision}
	r.DeepCopyInto(&out.ObjectMeta)
	return out
}

func recordOf(s *corev1.Secret) *record {
	return &record{ObjectMeta: metav1.ObjectMeta{
		Namespace: s.Namespace, Name: s.Name, UID: s.UID, ResourceVersion: s.ResourceVersion}}
}

// nameOf returns the name of the revision that a Secret records. If the Secret does not have the name of a record, it
// returns the name of the Secret: Helm finds it for no release, and its content is unknown.
func nameOf(secret cache.ObjectName) release.Name {
	n, err := release.ParseSecretName(secret.Namespace, secret.Name)
	if err != nil {
		return release.Name{Namespace: secret.Namespace, Name: secret.Name}
	}
	return n
}

// errOtherRelease is the error of a record that states another release than the name of its Secret. It does not quote
// the record.
var errOtherRelease = errors.New("it names another release than its secret does")

// errBudget is the error of a readable record that exceeds the memory budget.
var errBudget = errors.New("its namespace uses its share of the memory for records (16 MiB), " +
	"or all namespaces together use the rest")

// retryAfter is the time between two attempts to fetch a Secret.
const retryAfter = time.Second

// recordReader reads each state of a Secret once: a list that starts again, for example after a disconnection, contains
// mostly known states. All watches share a reader and its budget. The old revisions that a list replaces are not in the
// budget.
//
// The reader decompresses one record at a time, because a record of 1 MiB may be much larger when decompressed. A watch
// puts changed Secrets into the queue, and does not wait. A list waits for each of its records.
type recordReader struct {
	log   logr.Logger
	into  *Index
	fetch fetcher
	work  chan struct{} // contains a token if the queue may not be empty
	ended chan struct{} // closed when the reader has stopped

	mu     sync.Mutex // guards the following fields; it is unlocked while a record is read
	known  map[cache.ObjectName]recordState
	budget budget
	queue  fairQueue
	// pending are the Secrets with a newest state that is not read yet; behind is their number by namespace.
	pending map[cache.ObjectName]*queued
	behind  map[string]int
}

// recordState is the result of reading a Secret.
type recordState struct {
	uid        types.UID
	version    string
	revision   *Revision
	overBudget bool
}

// is reports whether the state is that of a Secret or record.
func (r recordState) is(o metav1.Object) bool {
	return r.uid == o.GetUID() && r.version == o.GetResourceVersion()
}

// fetcher fetches one Secret; nil if the Secret does not exist.
type fetcher func(context.Context, cache.ObjectName) (*corev1.Secret, error)

func newRecordReader(into *Index, log logr.Logger, fetch fetcher) *recordReader {
	return &recordReader{log: log, into: into, fetch: fetch, work: make(chan struct{}, 1), ended: make(chan struct{}),
		known: map[cache.ObjectName]recordState{}, budget: newBudget(), queue: newFairQueue(),
		pending: map[cache.ObjectName]*queued{}, behind: map[string]int{}}
}

// listed waits until a listed Secret is read, and returns its revision. The caller sets the whole list in the index.
func (r *recordReader) listed(s *corev1.Secret) *Revision {
	r.mu.Lock()
	if known, ok := r.current(s); ok {
		r.mu.Unlock()
		return known.revision
	}
	q := r.enqueue(s, true)
	r.mu.Unlock()
	select {
	case <-q.done:
	case <-r.ended:
	}
	if q.revision == nil {
		return desired.WithoutObjects(nameOf(q.name), desired.Unreadable) // the reader has stopped
	}
	return q.revision
}

// changed puts a Secret's new state into the queue, unless the state is known. The state is set in the index when it is
// read and stored was called.
func (r *recordReader) changed(s *corev1.Secret) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, ok := r.current(s); !ok {
		r.enqueue(s, false)
	}
}

// stored sets a state in the index, now or when it is read. It does nothing if a later state was announced.
func (r *recordReader) stored(rec *record) {
	r.mu.Lock()
	defer r.mu.Unlock()
	name := cache.MetaObjectToName(rec)
	if q := r.pending[name]; q != nil {
		q.stored = q.stored || q.version == rec.ResourceVersion
		return
	}
	known, ok := r.known[name]
	switch {
	case ok && known.is(rec):
		r.into.Set(known.revision)
	case !ok && rec.revision != nil:
		r.into.Set(rec.revision)
	}
}

// deleted removes a Secret's revision from the index, unless the Secret exists again.
func (r *recordReader) deleted(rec *record) {
	r.mu.Lock()
	defer r.mu.Unlock()
	name := cache.MetaObjectToName(rec)
	if _, known := r.known[name]; !known && r.pending[name] == nil {
		r.into.Delete(nameOf(name))
	}
}

// forget removes a deleted Secret.
func (r *recordReader) forget(s *corev1.Secret) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.drop(cache.MetaObjectToName(s))
}

// keepOnly removes the Secrets of a namespace that are not in its list; the namespace "" means all.
func (r *recordReader) keepOnly(namespace string, present map[cache.ObjectName]bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	drop := func(name cache.ObjectName) {
		if (namespace == "" || name.Namespace == namespace) && !present[name] {
			r.drop(name)
		}
	}
	for name := range r.known {
		drop(name)
	}
	for name := range r.pending {
		drop(name)
	}
}

// behindIn reports whether records of a namespace wait to be read; the namespace "" means all.
func (r *recordReader) behindIn(namespace string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return namespace == "" && len(r.pending) > 0 || r.behind[namespace] > 0
}

// waiting is the number of records that wait to be read.
func (r *recordReader) waiting() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.pending)
}

// current returns the state of a Secret if the state is known, or need not be read. The caller locks mu.
func (r *recordReader) current(s *corev1.Secret) (recordState, bool) {
	name := cache.MetaObjectToName(s)
	known, ok := r.known[name]
	ok = ok && !known.overBudget && known.is(s)
	if !ok && s.Labels[statusLabel] == release.StatusSuperseded {
		known, ok = r.keep(s, desired.WithoutObjects(nameOf(name), desired.Inactive)), true
	}
	if ok {
		r.settle(name)
	}
	return known, ok
}

// enqueue puts a Secret into the queue. A Secret that waits already keeps its place. The caller locks mu.
func (r *recordReader) enqueue(s *corev1.Secret, listed bool) *queued {
	q := &queued{name: cache.MetaObjectToName(s), secret: s, version: s.ResourceVersion, listed: listed,
		done: make(chan struct{})}
	if before := r.pending[q.name]; before != nil && before.waiting && before.listed == listed {
		r.queue.renew(before, s)
		return before
	}
	r.settle(q.name)
	r.pending[q.name] = q
	r.behind[q.name.Namespace]++
	r.push(q)
	return q
}

func (r *recordReader) push(q *queued) {
	r.queue.push(q)
	select {
	case r.work <- struct{}{}:
	default:
	}
}

// settle ends the wait of a Secret. The caller locks mu.
func (r *recordReader) settle(name cache.ObjectName) {
	q := r.pending[name]
	if q == nil {
		return
	}
	r.queue.remove(q)
	delete(r.pending, name)
	if r.behind[name.Namespace]--; r.behind[name.Namespace] == 0 {
		delete(r.behind, name.Namespace)
	}
	close(q.done)
}

// run reads the Secrets in the queue until ctx is done.
func (r *recordReader) run(ctx context.Context) {
	defer close(r.ended)
	for ctx.Err() == nil {
		r.mu.Lock()
		q := r.queue.pop()
		r.mu.Unlock()
		if q != nil {
			r.handle(ctx, q)
			continue
		}
		select {
		case <-r.work:
		case <-ctx.Done():
		}
	}
}

// handle reads one Secret. It locks mu only for the result.
func (r *recordReader) handle(ctx context.Context, q *queued) {
	s := q.secret
	if s == nil {
		var err error
		if s, err = r.fetch(ctx, q.name); err != nil {
			r.log.Error(err, "A release record could not be fetched; trying again",
				"secret", q.name.String(), "after", retryAfter.String())
			time.AfterFunc(retryAfter, func() { r.again(q) })
			return
		}
	}
	var revision *Revision
	if s != nil {
		revision = r.read(s)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.pending[q.name] != q {
		return // the Secret changed in the meantime, or was deleted
	}
	if s != nil {
		q.revision = r.keep(s, revision).revision
		if q.stored {
			r.into.Set(q.revision)
		}
	}
	r.settle(q.name)
}

// again puts a Secret back into the queue, if its state is still the newest.
func (r *recordReader) again(q *queued) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.pending[q.name] == q {
		r.push(q)
	}
}

// read returns an unreadable revision instead of an error: after an error the reflector would list the same record
// again.
func (r *recordReader) read(s *corev1.Secret) *Revision {
	name := nameOf(cache.MetaObjectToName(s))
	revision, err := desired.ReadRevision(s.Data[release.DataKey])
	switch {
	case err != nil:
		return r.unreadable(s, err)
	case revision.Name == name:
		return revision
	case revision.Bundle == "": // not Fleet's, for example from a backup of another namespace
		return desired.WithoutObjects(name, desired.Inactive)
	}
	return r.unreadable(s, errOtherRelease)
}

func (r *recordReader) unreadable(s *corev1.Secret, err error) *Revision {
	name := cache.MetaObjectToName(s)
	r.log.Error(err, "A release record could not be read", "secret", name.String())
	return desired.WithoutObjects(nameOf(name), desired.Unreadable)
}

// keep makes a revision the known state of a Secret. A revision over the budget is unreadable. It is read again when
// the Secret changes and with the next list, not when other Secrets free memory. The caller locks mu.
func (r *recordReader) keep(s *corev1.Secret, revision *Revision) recordState {
	name := cache.MetaObjectToName(s)
	known := recordState{uid: s.UID, version: s.ResourceVersion, revision: revision}
	if !r.budget.take(nameOf(name), revision.Bytes()) {
		known.revision, known.overBudget = r.unreadable(s, errBudget), true
	}
	r.known[name] = known
	return known
}

// drop removes a Secret. The caller locks mu.
func (r *recordReader) drop(name cache.ObjectName) {
	r.settle(name)
	delete(r.known, name)
	r.budget.take(nameOf(name), 0)
}
