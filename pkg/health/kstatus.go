// SPDX-License-Identifier: Apache-2.0

package health

import (
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/cli-utils/pkg/kstatus/status"
)

// kstatusState is rule 8: only for an object without a state yet.
func (e *evaluation) kstatusState() {
	// Objects of Rancher's older API have a path as type. (So may a Secret; its
	// state is then "active" by default.)
	if e.state != "" || strings.HasPrefix(textAt(e.obj, "type"), "/") {
		return
	}
	switch e.computed.status {
	case status.InProgressStatus:
		e.state = "in-progress"
	case status.FailedStatus:
		e.state = "failed"
	case status.CurrentStatus:
		e.state = stateActive
	case status.TerminatingStatus:
		e.state = "removing"
	default:
		return
	}
	e.addMessage(e.computed.message)
}

// kstatusFlags is rule 11, and sets the flags of rule 8, which uses the same
// result. kstatus has precedence for every object, in any state.
func (e *evaluation) kstatusFlags() {
	switch e.computed.status {
	case status.InProgressStatus, status.TerminatingStatus:
		e.transitioning = true
	case status.FailedStatus:
		e.err = true
	}
	if e.decided == (Condition{}) {
		e.decided = e.origin()
	}
	// Some controllers repeat one sentence for each child.
	const separator = "; "
	e.addMessage(strings.Join(distinct(strings.Split(e.computed.message, separator)), separator))
}

// origin returns the condition of the object from which kstatus derived its
// result; the zero value if it used replica counts instead.
func (e *evaluation) origin() Condition {
	reason, detail := strings.TrimSpace(e.computed.reason), strings.TrimSpace(e.computed.detail)
	for _, c := range e.conditions {
		if e.computed.reason+e.computed.detail != "" && c.Reason == reason && c.message == detail {
			return c.Condition
		}
	}
	return Condition{}
}

// compute returns the result of kstatus for an object. Its Pod rule asserts types
// that only an API server guarantees, but a snapshot does not: after a panic there
// is no result, as after an error.
func compute(obj map[string]any) (o computed) {
	defer func() {
		if recover() != nil {
			o = computed{}
		}
	}()
	u := &unstructured.Unstructured{Object: obj}
	rule := status.Compute
	if isPlain(obj) {
		if rule = status.GetLegacyConditionsFn(u); rule == nil {
			return computed{status: status.CurrentStatus, message: currentMessage}
		}
	}
	result, err := rule(u)
	if err != nil {
		return computed{}
	}
	o = computed{status: result.Status, message: result.Message}
	if len(result.Conditions) > 0 {
		o.reason, o.detail = result.Conditions[0].Reason, result.Conditions[0].Message
	}
	return o
}

// currentMessage is the message of kstatus for an object without any problem.
const currentMessage = "Resource is current"

// isPlain reports whether the rules of kstatus for all kinds (deletion,
// generations, conditions) do not apply, so that only the rule of the kind is
// left, if it has one. That is the case for most objects of a cluster, and avoids
// the conversion by reflection in kstatus. False negatives are allowed, false
// positives are not.
func isPlain(obj map[string]any) bool {
	metadata, ok := obj["metadata"].(map[string]any)
	if !ok {
		return false
	}
	if _, deleted := metadata["deletionTimestamp"]; deleted {
		return false
	}
	if generation, ok := metadata["generation"]; ok {
		if _, ok := generation.(int64); !ok {
			return false
		}
	}
	switch s := obj["status"].(type) {
	case nil:
		return true
	case map[string]any:
		_, hasConditions := s["conditions"]
		_, hasObserved := s["observedGeneration"]
		return !hasConditions && !hasObserved
	default:
		return false
	}
}

// distantFuture is a creation time that is later than the present of any clock.
const distantFuture = "9999-12-31T23:59:59Z"

// atTime returns an object for which kstatus computes now the result of the
// evaluation's time. kstatus reads the clock for one purpose: whether an
// unschedulable Pod is young enough to wait. So a pending Pod gets a creation time
// with which that result never changes.
func (e *evaluation) atTime() map[string]any {
	if e.obj["kind"] != "Pod" || field(e.obj, "status", "phase") != "Pending" {
		return e.obj
	}
	unschedulable := func(c condition) bool { return c.Reason == corev1.PodReasonUnschedulable }
	if !slices.ContainsFunc(e.conditions, unschedulable) {
		return e.obj
	}
	metadata := maps.Clone(mapAt(e.obj, "metadata"))
	timestamp, _ := metadata["creationTimestamp"].(string)
	created, err := time.Parse(time.RFC3339, timestamp)
	if err != nil {
		return e.obj
	}
	if e.reached(created.Add(status.ScheduleWindow)) {
		delete(metadata, "creationTimestamp")
	} else {
		metadata["creationTimestamp"] = distantFuture
	}
	obj := maps.Clone(e.obj)
	obj["metadata"] = metadata
	return obj
}

// evaluation is the state that the rules share during one evaluation.
type evaluation struct {
	obj        map[string]any
	now        time.Time
	conditions []condition

	state              string
	err, transitioning bool
	messages           []string

	decided        Condition
	decidedByError bool

	computed  computed // by kstatus
	lookAgain time.Time
}

// computed is the result of kstatus for an object; the zero value if it returns
// none.
type computed struct {
	status  status.Status
	message string
	// reason and detail are those of the standard condition that kstatus
	// derives. If it derived it from a condition of the object, they are the
	// reason and the message of that condition.
	reason, detail string
}

// reached reports whether a time is not in the future. Otherwise, the result can
// change at that time.
func (e *evaluation) reached(t time.Time) bool {
	if !t.After(e.now) {
		return true
	}
	if e.lookAgain.IsZero() || t.Before(e.lookAgain) {
		e.lookAgain = t
	}
	return false
}

// addMessage adds a message, trimmed, if it is not empty.
func (e *evaluation) addMessage(message string) {
	if message = strings.TrimSpace(message); message != "" {
		e.messages = append(e.messages, message)
	}
}

// fail records a condition that is an error.
func (e *evaluation) fail(c condition) {
	e.err = true
	e.addMessage(c.message)
	if !e.decidedByError {
		e.decided, e.decidedByError = c.Condition, true
	}
}

// progress records a condition for work in progress. It replaces neither an
// earlier one nor an error.
func (e *evaluation) progress(c condition) {
	e.transitioning = true
	e.addMessage(c.message)
	if e.decided == (Condition{}) {
		e.decided = c.Condition
	}
}

// distinct removes repeated texts. It reuses the slice.
func distinct(texts []string) []string {
	seen := make(map[string]bool, len(texts))
	return slices.DeleteFunc(texts, func(t string) bool {
		repeated := seen[t]
		seen[t] = true
		return repeated
	})
}
