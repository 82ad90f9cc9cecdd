// SPDX-License-Identifier: Apache-2.0

package auditor

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// TestLease checks when a replica holds its Lease.
func TestLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, held := fake.NewClientset(), &Lease{}
		one := newElection(client.CoordinationV1(), namespace, "one", held, logr.Discard()).lock
		two := newElection(client.CoordinationV1(), namespace, "two", &Lease{}, logr.Discard()).lock
		record := func(holder string) resourcelock.LeaderElectionRecord {
			return resourcelock.LeaderElectionRecord{HolderIdentity: holder}
		}
		expect := func(when string, err error, want bool) {
			t.Helper()
			if err != nil || held.Holds() != want {
				t.Errorf("%s: the Lease is held: %t, error: %v", when, !want, err)
			}
		}
		expect("at the start", nil, false)
		expect("after it was created", one.Create(t.Context(), record("one")), true)
		<-time.After(renewal + renewDeadline - time.Nanosecond)
		expect("within its time", nil, true)
		<-time.After(time.Nanosecond)
		expect("after its time", nil, false)
		expect("after a renewal", one.Update(t.Context(), record("one")), true)
		if held.holdsAt(time.Now().Round(0).Add(leaseDuration)) {
			t.Error("it is held although the wall clock says that it is old")
		}
		if _, _, err := two.Get(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := two.Update(t.Context(), record("two")); err != nil {
			t.Fatal(err)
		}
		_, _, err := one.Get(t.Context())
		expect("after another replica took it", err, false)
		expect("after a renewal", one.Update(t.Context(), record("one")), true)
		expect("after it was released", one.Update(t.Context(), record("")), false)
		client.PrependReactor("update", "leases", func(clienttesting.Action) (bool, runtime.Object, error) {
			return true, nil, apierrors.NewConflict(schema.GroupResource{Resource: "leases"}, LeaseName, nil)
		})
		if err := one.Update(t.Context(), record("one")); err == nil || held.Holds() {
			t.Errorf("after a renewal that failed with %v, it is held: %t", err, held.Holds())
		}
	})
}

// TestGuard checks which requests of a replica are sent.
func TestGuard(t *testing.T) {
	sent := 0
	s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { sent++ }))
	t.Cleanup(s.Close)
	held := &Lease{}
	client := &http.Client{Transport: held.Guard(http.DefaultTransport)}
	for _, test := range []struct {
		method string
		holds  bool
		want   error
	}{{http.MethodGet, false, nil}, {http.MethodPost, false, errNotLeader}, {http.MethodPut, false, errNotLeader},
		{http.MethodDelete, false, errNotLeader}, {http.MethodPost, true, nil}} {
		held.set(time.Time{})
		if test.holds {
			held.set(time.Now())
		}
		before := sent
		req, err := http.NewRequestWithContext(t.Context(), test.method, s.URL, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := client.Do(req)
		if err == nil {
			err = resp.Body.Close()
		}
		if !errors.Is(err, test.want) || (sent > before) != (test.want == nil) {
			t.Errorf("%s, the Lease is held: %t: error %v, %d requests", test.method, test.holds, err, sent-before)
		}
	}
}

// TestStopped checks that a leader whose renewals do not return, as those of a process that was stopped, does not write
// when another replica can lead.
func TestStopped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, written := fake.NewClientset(), &queue{}
		var stopped atomic.Bool
		client.PrependReactor("update", "leases", func(clienttesting.Action) (bool, runtime.Object, error) {
			if !stopped.Load() {
				return false, nil, nil
			}
			<-time.After(time.Minute)
			return true, nil, errors.New("connection refused")
		})
		s := newServer(t, client, "one", written)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- s.election.run(ctx, s.lead) }()
		<-time.After(5 * time.Second)
		if _, writes := written.counts(); writes == 0 {
			t.Fatal("the leader does not write")
		}
		stopped.Store(true)
		<-time.After(leaseDuration)
		_, before := written.counts()
		<-time.After(20 * time.Second)
		if _, writes := written.counts(); writes > before {
			t.Errorf("the leader wrote %d times after another one could lead", writes-before)
		}
		<-time.After(time.Minute)
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if !written.forgotten {
			t.Error("what waits is not forgotten after the leadership")
		}
	})
}

// queue is a sink whose waiting entries are forgotten.
type queue struct {
	sink
	forgotten bool
}

func (q *queue) Forget() { q.forgotten = true }
