// SPDX-License-Identifier: Apache-2.0

package health

import (
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/cli-utils/pkg/kstatus/status"
)

// opinion is what kstatus makes of an object; the zero value where it refuses
// to say.
type opinion struct {
	status  status.Status
	message string
	// reason and detail are those of the standard condition that kstatus
	// derives. If it derived it from one of the object's own, they are that
	// one's reason and message.
	reason, detail string
}

// kstatusState is rule 8: only an object that nothing has named yet.
func (j *judgement) kstatusState() {
	// Objects of Rancher's older API have a type that is a path. (So may a
	// Secret, which then is named "active" by default.)
	if j.state != "" || strings.HasPrefix(textAt(j.obj, "type"), "/") {
		return
	}
	o := j.kstatus()
	switch o.status {
	case status.InProgressStatus:
		j.state = "in-progress"
	case status.FailedStatus:
		j.state = "failed"
	case status.CurrentStatus:
		j.state = stateActive
	case status.TerminatingStatus:
		j.state = "removing"
	default:
		return
	}
	j.say(o.message)
}

// kstatusFlags is rule 11, and the flags of rule 8, which asks the same
// question of the same object: kstatus has the last word on every object,
// whatever it calls itself.
func (j *judgement) kstatusFlags() {
	o := j.kstatus()
	switch o.status {
	case status.InProgressStatus, status.TerminatingStatus:
		j.transitioning = true
	case status.FailedStatus:
		j.err = true
	}
	if j.decided == (Condition{}) {
		j.decided = j.origin(o)
	}
	j.say(withoutRepeats(o.message))
}

// origin returns the object's own condition from which kstatus derived its
// opinion, the zero value if it counted instead.
func (j *judgement) origin(o opinion) Condition {
	if o.reason == "" && o.detail == "" {
		return Condition{}
	}
	i := slices.IndexFunc(j.conditions, func(c condition) bool {
		return c.Reason == strings.TrimSpace(o.reason) && c.message == strings.TrimSpace(o.detail)
	})
	if i < 0 {
		return Condition{}
	}
	return j.conditions[i].Condition
}

// withoutRepeats drops the repeated parts of a message that is a list: some
// controllers repeat one sentence for each of many children.
func withoutRepeats(message string) string {
	const separator = "; "
	if !strings.Contains(message, separator) {
		return message
	}
	parts := strings.Split(message, separator)
	seen := make(map[string]struct{}, len(parts))
	parts = slices.DeleteFunc(parts, func(part string) bool {
		_, again := seen[part]
		seen[part] = struct{}{}
		return again
	})
	return strings.Join(parts, separator)
}

// kstatus asks kstatus once and remembers.
func (j *judgement) kstatus() opinion {
	if !j.opinionHeld {
		j.opinion, j.opinionHeld = ask(atTime(j.obj, j.now)), true
	}
	return j.opinion
}

// ask returns the opinion of kstatus on an object. Its Pod rule asserts types
// that only a real API server guarantees, and a snapshot is not one: a panic is
// a refusal to say, like an error.
func ask(obj map[string]any) (o opinion) {
	defer func() {
		if recover() != nil {
			o = opinion{}
		}
	}()
	u := &unstructured.Unstructured{Object: obj}
	compute := status.Compute
	if isPlain(obj) {
		if compute = status.GetLegacyConditionsFn(u); compute == nil {
			return opinion{status: status.CurrentStatus, message: currentMessage}
		}
	}
	result, err := compute(u)
	if err != nil {
		return opinion{}
	}
	o = opinion{status: result.Status, message: result.Message}
	if len(result.Conditions) > 0 {
		o.reason, o.detail = result.Conditions[0].Reason, result.Conditions[0].Message
	}
	return o
}

// currentMessage is what kstatus says of an object that nothing speaks against.
const currentMessage = "Resource is current"

// isPlain says that kstatus would find nothing in what all kinds have in common
// (deletion, generations, conditions), so that only the kind's own rule, where
// it has one, is left to ask. That is most objects of a cluster, and it saves
// them kstatus's conversion by reflection. It may say no too often, never yes.
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

// distantFuture is a creation time that is younger than any clock's now.
const distantFuture = "9999-12-31T23:59:59Z"

// atTime returns an object of which kstatus says now what it would have said at
// the given time. kstatus looks at the clock for one thing: whether a Pod that
// cannot be scheduled is young enough to be given time. So a pending Pod gets a
// creation time that answers that question the same way for ever.
func atTime(obj map[string]any, now time.Time) map[string]any {
	if obj["kind"] != "Pod" || field(obj, "status", "phase") != "Pending" {
		return obj
	}
	metadata := maps.Clone(mapAt(obj, "metadata"))
	stamp, _ := metadata["creationTimestamp"].(string)
	created, err := time.Parse(time.RFC3339, stamp)
	if err != nil {
		return obj
	}
	if now.Add(-status.ScheduleWindow).Before(created) {
		metadata["creationTimestamp"] = distantFuture
	} else {
		delete(metadata, "creationTimestamp")
	}
	obj = maps.Clone(obj)
	obj["metadata"] = metadata
	return obj
}
