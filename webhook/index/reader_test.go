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

// stepped is a reader that reads a Secret only when the test calls next.
type stepped struct {
	*recordReader
	fetched []string
	stock   map[cache.ObjectName]*corev1.Secret // in the API server
	failure error                               // of the API server
}

func newStepped() *stepped {
	s := &stepped{stock: map[cache.ObjectName]*corev1.Secret{}}
	s.recordReader = newRecordReader(New(), logr.Discard(),
		func(_ context.Context, name cache.ObjectName) (*corev1.Secret, error) {
			s.fetched = append(s.fetched, name.Namespace)
			return s.stock[name], s.failure
		})
	return s
}

// receive has the watch receive a Secret, and the reflector store it.
func (s *stepped) receive(secret *corev1.Secret) {
	s.changed(secret)
	s.stored(recordOf(secret))
}

// next reads the next Secret, and returns its namespace; "" if none waits.
func (s *stepped) next(t *testing.T) string {
	t.Helper()
	q := s.queue.pop()
	if q == nil {
		return ""
	}
	s.handle(t.Context(), q)
	return q.name.Namespace
}

// desired returns the number of releases that desire the first ConfigMap of a namespace.
func (s *stepped) desired(namespace string) int {
	return len(s.into.Lookup(object.Key{Kind: "ConfigMap", Namespace: namespace, Name: "object-0"}))
}

// TestFairness has many records of one namespace in the queue. The next records are those of other namespaces, and Live
// distinguishes the namespaces.
func TestFairness(t *testing.T) {
	s := newStepped()
	w := &Releases{reader: s.recordReader} // without a watch that could be closed
	if !w.Live("") {
		t.Error("not live although no record waits")
	}
	for i := range 100 {
		s.receive(secretOf("evil", fmt.Sprintf("r%d", i), 1, "1", "deployed", 1))
	}
	s.next(t)
	s.receive(secretOf("web", "guestbook", 1, "1", "deployed", 1))
	s.receive(secretOf("db", "guestbook", 1, "1", "deployed", 1))
	for _, namespace := range []string{"evil", "web", ""} {
		if w.Live(namespace) {
			t.Errorf("live in %q, where records wait", namespace)
		}
	}
	if s.desired("web") != 0 {
		t.Error("in the index before it is read")
	}
	got := []string{s.next(t), s.next(t), s.next(t), s.next(t)}
	if fmt.Sprint(got) != "[evil web db evil]" {
		t.Errorf("read in the order %v", got)
	}
	if live := []bool{w.Live("web"), w.Live("evil"), w.Live("")}; !slices.Equal(live, []bool{true, false, false}) {
		t.Errorf("live in web, evil and all: %v", live)
	}
	if s.desired("web") != 1 || w.Waiting() != 97 {
		t.Errorf("%d releases in web; %d wait", s.desired("web"), w.Waiting())
	}
	for s.next(t) != "" {
	}
	if w.Waiting() != 0 || !w.Live("") || s.desired("evil") != 100 {
		t.Errorf("at the end %d wait, %d releases in evil", s.waiting(), s.desired("evil"))
	}
	if s.queue.bytes != 0 || len(s.queue.order) > 0 {
		t.Errorf("at the end %d bytes of %v are in the queue", s.queue.bytes, s.queue.order)
	}
}

// TestQueueLimit has more Secrets than the queue may contain. The others are fetched when they are next, and a
// namespace leaves space for others.
func TestQueueLimit(t *testing.T) {
	s := newStepped()
	size := secretOf("evil", "r0", 1, "1", "deployed", 1).Size()
	s.queue.limit = size * 5
	for i := range 10 {
		secret := secretOf("evil", fmt.Sprintf("r%d", i), 1, "1", "deployed", 1)
		s.stock[cache.MetaObjectToName(secret)] = secret
		s.receive(secret)
	}
	s.receive(secretOf("web", "guestbook", 1, "1", "deployed", 1))
	if s.queue.bytes > s.queue.limit {
		t.Errorf("%d bytes in the queue, limit %d", s.queue.bytes, s.queue.limit)
	}
	for s.next(t) != "" {
	}
	if s.desired("evil") != 10 || s.desired("web") != 1 || s.waiting() != 0 {
		t.Errorf("%d releases in evil and %d in web, %d wait", s.desired("evil"), s.desired("web"), s.waiting())
	}
	if len(s.fetched) != 8 || slices.Contains(s.fetched, "web") {
		t.Errorf("fetched %v", s.fetched)
	}
}

// TestFetched fetches a Secret that changed, was deleted, or cannot be fetched.
func TestFetched(t *testing.T) {
	old, later := secretOf("web", "guestbook", 1, "1", "pending-install", 1),
		secretOf("web", "guestbook", 1, "2", "deployed", 1)
	name := cache.MetaObjectToName(old)
	setUp := func() *stepped {
		s := newStepped()
		s.queue.limit = 0
		s.receive(old)
		return s
	}

	s := setUp() // a later state is fetched, and received afterwards
	s.stock[name] = later
	s.next(t)
	if s.receive(later); s.desired("web") != 1 || s.waiting() != 0 || len(s.fetched) != 1 {
		t.Errorf("a later state: %d releases, %d wait, fetched %v", s.desired("web"), s.waiting(), s.fetched)
	}

	s = setUp() // the Secret was deleted
	if s.next(t); s.desired("web") != 0 || s.waiting() != 0 {
		t.Errorf("deleted: %d releases, %d wait", s.desired("web"), s.waiting())
	}

	s = setUp() // a failure: the Secret waits, and is fetched again
	s.stock[name], s.failure = old, errors.New("not now")
	q := s.queue.pop()
	s.handle(t.Context(), q)
	if !s.behindIn("web") {
		t.Error("no record waits after a failure")
	}
	s.failure = nil
	s.again(q)
	if s.next(t); s.desired("web") != 1 || s.behindIn("web") {
		t.Errorf("fetched again: %d releases, behind %t", s.desired("web"), s.behindIn("web"))
	}
}

// TestChangedMeanwhile changes or deletes a Secret before its state is read, while it is read, and before the reflector
// stores it. The last state counts.
func TestChangedMeanwhile(t *testing.T) {
	empty, one := secretOf("web", "guestbook", 1, "1", "deployed", 0),
		secretOf("web", "guestbook", 1, "2", "deployed", 1)
	superseded := secretOf("web", "guestbook", 1, "3", "superseded", 1)
	superseded.Labels = map[string]string{"status": "superseded"}
	for name, tc := range map[string]struct {
		do   func(*stepped)
		want int
	}{
		"before it is read": {func(s *stepped) { s.receive(empty); s.receive(one) }, 1},
		"while it is read": {func(s *stepped) {
			s.receive(empty)
			q := s.queue.pop()
			s.receive(one)
			s.handle(t.Context(), q)
		}, 1},
		"read before it is stored": {func(s *stepped) {
			s.changed(one)
			s.next(t)
			if s.desired("web") != 0 {
				t.Error("in the index before it is stored")
			}
			s.stored(recordOf(one))
		}, 1},
		"an earlier state stored late": {func(s *stepped) {
			s.changed(empty)
			s.next(t)
			s.changed(one)
			s.stored(recordOf(empty))
			s.next(t)
			s.stored(recordOf(one))
		}, 1},
		"superseded while it waits": {func(s *stepped) { s.receive(one); s.receive(superseded) }, 0},
		"deleted while it waits":    {func(s *stepped) { s.receive(one); s.forget(one); s.deleted(recordOf(one)) }, 0},
		"deleted while it is read": {func(s *stepped) {
			s.receive(one)
			q := s.queue.pop()
			s.forget(one)
			s.deleted(recordOf(one))
			s.handle(t.Context(), q)
		}, 0},
		"created again before the deletion is stored": {func(s *stepped) {
			s.receive(one)
			s.next(t)
			s.forget(one)
			again := one.DeepCopy()
			again.UID, again.ResourceVersion = "again", "4"
			s.changed(again)
			s.next(t)
			s.deleted(recordOf(one))
			s.stored(recordOf(again))
		}, 1},
		"not in a list while it waits": {func(s *stepped) { s.receive(one); s.keepOnly("", nil) }, 0},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStepped()
			tc.do(s)
			for s.next(t) != "" {
			}
			if got := s.desired("web"); got != tc.want || s.waiting() != 0 {
				t.Errorf("%d releases, want %d; %d wait", got, tc.want, s.waiting())
			}
		})
	}
}

// TestEnded checks that the reader ends although Secrets wait, and that a list does not wait for it any longer.
func TestEnded(t *testing.T) {
	s := newStepped()
	for i := range 3 {
		s.receive(secretOf("web", fmt.Sprintf("r%d", i), 1, "1", "deployed", 1))
	}
	ctx, end := context.WithCancel(t.Context())
	end()
	if s.run(ctx); s.waiting() != 3 {
		t.Errorf("%d wait after the end, want 3", s.waiting())
	}
	into := New()
	if into.Set(s.listed(secretOf("db", "r", 1, "1", "deployed", 1))); complete(into) {
		t.Error("the index is complete although a record was not read")
	}
}
