// SPDX-License-Identifier: Apache-2.0

// Package health evaluates whether one live object is ready, as Fleet's agent
// does before it writes the nonReadyStatus of a BundleDeployment.
//
// The package is pure: it has no client, no clock and no state, does not keep
// or change its arguments, and returns a result for every object, even if it is
// malformed. The rules and their order are those of docs/fleet-behavior.md, 4.1,
// for agents since 0.11; section 3.3 describes the removal of ignored conditions
// before them. Some rules are unexpected: a suspended Job that never started is
// not ready, and a custom resource that no controller has reconciled is ready.
// The agent has the same rules, and a different result would contradict the
// status that it is compared with.
//
// Not supported: an agent with the environment variable
// CATTLE_WRANGLER_CHECK_GVK_ERROR_MAPPING extends the table of error conditions.
package health

import (
	"cmp"
	"strings"
	"time"
)

// Readiness is the agent's result for one live object.
type Readiness struct {
	// Ready is true if neither Error nor Transitioning is.
	Ready bool
	// State is the agent's name for the state of the object in lower case, such
	// as "active", "in-progress", "unavailable" or a lower-cased status.phase;
	// never empty. It has no effect on Ready: an object in phase "failed" is
	// ready if no other rule applies.
	State string
	// Error is true if something failed, Transitioning that something is still
	// in progress. Both may be true.
	Error, Transitioning bool
	// Messages are trimmed, deduplicated, never empty strings, and in the order
	// in which the rules found them. A ready object often has one too.
	Messages []string
	// Condition is the condition because of which the object is not ready; the
	// zero value if it is ready, or if it is not ready for another reason (replica
	// counts, a phase, a deletion timestamp).
	Condition Condition
	// LookAgain is the time at which the result can change although the object does
	// not change; zero if there is none.
	LookAgain time.Time
}

// Evaluate returns the readiness of a live object by the rules of the agent.
//
// The object is unstructured content as apimachinery decodes it (int64 and
// float64 for numbers) and is not modified. The ignore maps are the bundle's
// options.ignore.conditions: a condition that contains all pairs of one of them
// is ignored. The time is when the object was read; a few rules depend on the
// age of the object.
func Evaluate(obj map[string]any, ignore []map[string]string, now time.Time) Readiness {
	obj = withoutIgnored(obj, ignore)
	e := evaluation{obj: obj, now: now, conditions: conditionsOf(obj)}
	e.computed = compute(e.atTime()) // for rules 8 and 11

	// Each rule reads the results of the previous rules, so the order matters.
	// The numbers are those of docs/fleet-behavior.md, 4.1; rule 10 only collects
	// relationships, which have no effect on readiness.
	e.ownSummary()         // 1
	e.errorConditions()    // 2
	e.progressConditions() // 3
	e.specActive()         // 4
	e.phase()              // 5
	e.initializing()       // 6
	e.removed()            // 7
	e.kstatusState()       // 8
	e.loadBalancer()       // 9
	e.kstatusFlags()       // 11
	return e.readiness()
}

func (e *evaluation) readiness() Readiness {
	return Readiness{
		Ready:         !e.err && !e.transitioning,
		State:         cmp.Or(strings.ToLower(e.state), stateActive),
		Error:         e.err,
		Transitioning: e.transitioning,
		Messages:      distinct(e.messages),
		Condition:     e.decided,
		LookAgain:     e.lookAgain,
	}
}
