// SPDX-License-Identifier: Apache-2.0

package index

import (
	"sync"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
)

// newBackoff is the wait of a reflector before it asks the API server again. client-go's own grows to a minute, and for
// that long the index would stay old after the API server came back.
func newBackoff() *wait.Backoff {
	return &wait.Backoff{Duration: 500 * time.Millisecond, Factor: 2, Jitter: 0.5, Steps: 10, Cap: 5 * time.Second}
}

// watchState knows whether a reflector receives changes as they happen. The reflector reports its watches and lists.
type watchState struct{ current atomic.Pointer[mappedWatch] }

// live says whether a watch is open, and the list that it follows is complete. client-go's pings discover a connection
// that hangs, within 45 seconds.
func (s *watchState) live() bool {
	w := s.current.Load()
	return w != nil && w.complete.Load()
}

// wrap returns a watch whose events are those of the source, mapped by f. The source was opened with the options.
func (s *watchState) wrap(source watch.Interface, o metav1.ListOptions, f func(watch.Event) watch.Event) watch.Interface {
	w := newMappedWatch(source)
	startsWithList := o.SendInitialEvents != nil && *o.SendInitialEvents
	w.complete.Store(!startsWithList)
	s.current.Store(w)
	go func() {
		defer s.current.CompareAndSwap(w, nil) // unless the next watch is open already
		w.run(f)
	}()
	return w
}

// listed reports that a list is complete. Its changes follow if a watch began with it.
func (s *watchState) listed() {
	if w := s.current.Load(); w != nil {
		w.complete.Store(true)
	}
}

// mappedWatch maps the events of a watch. Unlike watch.Filter it ends when it is stopped, also while it has an event that
// nobody receives.
type mappedWatch struct {
	source  watch.Interface
	events  chan watch.Event
	stopped chan struct{}
	stop    func()
	// complete says that the state before the first change is known.
	complete atomic.Bool
}

func newMappedWatch(source watch.Interface) *mappedWatch {
	w := &mappedWatch{source: source, events: make(chan watch.Event), stopped: make(chan struct{})}
	w.stop = sync.OnceFunc(func() {
		close(w.stopped)
		source.Stop()
	})
	return w
}

// run returns when the watch ends or is stopped.
func (w *mappedWatch) run(f func(watch.Event) watch.Event) {
	defer close(w.events)
	for e := range w.source.ResultChan() {
		select {
		case w.events <- f(e):
		case <-w.stopped:
			return
		}
	}
}

// Stop implements watch.Interface.
func (w *mappedWatch) Stop() { w.stop() }

// ResultChan implements watch.Interface.
func (w *mappedWatch) ResultChan() <-chan watch.Event { return w.events }
