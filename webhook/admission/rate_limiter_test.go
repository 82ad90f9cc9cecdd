// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"testing"
	"time"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
)

func TestRateLimit(t *testing.T) {
	object := object.Key{Kind: "ConfigMap", Namespace: "web", Name: "a"}
	for _, tc := range []struct {
		name  string
		every time.Duration
		holds int // the first of 1000 stamps that is held; 0 where none is
	}{
		{"once a minute", time.Minute, 0},
		{"once a second", time.Second, 0},
		{"twice a second", time.Second / 2, 120},
		{"ten times a second", time.Second / 10, 67},
		{"all at once", 0, 61},
	} {
		t.Run(tc.name, func(t *testing.T) {
			now := time.Date(2026, 11, 20, 8, 0, 0, 0, time.UTC)
			b := NewRateLimiter(func() time.Time { return now })
			first := 0
			for i := 1; i <= 1000; i++ {
				held, since := b.Count(object, false)
				if since && first == 0 {
					first = i
				} else if since {
					t.Errorf("held anew at stamp %d", i)
				}
				if held != (first > 0) {
					t.Fatalf("stamp %d: held is %t", i, held)
				}
				now = now.Add(tc.every)
			}
			if first != tc.holds {
				t.Errorf("held from stamp %d, want %d", first, tc.holds)
			}
		})
	}
}

func TestRateLimitEnds(t *testing.T) {
	now := time.Date(2026, 11, 20, 8, 0, 0, 0, time.UTC)
	b := NewRateLimiter(func() time.Time { return now })
	busy, other := object.Key{Kind: "ConfigMap", Name: "busy"}, object.Key{Kind: "ConfigMap", Name: "other"}
	paused := func(k object.Key) bool {
		held, first := b.Count(k, true)
		if first {
			t.Error("a dry run begins a pause")
		}
		return held
	}
	for range 100 {
		b.Count(busy, false)
	}
	if held, _ := b.Count(other, false); held || paused(other) || paused(object.Key{}) {
		t.Error("another object is held too")
	}
	if !paused(busy) {
		t.Error("a look says that it is not held")
	}
	now = now.Add(RateLimitPause - time.Second)
	if held, _ := b.Count(busy, false); !held {
		t.Error("let go too early")
	}
	now = now.Add(2 * time.Second)
	if held, _ := b.Count(busy, false); held || paused(busy) {
		t.Error("held for ever")
	}
}
