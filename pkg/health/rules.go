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

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

const (
	// initializationPeriod is the age below which a Rancher object with an empty
	// list of conditions is initializing (rule 6).
	initializationPeriod = 5 * time.Second
	// removalTimeout is the age at which a removal that finalizers block becomes
	// an error (rule 7).
	removalTimeout = 5 * time.Minute
)

// ownSummary is rule 1: the object's own summary is used.
func (e *evaluation) ownSummary() {
	own := mapAt(e.obj, "status", "display")
	if len(own) == 0 {
		own = mapAt(e.obj, "status", "summary")
	}
	if v, ok := own["state"]; ok {
		e.state = text(v)
	}
	if v, ok := own["transitioning"]; ok {
		e.transitioning = isTrue(v)
	}
	if v, ok := own["error"]; ok {
		e.err = isTrue(v)
	}
	if v, ok := own["message"]; ok {
		e.addMessage(text(v))
	}
}

// errorConditions is rule 2: conditions that are errors for this kind, and any
// condition with the reason Error.
func (e *evaluation) errorConditions() {
	if len(e.conditions) == 0 {
		return
	}
	u := unstructured.Unstructured{Object: e.obj}
	errors, ok := errorStatus[u.GroupVersionKind()]
	if !ok {
		errors = defaultErrorStatus
	}
	for _, c := range e.conditions {
		status, listed := errors[c.Type]
		if c.Reason != reasonError && (!listed || c.Status != status) {
			continue
		}
		e.fail(c)
		if e.state == "" || e.state == stateActive {
			e.state = stateError
		}
	}
}

// progressConditions is rule 3. Each part reads all conditions. Except for the
// errors of (a), the parts apply only while there is no state yet.
func (e *evaluation) progressConditions() {
	for _, c := range e.conditions {
		state, listed := falseIsError[c.Type]
		switch {
		case !listed:
		case c.Status == conditionFalse:
			e.fail(c)
			e.state = state
		case c.Status == conditionUnknown && e.state == "":
			e.progress(c)
			e.state = state
		}
	}
	for _, c := range e.conditions {
		if e.state != "" {
			return
		}
		if state, listed := trueIsProgress[c.Type]; listed && c.Status == conditionTrue {
			e.progress(c)
			e.state = state
		}
	}
	e.availability()
}

// availability is rule 3(c) and (d). Ready=False comes last because any other
// condition describes the cause better.
func (e *evaluation) availability() {
	var unready *condition
	for i, c := range e.conditions {
		if e.state != "" {
			return
		}
		if c.Type == conditionReady && c.Status == conditionFalse {
			unready = &e.conditions[i]
			continue
		}
		state, listed := falseIsProgress[c.Type]
		if !listed {
			continue
		}
		if state == reasonIsState {
			state = c.Reason
		}
		switch c.Status {
		case conditionFalse:
			e.progress(c)
			e.state = state
		case conditionUnknown:
			e.fail(c)
			e.state = state
		}
	}
	if e.state == "" && unready != nil {
		e.progress(*unready)
		e.state = stateUnavailable
	}
}

// specActive is rule 4.
func (e *evaluation) specActive() {
	if e.state != "" {
		return
	}
	switch textAt(e.obj, "spec", "active") {
	case "true":
		e.state = stateActive
	case "false":
		e.state = "inactive"
	}
}

// phase is rule 5. A final phase resets that work is in progress, but not that
// something failed.
func (e *evaluation) phase() {
	phase := textAt(e.obj, "status", "phase")
	if state, final := phaseIsFinal[phase]; final {
		e.state = state
		e.transitioning = false
		if !e.decidedByError {
			e.decided = Condition{}
		}
		return
	}
	if e.state == "" {
		e.state = phase
	}
}

// initializing is rule 6. The age is taken from metadata.created, which Rancher's
// own API adds and the Kubernetes API server does not store.
func (e *evaluation) initializing() {
	if e.state != "" || len(e.conditions) > 0 || !strings.Contains(textAt(e.obj, "apiVersion"), "cattle.io") {
		return
	}
	if _, present := mapAt(e.obj, "status")["conditions"]; !present {
		return
	}
	created, err := time.Parse(time.RFC3339, textAt(e.obj, "metadata", "created"))
	if err == nil && !e.reached(created.Truncate(time.Second).Add(initializationPeriod)) {
		e.state = "initializing"
		e.transitioning = true
	}
}

// removed is rule 7. Like metadata.created, metadata.removed is a field of
// Rancher; kstatus evaluates an object that Kubernetes is deleting.
func (e *evaluation) removed() {
	removed := textAt(e.obj, "metadata", "removed")
	if removed == "" {
		return
	}
	e.state = "removing"
	e.transitioning = true
	for _, c := range e.conditions {
		if c.Type == "Removed" && (c.Status == conditionUnknown || c.Status == conditionFalse) {
			e.addMessage(c.message)
		}
	}
	finalizer := textAt(e.obj, "metadata", "finalizers")
	if finalizer == "" {
		finalizer = textAt(e.obj, "spec", "finalizers")
	}
	if finalizer == "" {
		return
	}
	e.addMessage("blocked by finalizer " + finalizer)
	since, err := time.Parse(time.RFC3339, removed)
	// The agent compares with Before: the first instant after the timeout counts.
	if err == nil && e.reached(since.Truncate(time.Second).Add(removalTimeout).Add(time.Nanosecond)) {
		e.err = true
	}
}

// loadBalancer is rule 9: a Service of that type without an address, which for
// kstatus is current as soon as it has a cluster address. The rule ignores the
// group.
func (e *evaluation) loadBalancer() {
	const serviceType = "LoadBalancer"
	if e.state != stateActive && e.state != "" || textAt(e.obj, "kind") != "Service" {
		return
	}
	if textAt(e.obj, "spec", "type") != serviceType && textAt(e.obj, "spec", "serviceKind") != serviceType {
		return
	}
	if len(listAt(e.obj, "status", "loadBalancer", "ingress")) == 0 {
		e.state = "pending"
		e.transitioning = true
		e.addMessage("no address assigned to the load balancer yet")
	}
}

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
