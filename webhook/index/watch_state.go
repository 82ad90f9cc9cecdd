// SPDX-License-Identifier: Apache-2.0

package index

import (
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/utils/ptr"
)

// newBackoff is the wait of a reflector before its next request after a failure. The default of client-go grows to a
// minute, and the index would stay old for that long after the API server came back.
func newBackoff() *wait.Backoff {
	return &wait.Backoff{Duration: 500 * time.Millisecond, Factor: 2, Jitter: 0.5, Steps: 10, Cap: 5 * time.Second}
}

// watchState is the state of a reflector's watch: whether changes are received as they happen.
type watchState struct{ current atomic.Pointer[mappedWatch] }

// mappedWatch maps the events of a watch. Unlike output.Filter it ends when it is stopped, also while it has an event
// that nobody receives.
type mappedWatch struct {
	*watch.ProxyWatcher
	// complete is true if the state before the first change is known.
	complete atomic.Bool
}

// live reports whether a watch is open, and the list before it is complete. client-go's pings discover a connection
// that hangs, within 45 seconds.
func (s *watchState) live() bool {
	w := s.current.Load()
	return w != nil && w.complete.Load()
}

// mapping maps an event of a watch.
type mapping func(watch.Event) watch.Event

// wrap returns a watch with the events of the source, mapped by f. The source was opened with the options.
func (s *watchState) wrap(source watch.Interface, o metav1.ListOptions, f mapping) watch.Interface {
	events := make(chan watch.Event)
	w := &mappedWatch{ProxyWatcher: watch.NewProxyWatcher(events)}
	w.complete.Store(!ptr.Deref(o.SendInitialEvents, false)) // otherwise it starts with a list
	s.current.Store(w)
	go func() {
		defer s.current.CompareAndSwap(w, nil) // unless the next watch is open already
		defer close(events)
		defer source.Stop()
		for {
			select {
			case e, ok := <-source.ResultChan():
				if !ok {
					return
				}
				select {
				case events <- f(e):
				case <-w.StopChan():
					return
				}
			case <-w.StopChan():
				return
			}
		}
	}()
	return w
}

// listed reports that a list is complete. If a watch began with the list, its changes follow.
func (s *watchState) listed() {
	if w := s.current.Load(); w != nil {
		w.complete.Store(true)
	}
}
