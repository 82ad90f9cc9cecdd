// SPDX-License-Identifier: Apache-2.0

package auditor

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/util/wait"
	coordination "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/healthz"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/audit"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/auditor/metrics"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/auditor/view"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source/cluster"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source/watched"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/transport"
)

// Sink writes what changed to the cluster.
type Sink interface {
	// Update adds what changed in a step. It does not block.
	Update(s *view.Step)
	// Write writes what waits. The leader calls it once a second. What could not be written still waits.
	Write(ctx context.Context) error
}

// Backlog is a Sink whose replicas that do not lead also know what changed lately: the leader may have been killed
// before it wrote that.
type Backlog interface {
	Sink
	// Discard discards what was added before a time and is not written.
	Discard(before time.Time)
}

// Queue is a Sink whose waiting entries are of no use any more when another replica leads.
type Queue interface {
	Sink
	// Forget discards what is not written.
	Forget()
}

// maxBacklog is how long ago the former leader may have written for the last time.
const maxBacklog = leaseDuration + 2*renewal

// ServerOptions of a Server.
type ServerOptions struct {
	// Config is the configuration of the clients. Namespace is that of the pod, Identity its name.
	Config              *rest.Config
	Namespace, Identity string
	// MetricsAddress and ProbesAddress are addresses as "host:port"; "0" means none.
	MetricsAddress, ProbesAddress string
	// Lease is set by the election. The requests of Sinks pass its Guard.
	Lease *Lease
	// Metrics shows the state. Sinks write it.
	Metrics *metrics.Metrics
	Sinks   []Sink
	// Audit are the options of an audit.
	Audit audit.Options
	Log   logr.Logger
}

// Server is an auditor that can run once.
type Server struct {
	options  ServerOptions
	auditor  *Auditor
	election *election
	follower view.Follower
	ready    atomic.Bool
	// stuck returns why no evaluation will end any more; nil if one will.
	stuck func() error
	// currentAt returns the time until which the newest state has all changes; false before the first state.
	currentAt func() (time.Time, bool)
	restarts  int64

	publishing sync.Mutex // guards follower, and the fields below
	// newest is the newest state; nil before the first one. outdated is true if Unknown was published instead.
	newest   *view.View
	outdated bool
}

// maxAge is how long a state may lack changes before it is Unknown.
const maxAge = 5 * time.Minute

// unnoticed is how long ago a change can have happened when it is received: a watch may be interrupted for that long
// before its objects no longer count as current.
const unnoticed = watched.DefaultGrace + time.Second

// NewServer makes a Server. It makes no request.
func NewServer(o ServerOptions) (*Server, error) {
	c, err := cluster.New(o.Config, cluster.Options{Now: time.Now})
	if err != nil {
		return nil, err
	}
	leases, err := coordination.NewForConfig(o.Config)
	if err != nil {
		return nil, fmt.Errorf("creating a client of Leases: %w", err)
	}
	s := &Server{options: o,
		election: newElection(leases, o.Namespace, o.Identity, o.Lease, o.Log.WithName("election"))}
	s.auditor = New(c, Options{Audit: o.Audit, Publish: s.publish, Now: time.Now})
	s.stuck, s.currentAt = s.auditor.Stuck, s.auditor.CurrentAt
	o.Metrics.SetLeader(o.Lease.Holds)
	o.Metrics.SetAge(s.age)
	return s, nil
}

// Run serves until the context ends. It returns a *transport.ListenError if it cannot listen on an address.
func (s *Server) Run(ctx context.Context) error {
	ctx = klog.NewContext(ctx, s.options.Log.WithName("watch").V(1))
	g, ctx := errgroup.WithContext(ctx)
	for _, e := range s.endpoints() {
		s, err := e.Listen()
		if err != nil {
			return err
		}
		g.Go(func() error { return s.Run(ctx) })
	}
	g.Go(func() error { return s.auditor.Run(ctx) })
	g.Go(func() error {
		wait.UntilWithContext(ctx, s.expire, time.Second)
		return nil
	})
	g.Go(func() error { return s.election.run(ctx, s.lead) })
	return g.Wait()
}

// lead writes until the context ends.
func (s *Server) lead(ctx context.Context) {
	var writing sync.WaitGroup
	for _, sink := range s.options.Sinks {
		writing.Go(func() { wait.UntilWithContext(ctx, s.writer(sink), time.Second) })
	}
	writing.Wait()
	<-ctx.Done() // also without sinks
	for _, sink := range s.options.Sinks {
		if q, ok := sink.(Queue); ok {
			q.Forget()
		}
	}
}

// writer returns a function that writes what waits in a sink.
func (s *Server) writer(sink Sink) func(context.Context) {
	return func(ctx context.Context) {
		if !s.options.Lease.Holds() {
			return
		}
		if err := sink.Write(ctx); err != nil && ctx.Err() == nil {
			s.options.Log.Error(err, "Not everything could be written; it is tried again")
		}
	}
}

// endpoints are the addresses for metrics and probes.
func (s *Server) endpoints() []transport.Endpoint {
	own := prometheus.NewRegistry()
	// This cannot fail: the registry is empty.
	own.MustRegister(s.options.Metrics, collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	ready := map[string]healthz.Checker{"synced": transport.Logged(func(*http.Request) error {
		if !s.ready.Load() {
			return errNotSynced
		}
		return nil
	}, s.options.Log.WithName("readyz"))}
	live := map[string]healthz.Checker{"evaluation": transport.Logged(func(*http.Request) error { return s.stuck() },
		s.options.Log.WithName("livez"))}
	return []transport.Endpoint{
		{Name: transport.MetricsEndpoint, Address: s.options.MetricsAddress, Handler: transport.Metrics(own)},
		{Name: transport.ProbesEndpoint, Address: s.options.ProbesAddress, Handler: transport.Probes(live, ready)},
	}
}

var errNotSynced = errors.New("not everything was read yet")

// publish shows a result, and passes it on to be written.
func (s *Server) publish(_ context.Context, r Result) {
	s.publishing.Lock()
	defer s.publishing.Unlock()
	m := s.options.Metrics
	for ; s.restarts < r.Restarts; s.restarts++ {
		m.WatchRestarted()
	}
	m.SetQueueLength(r.Waiting)
	v := &view.View{Evaluated: r.Evaluated}
	switch {
	case r.Audit != nil:
		v = view.New(r.Audit, r.Evaluated)
	case !r.Nothing():
		s.options.Log.Error(r.Err, "nothing could be evaluated")
		if !s.outdated { // otherwise the metrics show Unknown
			m.Forget()
		}
		return
	}
	s.follower.Confirm(r.Since.Add(-unnoticed))
	s.newest, s.outdated = v, false
	s.show(v)
	m.Evaluated(r.Evaluated, r.Took)
	m.SetSynced(true)
	if !r.Since.IsZero() {
		m.ChangeShown(time.Since(r.Since))
	}
	s.ready.Store(true)
}

// show shows a view, and passes what changed on to be written. The caller holds publishing.
func (s *Server) show(v *view.View) {
	step := s.follower.Next(v)
	s.options.Metrics.Update(step)
	for _, sink := range s.options.Sinks {
		s.update(sink, step)
	}
}

// age returns for how long the newest state may lack changes.
func (s *Server) age() (age time.Duration, known bool) {
	when, known := s.currentAt()
	return max(0, time.Since(when)).Truncate(time.Millisecond), known
}

// expire publishes Unknown instead of a state that may lack changes for too long: an evaluation may wait for the API
// server.
func (s *Server) expire(context.Context) {
	s.publishing.Lock()
	defer s.publishing.Unlock()
	when, known := s.currentAt()
	tooOld := known && time.Since(when) > maxAge
	if s.newest == nil || s.outdated || !tooOld {
		return
	}
	s.options.Log.Info("The state is Unknown: it may lack changes", "since", when)
	s.outdated = true
	s.show(s.newest.Outdated(time.Now(), when))
	s.options.Metrics.SetSynced(false)
}

// update passes a step to a sink.
func (s *Server) update(sink Sink, step *view.Step) {
	backlog, keeps := sink.(Backlog)
	leads := s.options.Lease.Holds()
	if leads || keeps {
		sink.Update(step)
	}
	if keeps && !leads {
		backlog.Discard(step.After.Evaluated.Add(-maxBacklog))
	}
}
