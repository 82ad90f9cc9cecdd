// SPDX-License-Identifier: Apache-2.0

package auditor

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"k8s.io/client-go/tools/leaderelection/resourcelock"
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
