// SPDX-License-Identifier: Apache-2.0

package index

import (
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
)

// Backoff is how long a cache waits before it asks again. client-go's own wait grows to a minute, and so long after an API server came back
// nothing new would be known.
func newBackoff() *wait.Backoff {
	return &wait.Backoff{Duration: 500 * time.Millisecond, Factor: 2, Jitter: 0.5, Steps: 10, Cap: 5 * time.Second}
}

// watchState is the connection of one cache to the API server. The cache says what becomes of its lists and watches; anybody may ask.
type watchState struct{ watch atomic.Pointer[mappedWatch] }

// Live says whether changes are heard of as they happen: a watch is open, and what was there before it is known. A connection that hangs is
// found out by client-go's pings, in 45 seconds at most.
func (l *watchState) live() bool {
	w := l.watch.Load()
	return w != nil && w.complete.Load()
}

// Watch hands on the events of a watch that was opened with these options, each as f makes it.
func (l *watchState) wrap(from watch.Interface, o metav1.ListOptions, f func(watch.Event) watch.Event) watch.Interface {
	m := newMappedWatch(from)
	m.complete.Store(o.SendInitialEvents == nil || !*o.SendInitialEvents) // else it begins with a list
	l.watch.Store(m)
	go func() {
		defer l.watch.CompareAndSwap(m, nil) // unless the next one is open already
		m.run(f)
	}()
	return m
}

// Listed says that a list is complete. Where a watch began with it, its changes follow.
func (l *watchState) listed() {
	if w := l.watch.Load(); w != nil {
		w.complete.Store(true)
	}
}
