// SPDX-License-Identifier: Apache-2.0

package auditor

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coordination "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/settle"
)

// The times of the election. The leader writes the Lease every renewal, which is its only write while nothing changes.
// Another replica looks at it every 10 to 22 s, and leads when it has seen no renewal for leaseDuration: at most 75 s
// after the leader was killed, and at its next look after the leader has ended. A leader that cannot renew the Lease
// stops renewal + renewDeadline after the last time: 5 s before another one can lead.
const leaseDuration, renewDeadline, renewal = 30 * time.Second, 15 * time.Second, 10 * time.Second

// errNotLeader is the error of a write of a replica that does not lead, or may not lead any more.
var errNotLeader = errors.New("this replica does not lead: its Lease was not renewed in time, or another one holds it")

// Lease is what this replica knows of its leadership. A process that was stopped, or whose machine was, still believes
// that it leads when it continues. So the age of the Lease is checked before each write. The zero value is ready to use
// and safe for concurrent use.
type Lease struct {
	mu      sync.Mutex
	renewed time.Time // the start of the last request that renewed it; zero if this replica does not hold it
}

// Holds reports whether no other replica can lead at present.
func (l *Lease) Holds() bool { return l.holdsAt(time.Now()) }

func (l *Lease) holdsAt(now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.renewed.IsZero() {
		return false
	}
	// The monotonic clock stands still while a machine sleeps, and the other one can be set back.
	monotonic, wall := now.Sub(l.renewed), now.Round(0).Sub(l.renewed.Round(0))
	return max(monotonic, wall) < renewal+renewDeadline
}

func (l *Lease) set(renewed time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.renewed = renewed
}

// Guard returns a transport that refuses requests that write unless this replica holds the Lease.
func (l *Lease) Guard(next http.RoundTripper) http.RoundTripper { return &guarded{next, l} }

type guarded struct {
	next  http.RoundTripper
	lease *Lease
}

// WrappedRoundTripper implements client-go's RoundTripperWrapper.
func (g *guarded) WrappedRoundTripper() http.RoundTripper { return g.next }

// RoundTrip implements http.RoundTripper.
func (g *guarded) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Method == http.MethodGet || g.lease.Holds() {
		return g.next.RoundTrip(req)
	}
	if req.Body != nil {
		_ = req.Body.Close() // as http.RoundTripper requires
	}
	return nil, errNotLeader
}

// lock records in a Lease when this replica renewed it, and when another one holds it.
type lock struct {
	resourcelock.Interface
	lease *Lease
}

// Get implements resourcelock.Interface.
func (l *lock) Get(ctx context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	record, raw, err := l.Interface.Get(ctx)
	if err == nil && record.HolderIdentity != l.Identity() {
		l.lease.set(time.Time{})
	}
	return record, raw, err
}

// Create implements resourcelock.Interface.
func (l *lock) Create(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	return l.write(ctx, record, l.Interface.Create)
}

// Update implements resourcelock.Interface.
func (l *lock) Update(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	return l.write(ctx, record, l.Interface.Update)
}

func (l *lock) write(ctx context.Context, record resourcelock.LeaderElectionRecord,
	send func(context.Context, resourcelock.LeaderElectionRecord) error) error {
	start := time.Now()
	if record.HolderIdentity != l.Identity() { // it is released
		l.lease.set(time.Time{})
	}
	err := send(ctx, record)
	if err == nil && record.HolderIdentity == l.Identity() {
		l.lease.set(start)
	}
	return err
}

// LeaseName is the name of the Lease of the leader.
const LeaseName = "fleetdoctor-auditor"

// election decides which replica writes.
type election struct {
	lock *lock
	log  logr.Logger
}

func newElection(client coordination.LeasesGetter, namespace, identity string, held *Lease,
	log logr.Logger) *election {
	return &election{log: log, lock: &lock{lease: held, Interface: &resourcelock.LeaseLock{Client: client,
		LeaseMeta:  metav1.ObjectMeta{Namespace: namespace, Name: LeaseName},
		LockConfig: resourcelock.ResourceLockConfig{Identity: identity}}}}
}

// run takes part in elections until the context ends. lead is called with a context that ends when this replica no
// longer leads; run waits until it returns.
func (e *election) run(ctx context.Context, lead func(context.Context)) error {
	leading := make(chan struct{}, 1)
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Name: LeaseName, Lock: e.lock, LeaseDuration: leaseDuration, RenewDeadline: renewDeadline, RetryPeriod: renewal,
		ReleaseOnCancel: true,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(ctx context.Context) {
				leading <- struct{}{}
				defer func() { <-leading }()
				e.log.Info("leads")
				defer e.log.Info("does not lead any more")
				lead(ctx)
			},
			OnStoppedLeading: func() { e.lock.lease.set(time.Time{}) },
		},
	})
	if err != nil {
		return fmt.Errorf("preparing the election of the leader: %w", err)
	}
	for ctx.Err() == nil {
		elector.Run(ctx) // it ends when the Lease is lost, and does not wait for lead
		leading <- struct{}{}
		<-leading
	}
	return nil
}

// held are the findings that may show a moment between two writes. An audit waits, and asks again whether what they
// depend on is as it was. The auditor does not wait: it keeps such a finding back for as long.
type held struct {
	pause time.Duration // how long a finding is held for each pause that it asks for
	found map[identity]heldFinding
}

type identity struct {
	code                              string
	object                            object.Ref
	cluster, bundleDeployment, aspect string
}

type heldFinding struct {
	since     time.Time
	questions []settle.Question
}

// filter returns the findings that are certain now, and the time at which the next one becomes certain; zero if none
// is held.
func (h *held) filter(findings []check.Finding, now time.Time) (certain []check.Finding, next time.Time) {
	before := h.found
	h.found = map[identity]heldFinding{}
	for _, f := range findings {
		if f.Pauses == 0 {
			certain = append(certain, f)
			continue
		}
		id := identity{f.Code, f.Object, f.Cluster, f.BundleDeployment, f.Aspect}
		x := heldFinding{now, f.Settle}
		if old, known := before[id]; known && slices.Equal(old.questions, f.Settle) {
			x.since = old.since
		}
		h.found[id] = x
		until := x.since.Add(time.Duration(f.Pauses) * h.pause)
		switch {
		case !now.Before(until):
			certain = append(certain, f)
		case next.IsZero() || until.Before(next):
			next = until
		}
	}
	return certain, next
}
