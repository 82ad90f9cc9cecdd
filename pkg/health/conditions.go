// SPDX-License-Identifier: Apache-2.0

package health

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// Condition names one entry of an object's status.conditions.
type Condition struct {
	Type, Status, Reason string
}

// String returns "Type=Status (Reason)", without empty parts; "" for the zero
// value.
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

// statusAnnotation contains, as JSON, a second status. Its conditions count like
// those of the object: Rancher sets it on objects without conditions, such as a
// Namespace.
const statusAnnotation = "cattle.io/status"

// condition is one entry of status.conditions as the rules read it.
type condition struct {
	Condition
	message string
}

// conditionsOf returns the object's conditions, then those of its status
// annotation. An entry that is not a map is a condition without type, as for
// the agent; an annotation that is not a JSON object is ignored.
func conditionsOf(obj map[string]any) []condition {
	raw := listAt(obj, "status", "conditions")
	if annotated := textAt(obj, "metadata", "annotations", statusAnnotation); annotated != "" {
		var status map[string]any
		if err := json.Unmarshal([]byte(annotated), &status); err == nil {
			raw = slices.Concat(raw, listAt(status, "conditions"))
		}
	}
	conditions := make([]condition, len(raw))
	for i, entry := range raw {
		m, _ := entry.(map[string]any)
		conditions[i] = condition{Condition{Type: text(m["type"]), Status: text(m["status"]),
			Reason: text(m["reason"])}, text(m["message"])}
	}
	return conditions
}

// withoutIgnored returns the object without the status.conditions entries that
// the bundle ignores (docs/fleet-behavior.md, 3.3). It copies only the maps on
// the path to them, and none if nothing is removed. (The agent adds an empty list
// if there was no list, which has an effect only in rule 6, on objects with a
// field that no API server stores.) If one entry is not a map, the agent removes
// none.
func withoutIgnored(obj map[string]any, ignore []map[string]string) map[string]any {
	if len(ignore) == 0 {
		return obj
	}
	conditions := listAt(obj, "status", "conditions")
	kept := make([]any, 0, len(conditions))
	for _, entry := range conditions {
		m, ok := entry.(map[string]any)
		if !ok {
			return obj
		}
		if !slices.ContainsFunc(ignore, func(pairs map[string]string) bool { return contains(m, pairs) }) {
			kept = append(kept, entry)
		}
	}
	if len(kept) == len(conditions) {
		return obj
	}
	status := maps.Clone(mapAt(obj, "status"))
	status["conditions"] = kept
	obj = maps.Clone(obj)
	obj["status"] = status
	return obj
}

// contains reports whether a condition has all the pairs, as exactly equal
// strings. Every condition contains an empty map of pairs.
func contains(entry map[string]any, pairs map[string]string) bool {
	for key, value := range pairs {
		if got, ok := entry[key].(string); !ok || got != value {
			return false
		}
	}
	return true
}
