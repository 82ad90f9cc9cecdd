// SPDX-License-Identifier: Apache-2.0

package index

import (
	"container/list"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/fleetdoctor/kubectl-fleetdoctor/webhook/registry"
)

// maxHeld bounds the bytes of Secrets that wait to be read.
const maxHeld = 16 << 20

// item is a Secret that is to be read, or is being read.
type item struct {
	name cache.ObjectName
	// secret is nil where there was no room to hold it: it is fetched when its turn comes.
	secret *corev1.Secret
	size   int // of the secret, 0 where it is nil
	// version is the state that was announced; what is fetched may be a later one.
	version string
	// stored says that the entry is for the registry as soon as it is known.
	stored bool
	// listed says that somebody waits for done. Then the entry is set; it is nil where it is not wanted any more.
	listed bool
	done   chan struct{}
	entry  *registry.Entry

	place *list.Element // in its namespace's line; nil once it is being read
}

// queue has the namespaces take turns: however many Secrets of one wait, another's Secret waits for one of them.
type queue struct {
	most  int // bytes that may be held
	held  int
	lines map[string]*line
	turns list.List // of the namespaces that have items waiting, the next first
}

// line is what waits of one namespace.
type line struct {
	items list.List
	held  int
	turn  *list.Element
}

func newQueue() queue { return queue{most: maxHeld, lines: map[string]*line{}} }

// push adds an item at the end of its namespace's line.
func (q *queue) push(it *item) {
	l := q.lines[it.name.Namespace]
	if l == nil {
		l = &line{turn: q.turns.PushBack(it.name.Namespace)}
		q.lines[it.name.Namespace] = l
	}
	it.place = l.items.PushBack(it)
	q.hold(l, it)
}

// renew gives an item that waits a later state of its Secret.
func (q *queue) renew(it *item, s *corev1.Secret) {
	l := q.lines[it.name.Namespace]
	l.held -= it.size
	q.held -= it.size
	it.secret, it.size, it.version, it.stored = s, 0, s.ResourceVersion, false
	q.hold(l, it)
}

// hold takes room for an item's Secret, or lets that go. A namespace may hold as many bytes as it leaves free.
func (q *queue) hold(l *line, it *item) {
	if it.secret == nil {
		return
	}
	if it.size = it.secret.Size(); !it.listed && l.held+it.size > q.most-q.held-it.size {
		it.secret, it.size = nil, 0
	}
	l.held += it.size
	q.held += it.size
}

// pop takes the first item of the namespace whose turn it is; nil where nothing waits.
func (q *queue) pop() *item {
	front := q.turns.Front()
	if front == nil {
		return nil
	}
	namespace, _ := front.Value.(string)
	q.turns.MoveToBack(front)
	it, _ := q.lines[namespace].items.Front().Value.(*item)
	q.remove(it)
	return it
}

// remove takes an item out of its line, if it waits there.
func (q *queue) remove(it *item) {
	if it.place == nil {
		return
	}
	l := q.lines[it.name.Namespace]
	l.items.Remove(it.place)
	it.place = nil
	l.held -= it.size
	q.held -= it.size
	if l.items.Len() == 0 {
		q.turns.Remove(l.turn)
		delete(q.lines, it.name.Namespace)
	}
}
