// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"sync"
	"time"

	"golang.org/x/time/rate"
	"k8s.io/utils/lru"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/ownership"
)

// The rate limit allows one stamp per second and object, with a burst of 60.
const (
	stampsPerSecond = 1
	stampsBurst     = 60
	// maxLimitedObjects bounds the memory. The limiter forgets the object whose last stamp is the oldest.
	maxLimitedObjects = 4096
)

// RateLimitPause is the time for which the webhook does not stamp an object that exceeded the limit.
const RateLimitPause = time.Hour

// RateLimiter ends loops of two programs that undo each other's writes. It counts, for each object, the stamps that
// restore ownership metadata which the stored object had lost. It is safe for concurrent use.
//
// It counts each metadata that an object can get separately. So a forged release record that causes a pause does not
// cause it for the real release: the pause has no effect when the forged record is gone.
type RateLimiter struct {
	mu      sync.Mutex
	objects *lru.Cache // limitKey -> *objectLimit
	now     func() time.Time
}

type limitKey struct {
	object object.Key
	stamp  ownership.Metadata
}

type objectLimit struct {
	limiter     *rate.Limiter
	pausedUntil time.Time
}

// NewRateLimiter makes a RateLimiter with a clock.
func NewRateLimiter(now func() time.Time) *RateLimiter {
	return &RateLimiter{objects: lru.New(maxLimitedObjects), now: now}
}

// Count counts one stamp of an object with metadata, except in a dry run. During a pause the object must not get this
// metadata; first is true if the pause begins with this stamp.
func (r *RateLimiter) Count(key object.Key, stamp ownership.Metadata, dryRun bool) (paused, first bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.now()
	k := limitKey{key, stamp}
	known, _ := r.objects.Get(k)
	l, ok := known.(*objectLimit)
	if !ok {
		l = &objectLimit{limiter: rate.NewLimiter(stampsPerSecond, stampsBurst)}
	}
	switch {
	case now.Before(l.pausedUntil):
		return true, false
	case dryRun:
		return false, false
	}
	r.objects.Add(k, l)
	if l.limiter.AllowN(now, 1) {
		return false, false
	}
	// A new limiter is for the time after the pause.
	*l = objectLimit{limiter: rate.NewLimiter(stampsPerSecond, stampsBurst), pausedUntil: now.Add(RateLimitPause)}
	return true, true
}
