// SPDX-License-Identifier: Apache-2.0

package index

import (
	"sync"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/watch"
)

// mappedWatch hands on the events of a watch, each as a function makes it. Unlike watch.Filter it ends when it is stopped, also where nobody takes
// the event that it holds.
type mappedWatch struct {
	from    watch.Interface
	events  chan watch.Event
	stopped chan struct{}
	stop    func()
	// complete says that what was there before the first change is known.
	complete atomic.Bool
}

func newMappedWatch(from watch.Interface) *mappedWatch {
	m := &mappedWatch{from: from, events: make(chan watch.Event), stopped: make(chan struct{})}
	m.stop = sync.OnceFunc(func() {
		close(m.stopped)
		from.Stop()
	})
	return m
}

// run returns when the watch ends, or is stopped.
func (m *mappedWatch) run(f func(watch.Event) watch.Event) {
	defer close(m.events)
	for e := range m.from.ResultChan() {
		select {
		case m.events <- f(e):
		case <-m.stopped:
			return
		}
	}
}

// Stop implements watch.Interface.
func (m *mappedWatch) Stop() { m.stop() }

// ResultChan implements watch.Interface.
func (m *mappedWatch) ResultChan() <-chan watch.Event { return m.events }
