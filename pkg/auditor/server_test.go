// SPDX-License-Identifier: Apache-2.0

package auditor

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/rest"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/auditor/metrics"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/auditor/view"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/collect"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/transport"
	"github.com/fleetdoctor/kubectl-fleetdoctor/test/poll"
	"github.com/fleetdoctor/kubectl-fleetdoctor/test/views"
)

const namespace = "fleetdoctor-system"

// sink counts what it receives. Its first write fails.
type sink struct {
	mu              sync.Mutex
	updates, writes int
}

func (s *sink) Update(*view.Step) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.updates++
}

func (s *sink) Write(context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.writes++
	if s.writes == 1 {
		return errors.New("connection refused")
	}
	return nil
}

func (s *sink) counts() (updates, writes int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.updates, s.writes
}

// backlog is a sink that also keeps what it receives while another replica leads.
type backlog struct {
	sink
	discarded time.Time
}

func (b *backlog) Discard(before time.Time) { b.discarded = before }

// newServer makes a server whose Lease is on a fake API server.
func newServer(t *testing.T, client *fake.Clientset, identity string, sinks ...Sink) *Server {
	t.Helper()
	s, err := NewServer(ServerOptions{Config: &rest.Config{Host: "http://127.0.0.1:1"}, Namespace: namespace,
		Identity:       identity,
		MetricsAddress: "0", ProbesAddress: "0", Metrics: metrics.New(metrics.Options{}), Lease: &Lease{},
		Sinks: sinks, Log: logr.Discard()})
	if err != nil {
		t.Fatal(err)
	}
	s.election = newElection(client.CoordinationV1(), namespace, identity, s.options.Lease, logr.Discard())
	return s
}

// page returns the status and the text of a path of an endpoint.
func page(t *testing.T, s *Server, endpoint, path string) (int, string) {
	t.Helper()
	for _, e := range s.endpoints() {
		if e.Name != endpoint {
			continue
		}
		w := httptest.NewRecorder()
		e.Handler.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, http.NoBody))
		body, err := io.ReadAll(w.Result().Body)
		if err != nil {
			t.Fatal(err)
		}
		return w.Code, string(body)
	}
	t.Fatalf("there is no endpoint %s", endpoint)
	return 0, ""
}

// TestProbes checks that the server is alive at once, and ready when it has a state, also that of a cluster without
// Fleet.
func TestProbes(t *testing.T) {
	s := newServer(t, fake.NewClientset(), "one")
	probe := func(path string) int {
		status, _ := page(t, s, transport.ProbesEndpoint, path)
		return status
	}
	if status, text := page(t, s, transport.ProbesEndpoint, "/readyz"); status != http.StatusInternalServerError ||
		!strings.Contains(text, errNotSynced.Error()) || probe("/livez") != http.StatusOK {
		t.Errorf("at the start, it is ready with status %d: %s", status, text)
	}
	s.publish(t.Context(), Result{Evaluated: time.Now(), Err: errors.New("the server is not reached")})
	if status := probe("/readyz"); status != http.StatusInternalServerError {
		t.Errorf("without a state, it is ready with status %d", status)
	}
	s.publish(t.Context(), Result{Evaluated: time.Now(), Err: collect.ErrNoFleet})
	if status := probe("/readyz"); status != http.StatusOK {
		t.Errorf("with a state, it is ready with status %d", status)
	}
	// An interruption later is no reason to send nobody to the metrics, which show it.
	s.publish(t.Context(), Result{Evaluated: time.Now(), Err: errors.New("the server is not reached")})
	if _, text := page(t, s, transport.MetricsEndpoint, "/metrics"); probe("/readyz") != http.StatusOK ||
		!strings.Contains(text, "\nfleetdoctor_auditor_synced 0\n") {
		t.Errorf("after a failure, the metrics are\n%s", text)
	}
	s.stuck = func() error { return &StuckError{Since: time.Unix(0, 0)} }
	if status, text := page(t, s, transport.ProbesEndpoint, "/livez"); status != http.StatusInternalServerError ||
		!strings.Contains(text, "an evaluation began at 1970-01-01T00:00:00Z, and has not ended") {
		t.Errorf("while an evaluation does not end, it is alive with status %d: %s", status, text)
	}
}

// TestLeader checks that only the leader writes, also after a failed write, that another replica takes over when the
// leader ends, and what each of them receives.
func TestLeader(t *testing.T) {
	client := fake.NewClientset()
	first, second, kept := &sink{}, &sink{}, &backlog{}
	one, two := newServer(t, client, "one", first), newServer(t, client, "two", second, kept)
	elect := func(s *Server) (end func()) {
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- s.election.run(ctx, s.lead) }()
		return func() {
			cancel()
			if err := <-ended; err != nil {
				t.Error(err)
			}
		}
	}
	endOne := elect(one)
	poll.True(t, "the leader writes again after a failure", func() bool {
		_, writes := first.counts()
		return writes > 1
	})
	endTwo := elect(two)
	at := time.Now()
	for _, s := range []*Server{one, two} {
		s.publish(t.Context(), Result{Evaluated: at, Err: collect.ErrNoFleet})
	}
	for name, x := range map[string]struct {
		sink    *sink
		updates int
		writes  bool
	}{"leader": {first, 1, true}, "other": {second, 0, false}, "other with a backlog": {&kept.sink, 1, false}} {
		if updates, writes := x.sink.counts(); updates != x.updates || writes > 0 != x.writes {
			t.Errorf("%s: %d updates and %d writes", name, updates, writes)
		}
	}
	if !kept.discarded.Equal(at.Add(-maxBacklog)) {
		t.Errorf("the backlog was discarded before %s", kept.discarded)
	}
	for s, want := range map[*Server]string{one: "1", two: "0"} {
		if _, text := page(t, s, transport.MetricsEndpoint, "/metrics"); !strings.Contains(text,
			"\nfleetdoctor_auditor_leader "+want+"\n") {
			t.Errorf("not %s:\n%s", want, text)
		}
	}

	endOne()
	poll.True(t, "the other replica writes", func() bool {
		_, writes := second.counts()
		return writes > 0
	})
	lease, err := client.CoordinationV1().Leases(namespace).Get(t.Context(), LeaseName, metav1.GetOptions{})
	if err != nil || holder(lease) != "two" || one.options.Lease.Holds() {
		t.Errorf("%s holds the Lease: %v", holder(lease), err)
	}
	endTwo()
	lease, err = client.CoordinationV1().Leases(namespace).Get(t.Context(), LeaseName, metav1.GetOptions{})
	if err != nil || holder(lease) != "" {
		t.Errorf("%s still holds the Lease: %v", holder(lease), err)
	}
}

// TestEnd checks that an auditor that ends waits for what it writes.
func TestEnd(t *testing.T) {
	s := newServer(t, fake.NewClientset(), "one")
	ctx, cancel := context.WithCancel(t.Context())
	written := false
	err := s.election.run(ctx, func(ctx context.Context) {
		cancel()
		<-ctx.Done()
		<-time.After(50 * time.Millisecond)
		written = true
	})
	if err != nil || !written {
		t.Errorf("it ended before a write, error: %v", err)
	}
}

func holder(l *coordinationv1.Lease) string {
	if l == nil || l.Spec.HolderIdentity == nil {
		return ""
	}
	return *l.Spec.HolderIdentity
}

// TestOutdated checks the age of the state in the metrics, that states are Unknown when it is above the limit, also if
// nothing can be evaluated then, and that they are known again with the next result.
func TestOutdated(t *testing.T) {
	s := newServer(t, fake.NewClientset(), "one")
	var age time.Duration
	known := false
	s.currentAt = func() (time.Time, bool) { return time.Now().Add(-age), known }
	const state = "\nfleetdoctor_bundledeployment_state{"
	shows := func(what string, texts ...string) {
		t.Helper()
		_, page := page(t, s, transport.MetricsEndpoint, "/metrics")
		for _, text := range texts {
			if !strings.Contains(page, text) {
				t.Errorf("%s: the metrics have no %q:\n%s", what, text, page)
			}
		}
	}
	s.expire(t.Context())
	if _, text := page(t, s, transport.MetricsEndpoint, "/metrics"); strings.Contains(text, "state_age_seconds ") {
		t.Errorf("before the first state, it has an age:\n%s", text)
	}
	known = true
	s.newest = views.Sample(t, "clean")
	s.show(s.newest)
	s.options.Metrics.SetSynced(true)
	age = maxAge - time.Second
	s.expire(t.Context())
	shows("a state that may still be shown", `state="Ready"} 1`, "fleetdoctor_auditor_state_age_seconds 299",
		"fleetdoctor_auditor_synced 1")
	age = maxAge + time.Second
	s.expire(t.Context())
	s.publish(t.Context(), Result{Evaluated: time.Now(), Err: errors.New("the server is not reached")})
	shows("a state that is too old", state, `reason="ReadFailed"`, `state="Unknown"} 1`,
		"fleetdoctor_auditor_state_age_seconds 301", "fleetdoctor_auditor_synced 0",
		"fleetdoctor_auditor_gaps{optional=\"false\"} 1")
	if _, text := page(t, s, transport.MetricsEndpoint, "/metrics"); strings.Contains(text, `state="Ready"} `) {
		t.Errorf("a state that is too old has Ready objects:\n%s", text)
	}
	age = 0
	s.publish(t.Context(), Result{Evaluated: time.Now(), Err: collect.ErrNoFleet})
	shows("the next result", "fleetdoctor_auditor_synced 1", "fleetdoctor_auditor_gaps{optional=\"false\"} 0")
}
