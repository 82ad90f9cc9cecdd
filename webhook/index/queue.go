// SPDX-License-Identifier: Apache-2.0

package index

import (
	"container/list"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"
)

// maxQueued bounds the bytes of the Secrets in the queue.
const maxQueued = 16 << 20

// queued is a Secret that waits to be read, or is being read.
type queued struct {
	name cache.ObjectName
	// secret is nil if the queue was full: it is fetched when it is first in the queue.
	secret *corev1.Secret
	size   int // of the secret in bytes, 0 if it is nil
	// version is that of the announced state; a fetched Secret may be newer.
	version string
	// stored says that the revision is set in the index as soon as it is read.
	stored bool
	// listed says that a list waits for done, and then takes the revision; nil if the Secret changed or was deleted.
	listed   bool
	done     chan struct{}
	revision *Revision

	element *list.Element // in the queue of its namespace; nil while it is being read
}

// fairQueue serves the namespaces in turn, so that one with many Secrets does not delay the others.
type fairQueue struct {
	limit      int // of bytes
	bytes      int
	namespaces map[string]*namespaceQueue
	order      list.List // of the names of namespaces with waiting Secrets, the next first
}

// namespaceQueue holds the waiting Secrets of one namespace.
type namespaceQueue struct {
	waiting list.List
	bytes   int
	element *list.Element // in the order of namespaces
}

func newFairQueue() fairQueue {
	return fairQueue{limit: maxQueued, namespaces: map[string]*namespaceQueue{}}
}

// push appends a Secret to the queue of its namespace.
func (q *fairQueue) push(s *queued) {
	n := q.namespaces[s.name.Namespace]
	if n == nil {
		n = &namespaceQueue{element: q.order.PushBack(s.name.Namespace)}
		q.namespaces[s.name.Namespace] = n
	}
	s.element = n.waiting.PushBack(s)
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

// account adds the bytes of a Secret. It drops a Secret, unless a list waits for it, if its namespace would take more bytes
// than it leaves free.
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

// pop removes the first Secret of the next namespace; nil if the queue is empty.
func (q *fairQueue) pop() *queued {
	front := q.order.Front()
	if front == nil {
		return nil
	}
	namespace, _ := front.Value.(string)
	q.order.MoveToBack(front)
	s, _ := q.namespaces[namespace].waiting.Front().Value.(*queued)
	q.remove(s)
	return s
}

// remove removes a Secret from the queue, if it waits there.
func (q *fairQueue) remove(s *queued) {
	if s.element == nil {
		return
	}
	n := q.namespaces[s.name.Namespace]
	n.waiting.Remove(s.element)
	s.element = nil
	n.bytes -= s.size
	q.bytes -= s.size
	if n.waiting.Len() == 0 {
		q.order.Remove(n.element)
		delete(q.namespaces, s.name.Namespace)
	}
}
