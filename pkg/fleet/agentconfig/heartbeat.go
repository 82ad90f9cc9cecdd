// SPDX-License-Identifier: Apache-2.0

package agentconfig

import (
	"math"
	"time"
)

// HeartbeatState is the state of a heartbeat. The names are part of the report.
type HeartbeatState string

// The states.
const (
	Alive HeartbeatState = "alive"
	// Stale: the last heartbeat is older than the limit.
	Stale HeartbeatState = "stale"
	// Never: the agent has not reported since it was imported or registered.
	Never HeartbeatState = "never"
	// Ahead: the last heartbeat is later than the time of the data, so a clock is wrong.
	Ahead HeartbeatState = "ahead"
	// Disabled: the configuration disables the agent of this cluster.
	Disabled HeartbeatState = "disabled"
	// NotKnown: the time of the heartbeat or of the data is not known.
	NotKnown HeartbeatState = "unknown"
)

const (
	// missedBeats is the number of intervals after which an agent is stale; minLimit is the minimum of that time.
	missedBeats = 3
	minLimit    = 5 * time.Minute
	// unknownLimit applies if the interval was not read. It is the limit of Fleet's own command line.
	unknownLimit = 24 * time.Hour
	// tolerance is how far a heartbeat may be ahead of the time of the data.
	tolerance = time.Minute
)

// Heartbeat is the last heartbeat of an agent.
type Heartbeat struct {
	State HeartbeatState
	// LastSeen is zero if there was none. Age is the time since then, not negative.
	LastSeen time.Time
	Age      time.Duration
	// Interval is the interval of heartbeats; zero if it was not read. Limit is the age from which the agent is stale.
	Interval, Limit time.Duration
	// LookAgain is the time at which State can change without a heartbeat; zero if there is none.
	LookAgain time.Time
}

// Clock is the time of the data. If Earliest is true, the data may have been taken later.
type Clock struct {
	Now      time.Time
	Earliest bool
}

// Beat evaluates a heartbeat. lastSeen is a time in RFC 3339 or empty. interval is nil if it was not read, and zero for
// the default. Source: docs/fleet-behavior.md, 7.1 and 7.6.
func Beat(lastSeen string, interval *time.Duration, clock Clock) Heartbeat {
	out := Heartbeat{State: NotKnown, Limit: unknownLimit}
	if interval != nil {
		out.Interval = *interval
		if out.Interval <= 0 {
			out.Interval = DefaultInterval
		}
		out.Limit = max(missedBeats*min(out.Interval, math.MaxInt64/missedBeats), minLimit)
	}
	var err error
	if lastSeen != "" {
		if out.LastSeen, err = time.Parse(time.RFC3339, lastSeen); err != nil {
			return out
		}
	}
	early := tolerance
	if clock.Earliest {
		early = out.Limit // nothing else need have been written since
	}
	age := clock.Now.Sub(out.LastSeen)
	switch {
	case out.LastSeen.IsZero():
		out.State = Never
		return out
	case clock.Now.IsZero():
		return out
	case age > out.Limit:
		out.State = Stale
	case -age > early:
		out.State, out.LookAgain = Ahead, out.LastSeen.Add(-early)
	default:
		out.State, out.LookAgain = Alive, out.LastSeen.Add(out.Limit).Add(time.Nanosecond)
	}
	out.Age = max(age, 0)
	return out
}
