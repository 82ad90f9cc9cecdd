// SPDX-License-Identifier: Apache-2.0

package index

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/release"
	"github.com/fleetdoctor/kubectl-fleetdoctor/webhook/registry"
)

// errForeign is said of a record that is, by its own words, of another release than its Secret. What it says is not repeated.
var errForeign = errors.New("it names another release than its secret does")

// errNoRoom is said of a record that is sound, but comes when too much is kept already.
var errNoRoom = errors.New("there is no room for what it desires: its namespace has its share of 16 MiB, or what all namespaces have together is taken")

// retryAfter is how long a Secret waits that could not be fetched.
const retryAfter = time.Second

// reader reads each state of a Secret once: a list that starts again, or one after the API server was lost, brings mostly what is known. All
// streams share one, and so what may be kept. Beside that the registry holds, while a list is under way, what the list is about to replace.
//
// It unpacks one record at a time, because one of 1 MiB may unpack to much. A watch does not wait for that: it leaves what changed in the queue.
// A list does, one record after the other.
type reader struct {
	log   logr.Logger
	into  *registry.Registry
	fetch func(context.Context, cache.ObjectName) (*corev1.Secret, error) // nil where it is gone
	work  chan struct{}                                                   // holds a token where something may wait
	ended chan struct{}                                                   // closed when nothing is read any more

	mu    sync.Mutex // guards what follows; no record is read while it is held
	known map[cache.ObjectName]state
	room  room
	queue queue
	// pending are the Secrets whose newest state is not known yet, and behind how many of them a namespace is.
	pending map[cache.ObjectName]*item
	behind  map[string]int
}

// state is what a Secret was read as.
type state struct {
	uid     types.UID
	version string
	entry   *registry.Entry
	refused bool // for want of room
}

func newReader(into *registry.Registry, log logr.Logger, fetch func(context.Context, cache.ObjectName) (*corev1.Secret, error)) *reader {
	return &reader{log: log, into: into, fetch: fetch, work: make(chan struct{}, 1), ended: make(chan struct{}), known: map[cache.ObjectName]state{},
		room: newRoom(), queue: newQueue(), pending: map[cache.ObjectName]*item{}, behind: map[string]int{}}
}

// listed returns the entry of a Secret that a list brought, once it is read. The registry is not told: it takes the list as a whole.
func (r *reader) listed(s *corev1.Secret) *registry.Entry {
	r.mu.Lock()
	if known, ok := r.current(s); ok {
		r.mu.Unlock()
		return known.entry
	}
	it := r.enqueue(s, true)
	r.mu.Unlock()
	select {
	case <-it.done:
	case <-r.ended:
	}
	if it.entry == nil {
		return registry.Damaged(nameOf(s)) // nobody reads any more
	}
	return it.entry
}

// changed has a Secret's new state read, unless it is known. The registry is told after both: it is read, and stored is called.
func (r *reader) changed(s *corev1.Secret) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, ok := r.current(s); !ok {
		r.enqueue(s, false)
	}
}

// stored tells the registry of a state, or has it told once it is read. There is nothing to tell of where a later state came meanwhile.
func (r *reader) stored(rec *record) {
	r.mu.Lock()
	defer r.mu.Unlock()
	name := cache.MetaObjectToName(rec)
	if it := r.pending[name]; it != nil {
		it.stored = it.stored || it.version == rec.ResourceVersion
		return
	}
	known, ok := r.known[name]
	switch {
	case ok && known.uid == rec.UID && known.version == rec.ResourceVersion:
		r.into.Put(known.entry)
	case !ok && rec.entry != nil:
		r.into.Put(rec.entry)
	}
}

// deleted tells the registry that a Secret is gone, unless it is there again.
func (r *reader) deleted(rec *record) {
	r.mu.Lock()
	defer r.mu.Unlock()
	name := cache.MetaObjectToName(rec)
	if _, known := r.known[name]; !known && r.pending[name] == nil {
		r.into.Delete(nameOf(rec))
	}
}

// forget lets go of a Secret that is gone.
func (r *reader) forget(s *corev1.Secret) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.drop(cache.MetaObjectToName(s))
}

// keepOnly forgets the Secrets of a namespace that a whole list of it did not bring; the namespace "" stands for all.
func (r *reader) keepOnly(namespace string, there map[cache.ObjectName]bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	drop := func(name cache.ObjectName) {
		if (namespace == "" || name.Namespace == namespace) && !there[name] {
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

// behindIn says whether records of a namespace wait to be read; the namespace "" stands for all.
func (r *reader) behindIn(namespace string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return namespace == "" && len(r.pending) > 0 || r.behind[namespace] > 0
}

// waiting is how many records wait to be read.
func (r *reader) waiting() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.pending)
}

// current is the state of a Secret, if it is known or need not be read. It is called with mu held.
func (r *reader) current(s *corev1.Secret) (state, bool) {
	name := cache.MetaObjectToName(s)
	known, ok := r.known[name]
	if ok = ok && !known.refused && known.uid == s.UID && known.version == s.ResourceVersion; !ok && s.Labels[statusLabel] == release.StatusSuperseded {
		known, ok = r.keep(s, registry.Known(nameOf(s))), true
	}
	if ok {
		r.settle(name)
	}
	return known, ok
}

// enqueue has a Secret read. One that waits already keeps its place. It is called with mu held.
func (r *reader) enqueue(s *corev1.Secret, listed bool) *item {
	it := &item{name: cache.MetaObjectToName(s), secret: s, version: s.ResourceVersion, listed: listed, done: make(chan struct{})}
	if before := r.pending[it.name]; before != nil && before.place != nil && before.listed == listed {
		r.queue.renew(before, s)
		return before
	}
	r.settle(it.name)
	r.pending[it.name] = it
	r.behind[it.name.Namespace]++
	r.push(it)
	return it
}

func (r *reader) push(it *item) {
	r.queue.push(it)
	select {
	case r.work <- struct{}{}:
	default:
	}
}

// settle says that a Secret does not wait to be read any more. It is called with mu held.
func (r *reader) settle(name cache.ObjectName) {
	it := r.pending[name]
	if it == nil {
		return
	}
	r.queue.remove(it)
	delete(r.pending, name)
	if r.behind[name.Namespace]--; r.behind[name.Namespace] == 0 {
		delete(r.behind, name.Namespace)
	}
	close(it.done)
}

// run reads what waits until ctx is done.
func (r *reader) run(ctx context.Context) {
	defer close(r.ended)
	for ctx.Err() == nil {
		r.mu.Lock()
		it := r.queue.pop()
		r.mu.Unlock()
		if it != nil {
			r.handle(ctx, it)
			continue
		}
		select {
		case <-r.work:
		case <-ctx.Done():
		}
	}
}

// handle reads one Secret, with no lock held.
func (r *reader) handle(ctx context.Context, it *item) {
	s := it.secret
	if s == nil {
		var err error
		if s, err = r.fetch(ctx, it.name); err != nil {
			r.log.Error(err, "A release record was not fetched; it is tried again", "secret", it.name.String(), "after", retryAfter.String())
			time.AfterFunc(retryAfter, func() { r.again(it) })
			return
		}
	}
	var entry *registry.Entry
	if s != nil {
		entry = r.read(s)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.pending[it.name] != it {
		return // it changed again meanwhile, or is gone
	}
	if s != nil {
		it.entry = r.keep(s, entry).entry
		if it.stored {
			r.into.Put(it.entry)
		}
	}
	r.settle(it.name)
}

// again has an item wait once more, if it is still wanted.
func (r *reader) again(it *item) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.pending[it.name] == it {
		r.push(it)
	}
}

// read never fails: a reflector would begin anew, and find the same.
func (r *reader) read(s *corev1.Secret) *registry.Entry {
	name := nameOf(s)
	entry, err := registry.Read(s.Data[release.DataKey])
	if err == nil && entry.Name != name {
		if entry.Bundle == "" {
			return registry.Known(name) // none of Fleet's, as out of a backup of another namespace
		}
		err = errForeign
	}
	if err != nil {
		return r.damaged(s, err)
	}
	return entry
}

func (r *reader) damaged(s *corev1.Secret, err error) *registry.Entry {
	r.log.Error(err, "A release record cannot be read", "secret", cache.MetaObjectToName(s).String())
	return registry.Damaged(nameOf(s))
}

// keep makes an entry what is known of a Secret. One for which there is no room counts as damaged. It is read again when it changes, and with
// the next list; that there is room again does not make it so. It is called with mu held.
func (r *reader) keep(s *corev1.Secret, entry *registry.Entry) state {
	known := state{uid: s.UID, version: s.ResourceVersion, entry: entry}
	if !r.room.take(nameOf(s), entry.Bytes) {
		known.entry, known.refused = r.damaged(s, errNoRoom), true
	}
	r.known[cache.MetaObjectToName(s)] = known
	return known
}

// drop is called with mu held.
func (r *reader) drop(name cache.ObjectName) {
	r.settle(name)
	delete(r.known, name)
	r.room.take(nameOfSecret(name), 0)
}
