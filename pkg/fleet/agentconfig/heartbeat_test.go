// SPDX-License-Identifier: Apache-2.0

package agentconfig

import (
	"math"
	"testing"
	"time"
)

func TestBeat(t *testing.T) {
	now := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	ago := func(d time.Duration) string { return now.Add(-d).Format(time.RFC3339) }
	quarter, minute, none, never := 15*time.Minute, time.Minute, time.Duration(0), 1_000_000*time.Hour
	live, snapshot := Clock{Now: now}, Clock{Now: now, Earliest: true}
	for _, tc := range []struct {
		name     string
		lastSeen string
		interval *time.Duration
		clock    Clock
		want     HeartbeatState
		limit    time.Duration
	}{
		{"now", ago(0), &quarter, live, Alive, 45 * time.Minute},
		{"at the limit", ago(45 * time.Minute), &quarter, live, Alive, 45 * time.Minute},
		{"after the limit", ago(45*time.Minute + time.Second), &quarter, live, Stale, 45 * time.Minute},
		{"the default interval", ago(46 * time.Minute), &none, live, Stale, 45 * time.Minute},
		{"a short interval", ago(4 * time.Minute), &minute, live, Alive, 5 * time.Minute},
		{"a short interval, stale", ago(6 * time.Minute), &minute, live, Stale, 5 * time.Minute},
		{"an interval that stands for never", ago(23 * time.Hour), &never, live, Alive, 3 * (math.MaxInt64 / 3)},
		{"no interval was read", ago(23 * time.Hour), nil, live, Alive, 24 * time.Hour},
		{"no interval was read, a day", ago(25 * time.Hour), nil, live, Stale, 24 * time.Hour},
		{"never", "", &quarter, live, Never, 45 * time.Minute},
		{"the zero time", "0001-01-01T00:00:00Z", &quarter, live, Never, 45 * time.Minute},
		{"a little ahead", ago(-time.Minute), &quarter, live, Alive, 45 * time.Minute},
		{"ahead", ago(-2 * time.Minute), &quarter, live, Ahead, 45 * time.Minute},
		{"a snapshot in which nothing is newer", ago(-30 * time.Minute), &quarter, snapshot, Alive, 45 * time.Minute},
		{"a snapshot, ahead", ago(-time.Hour), &quarter, snapshot, Ahead, 45 * time.Minute},
		{"the time of the data is not known", ago(0), &quarter, Clock{}, NotKnown, 45 * time.Minute},
		{"no time", "yesterday", &quarter, live, NotKnown, 45 * time.Minute},
	} {
		got := Beat(tc.lastSeen, tc.interval, tc.clock)
		if got.State != tc.want || got.Limit != tc.limit || got.Age < 0 {
			t.Errorf("%s: %+v, want %s and the limit %s", tc.name, got, tc.want, tc.limit)
		}
	}
}
