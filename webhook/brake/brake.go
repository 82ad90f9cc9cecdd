// SPDX-License-Identifier: Apache-2.0

// Package brake keeps the webhook from taking part in a loop: two programs that undo each other's writes for ever.
package brake

import (
	"sync"
	"time"

	"golang.org/x/time/rate"
	"k8s.io/utils/lru"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
)

// The brake holds an object for which stamps were needed again and again: a minute's worth more than one a second.
const (
	perSecond = 1
	burst     = 60
	// Hold is how long a braked object is left alone.
	Hold = time.Hour
	// remembered bounds the memory; the objects stamped last are remembered.
	remembered = 4096
)

// Brake counts, for each object, the stamps that restored marks on an object that had lost them. Its methods may be called at once.
type Brake struct {
	mu      sync.Mutex
	objects *lru.Cache // object.Key -> *wheel
	now     func() time.Time
}

type wheel struct {
	limiter *rate.Limiter
	until   time.Time
}

// New makes a brake that goes by a clock.
func New(now func() time.Time) *Brake {
	return &Brake{objects: lru.New(remembered), now: now}
}

// Count counts one stamp. Held says that the object is to be left alone instead; first, that this is since now.
func (b *Brake) Count(k object.Key) (held, first bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.now()
	w := b.wheel(k)
	switch {
	case now.Before(w.until):
		return true, false
	case w.limiter.AllowN(now, 1):
		return false, false
	}
	w.until = now.Add(Hold)
	w.limiter = rate.NewLimiter(perSecond, burst) // for afterwards
	return true, true
}

// Held says what Count would, and counts nothing.
func (b *Brake) Held(k object.Key) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	known, ok := b.objects.Get(k)
	if !ok {
		return false
	}
	w, ok := known.(*wheel)
	return ok && b.now().Before(w.until)
}

func (b *Brake) wheel(k object.Key) *wheel {
	if known, ok := b.objects.Get(k); ok {
		if w, ok := known.(*wheel); ok {
			return w
		}
	}
	w := &wheel{limiter: rate.NewLimiter(perSecond, burst)}
	b.objects.Add(k, w)
	return w
}
