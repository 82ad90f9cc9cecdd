// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"testing"
	"time"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/ownership"
)

func TestRateLimit(t *testing.T) {
	object := object.Key{Kind: "ConfigMap", Namespace: "web", Name: "a"}
	for _, tc := range []struct {
		name   string
		every  time.Duration
		paused int // the first of 1000 stamps that is refused; 0 for none
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
				paused, begins := b.Count(object, ownership.Metadata{}, false)
				if begins && first == 0 {
					first = i
				} else if begins {
					t.Errorf("paused again at stamp %d", i)
				}
				if paused != (first > 0) {
					t.Fatalf("stamp %d: paused is %t", i, paused)
				}
				now = now.Add(tc.every)
			}
			if first != tc.paused {
				t.Errorf("paused from stamp %d, want %d", first, tc.paused)
			}
		})
	}
}

func TestRateLimitEnds(t *testing.T) {
	now := time.Date(2026, 11, 20, 8, 0, 0, 0, time.UTC)
	b := NewRateLimiter(func() time.Time { return now })
	busy, other := object.Key{Kind: "ConfigMap", Name: "busy"}, object.Key{Kind: "ConfigMap", Name: "other"}
	paused := func(k object.Key) bool {
		held, first := b.Count(k, ownership.Metadata{}, true)
		if first {
			t.Error("a dry run begins a pause")
		}
		return held
	}
	for range 100 {
		b.Count(busy, ownership.Metadata{}, false)
	}
	if held, _ := b.Count(other, ownership.Metadata{}, false); held || paused(other) || paused(object.Key{}) {
		t.Error("another object is paused too")
	}
	if held, _ := b.Count(busy, ownership.Metadata{Hash: "x"}, true); held {
		t.Error("other metadata for the object is paused too")
	}
	if !paused(busy) {
		t.Error("a dry run is not paused")
	}
	now = now.Add(RateLimitPause - time.Second)
	if held, _ := b.Count(busy, ownership.Metadata{}, false); !held {
		t.Error("the pause ended too early")
	}
	now = now.Add(2 * time.Second)
	if held, _ := b.Count(busy, ownership.Metadata{}, false); held || paused(busy) {
		t.Error("the pause did not end")
	}
}
