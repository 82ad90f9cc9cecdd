// SPDX-License-Identifier: Apache-2.0

package index

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"
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
