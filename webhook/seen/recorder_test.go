// SPDX-License-Identifier: Apache-2.0

package seen

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/journal"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
)

// stored is the ConfigMap on a server. errs are the results of the next updates.
type stored struct {
	mu      sync.Mutex // guards the fields below
	text    string
	errs    []error
	updates int
}

func (s *stored) Get(context.Context, string, metav1.GetOptions) (*corev1.ConfigMap, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return &corev1.ConfigMap{Data: map[string]string{journal.SeenKey: s.text}}, nil
}

func (s *stored) Update(_ context.Context, m *corev1.ConfigMap, _ metav1.UpdateOptions) (*corev1.ConfigMap, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.updates++
	if len(s.errs) > 0 {
		err := s.errs[0]
		s.errs = s.errs[1:]
		return nil, err
	}
	s.text = m.Data[journal.SeenKey]
	return m, nil
}

// fail makes the next update fail.
func (s *stored) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.errs = []error{err}
}

// users are the users of the requests that the ConfigMap has, and the number of updates.
func (s *stored) users() (users string, updates int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []string
	for _, x := range journal.DecodeSeen(s.text) {
		out = append(out, x.User)
	}
	return strings.Join(out, " "), s.updates
}

func request(at time.Time, verb journal.Verb, user, namespace, name string) journal.Seen {
	return journal.Seen{Time: at, Verb: verb, User: user,
		Ref: object.Ref{APIVersion: "v1", Kind: "ConfigMap", Namespace: namespace, Name: name}}
}

// TestRecorder checks that requests are written within a second, that one in a minute counts for an object and verb,
// that a conflict and an error lose nothing, and that what waits at the end is written.
func TestRecorder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // the times below are of the clock of the test, and take no time
		server := &stored{text: "no request\n"}
		var events []string
		r := New(server, func(_ corev1.ObjectReference, s journal.Seen) { events = append(events, s.User) }, func() {},
			logr.Discard())
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- r.Start(ctx) }()
		add := func(verb journal.Verb, user, name string) {
			r.Add(request(time.Now(), verb, user, "shop", name), corev1.ObjectReference{})
		}
		add(journal.Delete, "a", "one")
		add(journal.Delete, "b", "one") // within a minute
		add(journal.Update, "c", "one")
		add(journal.Delete, "d", "two")
		conflict := apierrors.NewConflict(schema.GroupResource{Resource: "configmaps"}, journal.SeenName, nil)
		server.fail(conflict)
		<-time.After(writeEvery + 100*time.Millisecond)
		if got, updates := server.users(); got != "a c d" || updates != 2 {
			t.Errorf("%q are written with %d updates", got, updates)
		}
		server.fail(errors.New("refused"))
		<-time.After(pause)
		add(journal.Delete, "e", "one") // after a minute
		<-time.After(writeEvery)
		if got, _ := server.users(); got != "a c d" {
			t.Errorf("after an error, %q are written", got)
		}
		<-time.After(writeEvery)
		add(journal.Delete, "f", "three")
		stop()
		err := <-ended
		if got, _ := server.users(); err != nil || got != "a c d e f" {
			t.Errorf("at the end, %q are written: %v", got, err)
		}
		if got := strings.Join(events, " "); got != "a c d e f" {
			t.Errorf("events of %q", got)
		}
	})
}

// TestDropped checks that requests are counted that are too many.
func TestDropped(t *testing.T) {
	dropped := 0
	r := New(&stored{}, func(corev1.ObjectReference, journal.Seen) {}, func() { dropped++ }, logr.Discard())
	for i := range maxWaiting + 3 {
		r.Add(request(time.Now(), journal.Delete, "a", "shop", fmt.Sprint(i)), corev1.ObjectReference{})
	}
	if dropped != 3 || len(r.waiting) != maxWaiting {
		t.Errorf("%d are dropped, %d wait", dropped, len(r.waiting))
	}
}

// TestBounded checks what is left out: old requests, and those of the namespace with the most.
func TestBounded(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	all := []journal.Seen{request(now.Add(-journal.Kept-time.Second), journal.Delete, "old", "quiet", "x"),
		request(now, journal.Delete, "quiet", "quiet", "y")}
	for i := range maxLines + 10 {
		all = append(all, request(now, journal.Delete, fmt.Sprint("loud-", i), "loud", fmt.Sprint(i)))
	}
	got := bounded(all)
	if len(got) != maxLines || got[0].User != "quiet" || got[1].User != "loud-11" {
		t.Errorf("%d are kept, from %s and %s", len(got), got[0].User, got[1].User)
	}
	large := request(now, journal.Delete, strings.Repeat("u", maxBytes/2), "loud", "z")
	got = bounded([]journal.Seen{all[1], large, large})
	if len(got) != 2 || got[0].User != "quiet" {
		t.Errorf("%d large ones are kept", len(got)-1)
	}
	large = request(now, journal.Delete, strings.Repeat("u", maxBytes), "loud", "z")
	if got := bounded([]journal.Seen{large}); got != nil {
		t.Error("one that does not fit is kept")
	}
}
