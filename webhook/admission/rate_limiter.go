// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"sync"
	"time"

	"golang.org/x/time/rate"
	"k8s.io/utils/lru"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
)

// The rate limit allows one stamp per second and object, with a burst of 60.
const (
	stampsPerSecond = 1
	stampsBurst     = 60
	// maxLimitedObjects bounds the memory: the objects that were stamped last are remembered.
	maxLimitedObjects = 4096
)

// RateLimitPause is how long the webhook leaves an object alone that exceeded the limit.
const RateLimitPause = time.Hour

// RateLimiter ends loops of two programs that undo each other's writes for ever. It counts, for each object, the stamps
// that restore ownership metadata which the stored object had lost. Goroutines may call it at the same time.
type RateLimiter struct {
	mu      sync.Mutex
	objects *lru.Cache // object.Key -> *objectLimit
	now     func() time.Time
}

type objectLimit struct {
	limiter     *rate.Limiter
	pausedUntil time.Time
}

// NewRateLimiter makes a RateLimiter with a clock.
func NewRateLimiter(now func() time.Time) *RateLimiter {
	return &RateLimiter{objects: lru.New(maxLimitedObjects), now: now}
}

// Count counts one stamp of an object. If the object is paused it must not be stamped; first says that the pause begins
// with this stamp.
func (r *RateLimiter) Count(k object.Key) (paused, first bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.now()
	l := r.get(k)
	if l == nil {
		l = &objectLimit{limiter: rate.NewLimiter(stampsPerSecond, stampsBurst)}
		r.objects.Add(k, l)
	}
	switch {
	case now.Before(l.pausedUntil):
		return true, false
	case l.limiter.AllowN(now, 1):
		return false, false
	}
	l.pausedUntil = now.Add(RateLimitPause)
	l.limiter = rate.NewLimiter(stampsPerSecond, stampsBurst) // for the time after the pause
	return true, true
}

// Paused says whether an object is paused, and counts nothing.
func (r *RateLimiter) Paused(k object.Key) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	l := r.get(k)
	return l != nil && r.now().Before(l.pausedUntil)
}

// get returns what is remembered of an object; nil for nothing. The caller holds mu.
func (r *RateLimiter) get(k object.Key) *objectLimit {
	known, _ := r.objects.Get(k)
	l, _ := known.(*objectLimit)
	return l
}
