// SPDX-License-Identifier: Apache-2.0

package index

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
)

// stepped is a reader whose Secrets a test has read one by one.
type stepped struct {
	*recordReader
	fetched []string
	stock   map[cache.ObjectName]*corev1.Secret // what the API server has
	refuses error
}

func newStepped() *stepped {
	s := &stepped{stock: map[cache.ObjectName]*corev1.Secret{}}
	s.recordReader = newRecordReader(New(), logr.Discard(), func(_ context.Context, name cache.ObjectName) (*corev1.Secret, error) {
		s.fetched = append(s.fetched, name.Namespace)
		return s.stock[name], s.refuses
	})
	return s
}

// hears has a watch tell of a Secret, and the reflector store it.
func (s *stepped) hears(secret *corev1.Secret) {
	s.changed(secret)
	s.stored(recordOf(secret))
}

// next reads the next Secret, and says of which namespace it is; "" where none waits.
func (s *stepped) next(t *testing.T) string {
	t.Helper()
	it := s.queue.pop()
	if it == nil {
		return ""
	}
	s.handle(t.Context(), it)
	return it.name.Namespace
}

// desired is how many releases desire the first ConfigMap of a namespace.
func (s *stepped) desired(namespace string) int {
	return len(s.into.Lookup(object.Key{Kind: "ConfigMap", Namespace: namespace, Name: "object-0"}))
}

// TestTurns floods the reader with records of one namespace: those of others are read next, and it is known which namespace is behind.
func TestTurns(t *testing.T) {
	s := newStepped()
	w := &Releases{reader: s.recordReader} // whose watches are all open
	if !w.Live("") {
		t.Error("it is not live when nothing waits")
	}
	for i := range 100 {
		s.hears(secretOf("evil", fmt.Sprintf("r%d", i), 1, "1", "deployed", 1))
	}
	s.next(t)
	s.hears(secretOf("web", "guestbook", 1, "1", "deployed", 1))
	s.hears(secretOf("db", "guestbook", 1, "1", "deployed", 1))
	for _, namespace := range []string{"evil", "web", ""} {
		if w.Live(namespace) {
			t.Errorf("it is live in %q, where records wait", namespace)
		}
	}
	if s.desired("web") != 0 {
		t.Error("it is known before it is read")
	}
	got := []string{s.next(t), s.next(t), s.next(t), s.next(t)}
	if fmt.Sprint(got) != "[evil web db evil]" {
		t.Errorf("read in the order %v", got)
	}
	if s.desired("web") != 1 || !w.Live("web") || w.Live("evil") || w.Live("") || w.Waiting() != 97 {
		t.Errorf("%d desire it in web, where it is live: %t; in evil %t, everywhere %t; %d wait", s.desired("web"), w.Live("web"), w.Live("evil"), w.Live(""), w.Waiting())
	}
	for s.next(t) != "" {
	}
	if w.Waiting() != 0 || !w.Live("") || s.desired("evil") != 100 || s.queue.bytes != 0 || len(s.queue.order) > 0 {
		t.Errorf("%d wait in the end, %d of evil are known, %d bytes are held", s.waiting(), s.desired("evil"), s.queue.bytes)
	}
}

// TestHeld has more wait than may be held: what is let go of is fetched when its turn comes, and a namespace leaves room for others.
func TestHeld(t *testing.T) {
	s := newStepped()
	size := secretOf("evil", "r0", 1, "1", "deployed", 1).Size()
	s.queue.limit = size * 5
	for i := range 10 {
		secret := secretOf("evil", fmt.Sprintf("r%d", i), 1, "1", "deployed", 1)
		s.stock[cache.MetaObjectToName(secret)] = secret
		s.hears(secret)
	}
	s.hears(secretOf("web", "guestbook", 1, "1", "deployed", 1))
	if s.queue.bytes > s.queue.limit {
		t.Errorf("%d bytes are held, of %d", s.queue.bytes, s.queue.limit)
	}
	for s.next(t) != "" {
	}
	if s.desired("evil") != 10 || s.desired("web") != 1 || s.waiting() != 0 {
		t.Errorf("%d and %d are known, %d wait", s.desired("evil"), s.desired("web"), s.waiting())
	}
	if len(s.fetched) != 8 || slices.Contains(s.fetched, "web") {
		t.Errorf("fetched %v", s.fetched)
	}
}

// TestFetched goes through what may come of a Secret that is fetched.
func TestFetched(t *testing.T) {
	old, later := secretOf("web", "guestbook", 1, "1", "pending-install", 1), secretOf("web", "guestbook", 1, "2", "deployed", 1)
	name := cache.MetaObjectToName(old)
	setUp := func() *stepped {
		s := newStepped()
		s.queue.limit = 0
		s.hears(old)
		return s
	}

	s := setUp() // a later state is there, and is told of afterwards
	s.stock[name] = later
	s.next(t)
	if s.hears(later); s.desired("web") != 1 || s.waiting() != 0 || len(s.fetched) != 1 {
		t.Errorf("a later state: %d are known, %d wait, fetched %v", s.desired("web"), s.waiting(), s.fetched)
	}

	s = setUp() // it is gone
	if s.next(t); s.desired("web") != 0 || s.waiting() != 0 {
		t.Errorf("gone: %d are known, %d wait", s.desired("web"), s.waiting())
	}

	s = setUp() // it cannot be fetched: it waits, and is tried again
	s.stock[name], s.refuses = old, errors.New("not now")
	it := s.queue.pop()
	s.handle(t.Context(), it)
	if !s.behindIn("web") {
		t.Error("not fetched, and nothing waits")
	}
	s.refuses = nil
	s.again(it)
	if s.next(t); s.desired("web") != 1 || s.behindIn("web") {
		t.Errorf("tried again: %d are known, behind %t", s.desired("web"), s.behindIn("web"))
	}
}

// TestOvertaken has a Secret change, or go, before its state was read, while it is read, and before the reflector stored it: the last one counts.
func TestOvertaken(t *testing.T) {
	empty, one := secretOf("web", "guestbook", 1, "1", "deployed", 0), secretOf("web", "guestbook", 1, "2", "deployed", 1)
	superseded := secretOf("web", "guestbook", 1, "3", "superseded", 1)
	superseded.Labels = map[string]string{"status": "superseded"}
	for name, tc := range map[string]struct {
		do   func(*stepped)
		want int
	}{
		"before it is read": {func(s *stepped) { s.hears(empty); s.hears(one) }, 1},
		"while it is read": {func(s *stepped) {
			s.hears(empty)
			it := s.queue.pop()
			s.hears(one)
			s.handle(t.Context(), it)
		}, 1},
		"read before it is stored": {func(s *stepped) {
			s.changed(one)
			s.next(t)
			if s.desired("web") != 0 {
				t.Error("known before it is stored")
			}
			s.stored(recordOf(one))
		}, 1},
		"an earlier one stored late": {func(s *stepped) {
			s.changed(empty)
			s.next(t)
			s.changed(one)
			s.stored(recordOf(empty))
			s.next(t)
			s.stored(recordOf(one))
		}, 1},
		"superseded while it waits": {func(s *stepped) { s.hears(one); s.hears(superseded) }, 0},
		"gone while it waits":       {func(s *stepped) { s.hears(one); s.forget(one); s.deleted(recordOf(one)) }, 0},
		"gone while it is read": {func(s *stepped) {
			s.hears(one)
			it := s.queue.pop()
			s.forget(one)
			s.deleted(recordOf(one))
			s.handle(t.Context(), it)
		}, 0},
		"there again before it is stored that it is gone": {func(s *stepped) {
			s.hears(one)
			s.next(t)
			s.forget(one)
			again := one.DeepCopy()
			again.UID, again.ResourceVersion = "again", "4"
			s.changed(again)
			s.next(t)
			s.deleted(recordOf(one))
			s.stored(recordOf(again))
		}, 1},
		"not in a list while it waits": {func(s *stepped) { s.hears(one); s.keepOnly("", nil) }, 0},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStepped()
			tc.do(s)
			for s.next(t) != "" {
			}
			if got := s.desired("web"); got != tc.want || s.waiting() != 0 {
				t.Errorf("%d releases desire it, want %d; %d wait", got, tc.want, s.waiting())
			}
		})
	}
}

// TestEnded holds that the end does not wait for what is in the queue, and that a list which waits for it is let go.
func TestEnded(t *testing.T) {
	s := newStepped()
	for i := range 3 {
		s.hears(secretOf("web", fmt.Sprintf("r%d", i), 1, "1", "deployed", 1))
	}
	ctx, end := context.WithCancel(t.Context())
	end()
	if s.run(ctx); s.waiting() != 3 {
		t.Errorf("%d wait after the end, want 3", s.waiting())
	}
	into := New()
	if into.Set(s.listed(secretOf("db", "r", 1, "1", "deployed", 1))); into.Complete() {
		t.Error("what was not read counts as known")
	}
}
