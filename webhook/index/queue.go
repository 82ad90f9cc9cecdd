// SPDX-License-Identifier: Apache-2.0

// Package index keeps an index of desired objects and the labels of namespaces current: it watches Secrets of type
// helm.sh/release.v1, and Namespaces. It answers from memory.
//
// The index keeps its content while the API server cannot be reached: an old answer is better than none.
// Releases.LastMessage returns its age.
package index

import (
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/desired"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/release"
)

// maxQueued bounds the bytes of the Secrets in the queue.
const maxQueued = 16 << 20

// queued is a Secret that waits to be read, or is being read.
type queued struct {
	name cache.ObjectName
	// secret is nil if the queue was full. Then it is fetched when it is the first in the queue.
	secret *corev1.Secret
	size   int // of the secret in bytes, 0 if it is nil
	// version is that of the announced state; a fetched Secret may be newer.
	version string
	// stored is true if the revision is set in the index as soon as it is read.
	stored bool
	// listed is true if a list waits for done, and then uses the revision; nil if the Secret changed or was deleted.
	listed   bool
	done     chan struct{}
	revision *Revision

	waiting bool // in the queue
}

// fairQueue serves the namespaces in turn, so that a namespace with many Secrets does not delay the others.
type fairQueue struct {
	limit      int // of bytes
	bytes      int
	namespaces map[string]*namespaceQueue
	order      []string // names of the namespaces, the next first
}

// namespaceQueue contains the Secrets of one namespace, also those that do not wait any more. bytes is the size of
// those that wait.
type namespaceQueue struct {
	secrets []*queued
	bytes   int
}

func newFairQueue() fairQueue {
	return fairQueue{limit: maxQueued, namespaces: map[string]*namespaceQueue{}}
}

// push appends a Secret to the queue of its namespace.
func (q *fairQueue) push(s *queued) {
	n := q.namespaces[s.name.Namespace]
	if n == nil {
		n = &namespaceQueue{}
		q.namespaces[s.name.Namespace] = n
		q.order = append(q.order, s.name.Namespace)
	}
	n.secrets = append(n.secrets, s)
	s.waiting = true
	q.account(n, s)
}

// renew replaces the Secret of a waiting element by a newer state.
func (q *fairQueue) renew(s *queued, secret *corev1.Secret) {
	n := q.namespaces[s.name.Namespace]
	n.bytes -= s.size
	q.bytes -= s.size
	s.secret, s.size, s.version, s.stored = secret, 0, secret.ResourceVersion, false
	q.account(n, s)
}

// account adds the bytes of a Secret. It drops the Secret, unless a list waits for it, if its namespace would use more
// bytes than it leaves free.
func (q *fairQueue) account(n *namespaceQueue, s *queued) {
	if s.secret == nil {
		return
	}
	if s.size = s.secret.Size(); !s.listed && n.bytes+s.size > q.limit-q.bytes-s.size {
		s.secret, s.size = nil, 0
	}
	n.bytes += s.size
	q.bytes += s.size
}

// pop removes the first Secret of the next namespace; nil if no Secret waits.
func (q *fairQueue) pop() *queued {
	for len(q.order) > 0 {
		namespace := q.order[0]
		n := q.namespaces[namespace]
		s := n.secrets[0]
		wait := s.waiting
		q.leave(s)
		n.secrets[0] = nil // frees it
		n.secrets, q.order = n.secrets[1:], q.order[1:]
		if len(n.secrets) > 0 {
			q.order = append(q.order, namespace)
		} else {
			delete(q.namespaces, namespace)
		}
		if wait {
			return s
		}
	}
	return nil
}

// remove removes a Secret from the queue, if it waits.
func (q *fairQueue) remove(s *queued) {
	if s.waiting {
		q.leave(s)
		s.secret = nil // the queue still has the element
	}
}

func (q *fairQueue) leave(s *queued) {
	if s.waiting {
		s.waiting = false
		q.namespaces[s.name.Namespace].bytes -= s.size
		q.bytes -= s.size
	}
}

// Revision is a revision of a release with the keys of its objects.
type Revision = desired.Revision

// Index is a desired.Index that is safe for concurrent use.
type Index struct {
	partial bool

	mu       sync.RWMutex
	releases *desired.Index
}

// New makes an empty Index for the release records of some namespaces; none means all.
func New(namespaces ...string) *Index {
	return &Index{partial: len(namespaces) > 0, releases: desired.New()}
}

// Set adds or replaces a revision.
func (x *Index) Set(r *Revision) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.releases.Set(r)
}

// Delete removes a revision.
func (x *Index) Delete(n release.Name) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.releases.Delete(n)
}

// Replace replaces all revisions of a namespace; the namespace "" means all. It locks for one release at a time, so
// that admission requests do not wait for all releases.
func (x *Index) Replace(namespace string, revisions []*Revision) {
	byRelease := map[string][]*Revision{}
	x.mu.RLock()
	for name := range x.releases.Releases() {
		if namespace == "" || strings.HasPrefix(name, namespace+"/") {
			byRelease[name] = nil
		}
	}
	x.mu.RUnlock()
	for _, r := range revisions {
		name := r.Name.Release()
		byRelease[name] = append(byRelease[name], r)
	}
	for name, all := range byRelease {
		x.mu.Lock()
		x.releases.SetRelease(name, all)
		x.mu.Unlock()
	}
}

// Lookup returns the releases that desire an object; see desired.Index.
func (x *Index) Lookup(k object.Key) []desired.Release {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return x.releases.Lookup(k)
}

// BySet returns the releases that have the set with a hash; see desired.Index.
func (x *Index) BySet(hash string) []desired.Release {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return x.releases.BySet(hash)
}

// HasRelease reports whether a release ("namespace/name") has a record, of Fleet or of another program.
func (x *Index) HasRelease(name string) bool {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return x.releases.HasRelease(name)
}

// Unreadable returns the namespaces with release records that could not be read, in no order. all is true if the
// records of all namespaces are in the index: then a release that is not in it does not exist.
func (x *Index) Unreadable() (namespaces []string, all bool) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return x.releases.Unreadable(), !x.partial
}

// Size counts the desired objects, once for each revision that counts; the releases; and the unreadable records.
func (x *Index) Size() (objects, releases, unreadable int) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return x.releases.Size()
}

// limits bound the memory of all revisions, in bytes. Every user who may write a record can claim objects, and all
// namespaces share the memory.
type limits struct {
	// total is for all namespaces together, and perNamespace for one of them.
	total, perNamespace int
	// reserved is the part of total for the first bytes of each namespace, up to first.
	reserved, first int
}

// defaultLimits allow some 450,000 objects, 70,000 of one namespace; the reserved part some 580 objects in each of 256
// namespaces.
var defaultLimits = limits{total: 100 << 20, perNamespace: 16 << 20, reserved: 32 << 20, first: 128 << 10}

// budget divides the memory between namespaces. The first bytes of a namespace come from the reserved part until that
// is used, all others from the shared rest. So memory is left for a namespace without records, although other
// namespaces have used their whole share.
//
// An upgrade needs memory for two revisions of a release. The smaller of the two largest is not charged, so that an
// upgrade of a known release is always within the budget.
type budget struct {
	limits
	used       usage                  // of all namespaces
	namespaces map[string]usage       // of each
	revisions  map[string]map[int]int // bytes of each, by release
}

// usage is the number of bytes from the reserved part and from the rest.
type usage struct{ reserved, shared int }

func newBudget() budget {
	return budget{limits: defaultLimits, namespaces: map[string]usage{}, revisions: map[string]map[int]int{}}
}

// take sets the bytes of a revision. If that exceeds the budget, it sets them to zero.
func (b *budget) take(n release.Name, bytes int) (ok bool) {
	before := b.charge(n.Release())
	b.set(n, bytes)
	if ok = b.resize(n.Namespace, b.charge(n.Release())-before); !ok {
		b.set(n, 0)
		b.resize(n.Namespace, b.charge(n.Release())-before) // succeeds: the charge does not grow
	}
	return ok
}

// resize changes the bytes of a namespace, if the limits allow it. They always allow a decrease.
func (b *budget) resize(namespace string, by int) (ok bool) {
	before := b.namespaces[namespace]
	sum := before.reserved + before.shared + by
	after := usage{reserved: min(sum, b.first, b.reserved-b.used.reserved+before.reserved)}
	after.shared = sum - after.reserved
	shared := b.used.shared - before.shared + after.shared
	if sum > b.perNamespace || shared > b.total-b.reserved {
		return false
	}
	b.used = usage{b.used.reserved - before.reserved + after.reserved, shared}
	if b.namespaces[namespace] = after; sum == 0 {
		delete(b.namespaces, namespace)
	}
	return true
}

func (b *budget) set(n release.Name, bytes int) {
	all := b.revisions[n.Release()]
	if bytes == 0 {
		delete(all, n.Revision)
		if len(all) == 0 {
			delete(b.revisions, n.Release())
		}
		return
	}
	if all == nil {
		all = map[int]int{}
		b.revisions[n.Release()] = all
	}
	all[n.Revision] = bytes
}

// charge returns the bytes that a release is charged for its revisions.
func (b *budget) charge(release string) (sum int) {
	first, second := 0, 0
	for _, bytes := range b.revisions[release] {
		sum += bytes
		second = max(second, min(first, bytes))
		first = max(first, bytes)
	}
	return sum - second
}
