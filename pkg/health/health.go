// SPDX-License-Identifier: Apache-2.0

// Package health decides whether one live object is ready, as Fleet's agent
// decides it before it writes a BundleDeployment's nonReadyStatus.
//
// The package is pure: it has no client, no clock and no state, does not keep
// or change what it is given, and has an answer for every object, however
// malformed. The rules and their order are those of docs/fleet-behavior.md, 4.1,
// for agents since 0.11; the removal of ignored conditions that comes before
// them is section 3.3. Wherever they read oddly (a
// suspended Job that never started is not ready, a custom resource nobody has
// ever reconciled is) the oddity is the agent's, and reproducing it is the
// point: a verdict that is merely sensible would contradict the status it is
// held against.
//
// One thing cannot be known from here: an agent started with the environment
// variable CATTLE_WRANGLER_CHECK_GVK_ERROR_MAPPING extends the table of error
// conditions.
package health

import (
	"strings"
	"time"
)

// Verdict is what the agent would say of one live object.
type Verdict struct {
	// Ready is true if neither Error nor Transitioning is.
	Ready bool
	// State is the agent's word for the object in lower case, such as
	// "active", "in-progress", "unavailable" or a lower-cased status.phase;
	// never empty. It does not decide: an object whose phase is "failed" is
	// ready if nothing else speaks against it.
	State string
	// Error says that something failed, Transitioning that something is still
	// under way. Both may be true.
	Error, Transitioning bool
	// Messages are trimmed, deduplicated, never empty strings, and in the order
	// in which the rules found them. A ready object often has one too.
	Messages []string
	// Condition is the condition that decided against the object; the zero
	// value if it is ready, or if something other than a condition decided
	// (replica counts, a phase, a deletion timestamp).
	Condition Condition
}

// Condition names one entry of an object's status.conditions.
type Condition struct {
	Type, Status, Reason string
}

// String returns "Type=Status (Reason)", without what is empty; "" for the
// zero value.
func (c Condition) String() string {
	s := c.Type
	if c.Status != "" {
		s += "=" + c.Status
	}
	if c.Reason != "" {
		s += " (" + c.Reason + ")"
	}
	return strings.TrimSpace(s)
}

// Judge returns the agent's verdict on a live object.
//
// The object is unstructured content as apimachinery decodes it (int64 and
// float64 for numbers) and is not modified. The ignore maps are the bundle's
// options.ignore.conditions: a condition that contains all pairs of any one of
// them is as good as absent. The time is the one at which the object was read;
// a few rules judge by age.
func Judge(obj map[string]any, ignore []map[string]string, now time.Time) Verdict {
	obj = withoutIgnored(obj, ignore)
	j := judgement{obj: obj, now: now, conditions: conditionsOf(obj)}

	// Each rule reads what the ones before it left, so the order is part of
	// the behaviour. The numbers are those of "Status math" 4.1; rule 10 only
	// collects relationships, which decide nothing.
	j.ownSummary()         // 1
	j.errorConditions()    // 2
	j.progressConditions() // 3
	j.specActive()         // 4
	j.phase()              // 5
	j.initializing()       // 6
	j.removed()            // 7
	j.kstatusState()       // 8
	j.loadBalancer()       // 9
	j.kstatusFlags()       // 11
	return j.verdict()
}

// judgement is the state that the rules share while one object is judged.
type judgement struct {
	obj        map[string]any
	now        time.Time
	conditions []condition

	state              string
	err, transitioning bool
	messages           []string

	decided        Condition
	decidedByError bool

	opinion     opinion // of kstatus, once asked
	opinionHeld bool
}

// say adds a message; verdict cleans the list up.
func (j *judgement) say(message string) {
	j.messages = append(j.messages, message)
}

// fail records a condition that is an error.
func (j *judgement) fail(c condition) {
	j.err = true
	j.say(c.message)
	if !j.decidedByError {
		j.decided, j.decidedByError = c.Condition, true
	}
}

// wait records a condition that says that work is under way. It does not
// displace an earlier one, nor an error.
func (j *judgement) wait(c condition) {
	j.transitioning = true
	j.say(c.message)
	if j.decided == (Condition{}) {
		j.decided = c.Condition
	}
}

// settle withdraws that work is under way, and with it the condition that said
// so.
func (j *judgement) settle() {
	j.transitioning = false
	if !j.decidedByError {
		j.decided = Condition{}
	}
}

func (j *judgement) verdict() Verdict {
	v := Verdict{
		Ready:         !j.err && !j.transitioning,
		State:         strings.ToLower(j.state),
		Error:         j.err,
		Transitioning: j.transitioning,
		Messages:      distinct(j.messages),
		Condition:     j.decided,
	}
	if v.State == "" {
		v.State = stateActive
	}
	return v
}

// distinct returns the messages trimmed, without the empty and the repeated;
// nil where none is left. It reuses the slice.
func distinct(messages []string) []string {
	seen := make(map[string]struct{}, len(messages))
	kept := messages[:0]
	for _, m := range messages {
		m = strings.TrimSpace(m)
		if _, again := seen[m]; again || m == "" {
			continue
		}
		seen[m] = struct{}{}
		kept = append(kept, m)
	}
	if len(kept) == 0 {
		return nil
	}
	return kept
}
