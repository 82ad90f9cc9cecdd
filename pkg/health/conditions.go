// SPDX-License-Identifier: Apache-2.0

package health

import (
	"encoding/json"
	"maps"
	"slices"
)

// statusAnnotation holds, as JSON, a second status whose conditions count like
// the object's own: Rancher puts it on objects that have none, such as a
// Namespace.
const statusAnnotation = "cattle.io/status"

// condition is one entry of status.conditions as the rules read it.
type condition struct {
	Condition
	message string
}

// conditionsOf returns the object's conditions, then those of its status
// annotation. An entry that is no map counts as a condition without type, as it
// does for the agent; an annotation that is no JSON object counts for nothing.
func conditionsOf(obj map[string]any) []condition {
	raw := listAt(obj, "status", "conditions")
	if annotated := textAt(obj, "metadata", "annotations", statusAnnotation); annotated != "" {
		var status map[string]any
		if err := json.Unmarshal([]byte(annotated), &status); err == nil {
			raw = slices.Concat(raw, listAt(status, "conditions"))
		}
	}
	if len(raw) == 0 {
		return nil
	}
	conditions := make([]condition, len(raw))
	for i, entry := range raw {
		m, _ := entry.(map[string]any)
		conditions[i] = condition{
			Condition: Condition{
				Type:   text(m["type"]),
				Status: text(m["status"]),
				Reason: text(m["reason"]),
			},
			message: text(m["message"]),
		}
	}
	return conditions
}

// withoutIgnored returns the object without the status.conditions entries that
// the bundle ignores ("Drift" 3.3). It copies only the maps on the way there,
// and nothing where nothing is removed. (The agent leaves an empty list even
// where there was none, which shows only in rule 6, on objects that carry a
// field no API server keeps.) A single entry that is no map keeps the agent
// from removing any.
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

// contains says whether a condition has all the pairs, as exactly equal
// strings. An empty map of pairs is contained in every condition.
func contains(entry map[string]any, pairs map[string]string) bool {
	for key, want := range pairs {
		if got, ok := entry[key].(string); !ok || got != want {
			return false
		}
	}
	return true
}
