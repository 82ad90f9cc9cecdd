// SPDX-License-Identifier: Apache-2.0

package index

import (
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/utils/ptr"
)

// TestBackoff holds how long a cache waits: half a second at first, with up to half as much by chance, then longer, and never much more than
// five seconds.
func TestBackoff(t *testing.T) {
	b := newBackoff()
	var last time.Duration
	for i := range 20 {
		wait := b.Step()
		if wait < 500*time.Millisecond || wait > 7500*time.Millisecond || i == 0 && wait > 750*time.Millisecond {
			t.Errorf("wait %d is %s", i+1, wait)
		}
		last = wait
	}
	if last < 5*time.Second {
		t.Errorf("the last wait is %s", last)
	}
}

func same(e watch.Event) watch.Event { return e }

// begun is the options of a watch that begins with a list.
var begun = metav1.ListOptions{SendInitialEvents: ptr.To(true)}

func TestLive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l watchState
		is := func(want bool, when string) {
			t.Helper()
			synctest.Wait()
			if got := l.live(); got != want {
				t.Errorf("%s: live %t, want %t", when, got, want)
			}
		}
		is(false, "before anything")
		l.listed()
		is(false, "after a list, before its watch")

		first := watch.NewFake()
		l.wrap(first, metav1.ListOptions{}, same)
		is(true, "with a watch after a list")
		first.Stop()
		is(false, "when the API server ended it")

		second := watch.NewFake()
		w := l.wrap(second, begun, same)
		is(false, "while a watch begins with a list")
		l.listed()
		is(true, "when that list is complete")

		third := watch.NewFake()
		l.wrap(third, metav1.ListOptions{}, same)
		w.Stop()
		is(true, "when an earlier watch ends after the next was opened")
		third.Stop()
		is(false, "at the end")
	})
}

// TestWatch holds that events are handed on as they were made, and that a watch ends also where nobody takes the event that it holds.
func TestWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l watchState
		from := watch.NewFake()
		w := l.wrap(from, metav1.ListOptions{}, func(e watch.Event) watch.Event {
			e.Type = watch.Bookmark
			return e
		})
		from.Add(nil)
		if e := <-w.ResultChan(); e.Type != watch.Bookmark {
			t.Errorf("an event of type %s came, want %s", e.Type, watch.Bookmark)
		}
		from.Add(nil) // nobody takes it
		w.Stop()
		w.Stop()
		synctest.Wait()
		for range w.ResultChan() { // one may be on its way
		}
		if l.live() {
			t.Error("it is live after its watch was stopped")
		}
	})
}
