// SPDX-License-Identifier: Apache-2.0

package cluster_test

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source/cluster"
)

// TestListConcurrency starts more lists than the limit of concurrent requests, and checks that the limit is reached and
// never exceeded.
func TestListConcurrency(t *testing.T) {
	t.Parallel()
	const most, lists = 3, 12
	var mu sync.Mutex
	now, peak := 0, 0
	full := make(chan struct{}) // closed when the limit is reached
	counted := func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		now++
		if now == most && peak < most {
			close(full)
		}
		peak = max(peak, now)
		mu.Unlock()
		<-full
		page("", "x/1")(w, r)
		mu.Lock()
		now--
		mu.Unlock()
	}
	s := serve(t, map[string][]answer{configMaps: times(lists, counted)})
	c := s.openWith(cluster.Options{Concurrency: most})
	var group sync.WaitGroup
	for range lists {
		group.Go(func() {
			if got, _, err := collect(t, c, source.Query{Kind: configMapKind}); err != nil || len(got) != 1 {
				t.Errorf("yielded %v, %v", got, err)
			}
		})
	}
	group.Wait()
	if peak != most {
		t.Errorf("%d concurrent requests, want %d", peak, most)
	}
}

// TestListEnds checks that a list returns the cause of its context when the context ends.
func TestListEnds(t *testing.T) {
	t.Parallel()
	cause := errors.New("test ended")
	for name, test := range map[string]struct {
		// answers and yield call end to end the context.
		answers func(end func()) []answer
		yield   func(end func()) error
	}{
		"before an answer": {
			answers: func(end func()) []answer {
				return []answer{func(_ http.ResponseWriter, r *http.Request) { end(); <-r.Context().Done() }}
			},
		},
		"within an answer": {
			answers: func(end func()) []answer {
				return []answer{func(w http.ResponseWriter, r *http.Request) {
					_, _ = w.Write([]byte(`{"kind":"ConfigMapList","apiVersion":"v1",` +
						`"items":[{"metadata":{"name":"1"}},`))
					_ = http.NewResponseController(w).Flush()
					end()
					<-r.Context().Done()
				}}
			},
		},
		"between pages": {
			answers: func(func()) []answer { return []answer{page("A", "x/1")} },
			yield:   func(end func()) error { end(); return nil },
		},
		"during a Retry-After": {
			answers: func(end func()) []answer {
				return []answer{func(w http.ResponseWriter, r *http.Request) {
					status(http.StatusTooManyRequests, metav1.StatusReasonTooManyRequests, "Retry-After", "60")(w, r)
					_ = http.NewResponseController(w).Flush()
					end()
				}}
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancelCause(t.Context())
			end := func() { cancel(cause) }
			s := serve(t, map[string][]answer{configMaps: test.answers(end)})
			c := s.open()
			if _, err := c.Kinds(t.Context()); err != nil {
				t.Fatal(err)
			}
			_, err := c.List(ctx, source.Query{Kind: configMapKind, Fallback: []string{"x"}},
				func(source.Object) error {
					if test.yield != nil {
						return test.yield(end)
					}
					return nil
				})
			if !errors.Is(err, cause) {
				t.Errorf("the list ended with %v, want %v", err, cause)
			}
		})
	}
}

// TestListEndsInTheQueue ends the context of a list that waits because another request reached the limit.
func TestListEndsInTheQueue(t *testing.T) {
	t.Parallel()
	arrived, leave := make(chan struct{}), make(chan struct{})
	s := serve(t, map[string][]answer{configMaps: {func(w http.ResponseWriter, r *http.Request) {
		close(arrived)
		<-leave
		page("", "x/1")(w, r)
	}}})
	c := s.openWith(cluster.Options{Concurrency: 1})
	var first sync.WaitGroup
	first.Go(func() {
		if got, _, err := collect(t, c, source.Query{Kind: configMapKind}); err != nil || len(got) != 1 {
			t.Errorf("the first list yielded %v, %v", got, err)
		}
	})
	<-arrived
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := c.List(ctx, source.Query{Kind: configMapKind}, func(source.Object) error { return nil })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("the second list ended with %v, want %v", err, context.Canceled)
	}
	close(leave)
	first.Wait()
}

// TestListYieldError checks that List returns the error of yield unchanged, and makes no more requests.
func TestListYieldError(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]error{
		"an error": errors.New("yield failed"),
		// The source has errors of the same types.
		"a cancelled context": context.Canceled,
		"a Status":            apierrors.NewForbidden(schema.GroupResource{}, "1", nil),
		"an expired Status":   apierrors.NewResourceExpired("too old"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, q := range []source.Query{
				{Kind: configMapKind, Fallback: []string{"x"}},
				{Kind: configMapKind, Namespaces: []string{"x", "y"}},
			} {
				s := serve(t, map[string][]answer{
					configMaps:                        {page("A", "x/1", "x/2")},
					"/api/v1/namespaces/x/configmaps": {page("A", "x/1", "x/2")},
				})
				calls := 0
				_, err := s.open().List(t.Context(), q, func(source.Object) error {
					calls++
					return want
				})
				if any(err) != any(want) { // the same error, not a wrapped one
					t.Errorf("the list ended with %v, want %v", err, want)
				}
				if calls != 1 || len(s.sent()) != 1 {
					t.Errorf("%d objects and %d requests after the error, want 0", calls-1, len(s.sent())-1)
				}
			}
		})
	}
}
