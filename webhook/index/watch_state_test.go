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

// TestBackoff checks the waits of a reflector: first half a second with a jitter of up to a half, then longer, and at
// most five seconds with the jitter.
func TestBackoff(t *testing.T) {
	b := newBackoff()
	var last time.Duration
	for i := range 20 {
		wait, most := b.Step(), 7500*time.Millisecond
		if i == 0 {
			most = 750 * time.Millisecond
		}
		if wait < 500*time.Millisecond || wait > most {
			t.Errorf("wait %d is %s", i+1, wait)
		}
		last = wait
	}
	if last < 5*time.Second {
		t.Errorf("the last wait is %s", last)
	}
}

func same(e watch.Event) watch.Event { return e }

// begun are the options of a watch that begins with a list.
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
		is(false, "at the beginning")
		l.listed()
		is(false, "after a list, before its watch")

		first := watch.NewFake()
		l.wrap(first, metav1.ListOptions{}, same)
		is(true, "with a watch after a list")
		first.Stop()
		is(false, "after the API server ended the watch")

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

// TestWatch checks that a watch sends mapped events, and that it ends also while nobody receives its event.
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
			t.Errorf("got an event of type %s, want %s", e.Type, watch.Bookmark)
		}
		from.Add(nil) // not received
		w.Stop()
		w.Stop()
		synctest.Wait()
		for range w.ResultChan() { // one event may remain
		}
		if l.live() {
			t.Error("live after the watch was stopped")
		}
	})
}
