// SPDX-License-Identifier: Apache-2.0

package health

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Values that the rules both set and read.
const (
	stateActive      = "active"
	stateError       = "error"
	stateUnavailable = "unavailable"

	conditionReady   = "Ready"
	conditionTrue    = "True"
	conditionFalse   = "False"
	conditionUnknown = "Unknown"
)

// errorStatus lists, per exact group, version and kind, the status in which a
// condition type is an error (rule 2). For a kind that is listed,
// defaultErrorStatus does not apply: a Deployment's Failed condition is ignored.
var errorStatus = map[schema.GroupVersionKind]map[string]string{
	{Group: "helm.cattle.io", Version: "v1", Kind: "HelmChart"}: {
		"Failed": conditionTrue,
	},
	{Version: "v1", Kind: "Node"}: {
		"OutOfDisk":          conditionTrue,
		"MemoryPressure":     conditionTrue,
		"DiskPressure":       conditionTrue,
		"NetworkUnavailable": conditionTrue,
	},
	{Group: "apps", Version: "v1", Kind: "Deployment"}: {
		"ReplicaFailure": conditionTrue,
		"Progressing":    conditionFalse,
	},
	{Group: "apps", Version: "v1", Kind: "ReplicaSet"}: {
		"ReplicaFailure": conditionTrue,
	},
}

// defaultErrorStatus is errorStatus for every kind that is not in it.
var defaultErrorStatus = map[string]string{
	"Stalled": conditionTrue,
	"Failed":  conditionTrue,
}

// reasonError makes a condition of any type and status an error (rule 2).
const reasonError = "Error"

// falseIsError lists the condition types of rule 3(a), with the state of the
// object: False is an error, Unknown is work in progress.
var falseIsError = map[string]string{
	"AbleToScale":                 "pending",
	"Active":                      "activating",
	"AddonDeploy":                 "provisioning",
	"AgentDeployed":               "provisioning",
	"BackingNamespaceCreated":     "configuring",
	"Built":                       "building",
	"CertsGenerated":              "provisioning",
	"ConfigOK":                    "configuring",
	"Created":                     "creating",
	"CreatorMadeOwner":            "configuring",
	"DefaultNamespaceAssigned":    "configuring",
	"DefaultNetworkPolicyCreated": "configuring",
	"DefaultProjectCreated":       "configuring",
	"Deployed":                    "deploying",
	"DockerProvisioned":           "provisioning",
	"Downloaded":                  "downloading",
	"Drained":                     "draining",
	"Inactive":                    "deactivating",
	"InitialRolesPopulated":       "activating",
	"Initialized":                 "initializing",
	"Installed":                   "installing",
	"NodesCreated":                "provisioning",
	"Pending":                     "pending",
	"PodScheduled":                "scheduling",
	"Processed":                   "processed",
	"Provisioned":                 "provisioning",
	"Reconciled":                  "reconciling",
	"Refreshed":                   "refreshed",
	"Registered":                  "registering",
	"Removed":                     "removing",
	"RunCompleted":                "running",
	"Saved":                       "saving",
	"ScalingActive":               "pending",
	"Updated":                     "updating",
	"Updating":                    "updating",
	"Upgraded":                    "upgrading",
	"Waiting":                     "waiting",
	"etcd":                        "provisioning",
}

// trueIsProgress lists the condition types of rule 3(b): True is work in
// progress.
var trueIsProgress = map[string]string{
	"Reconciling": "reconciling",
}

// reasonIsState, in place of a state, means that the condition's reason is the
// state, which can be empty.
const reasonIsState = ""

// falseIsProgress lists the condition types of rule 3(c): False is work in
// progress, Unknown is an error.
var falseIsProgress = map[string]string{
	"Available":           "updating",
	"BootstrapReady":      reasonIsState,
	"Completed":           "activating",
	"InfrastructureReady": reasonIsState,
	"NodeHealthy":         reasonIsState,
	conditionReady:        stateUnavailable,
}

// phaseIsFinal lists the phases of rule 5 that override the result of the
// previous rules, with their state.
var phaseIsFinal = map[string]string{
	"Bound":     "bound",
	"Succeeded": "succeeded",
}

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

// The agent reads fields leniently: a field is empty if it is missing or if its
// parent is not a map; a scalar of any type is converted to text; of a list the
// first element is read. The accessors here do the same, so that
// `spec.active: true` and `spec.active: "true"` are equal.

// field returns the value at a path, nil if it is missing.
func field(m map[string]any, path ...string) any {
	last := len(path) - 1
	for _, key := range path[:last] {
		m, _ = m[key].(map[string]any)
	}
	return m[path[last]]
}

// mapAt returns the map at a path, nil if it is missing.
func mapAt(m map[string]any, path ...string) map[string]any {
	found, _ := field(m, path...).(map[string]any)
	return found
}

// listAt returns the list at a path, nil if it is missing.
func listAt(m map[string]any, path ...string) []any {
	found, _ := field(m, path...).([]any)
	return found
}

// textAt returns the textual form of the value at a path.
func textAt(m map[string]any, path ...string) string {
	return text(field(m, path...))
}

// text returns the trimmed textual form of a value, "" for none. Of a list it is
// that of the first element.
func text(v any) string {
	if list, ok := v.([]any); ok {
		v = nil
		if len(list) > 0 {
			v = list[0]
		}
	}
	if v == nil {
		return ""
	}
	return strings.TrimSpace(fmt.Sprint(v))
}

// isTrue reports whether a value is true, or a word for it.
func isTrue(v any) bool {
	return slices.Contains([]string{"true", "t", "yes", "y"}, strings.ToLower(text(v)))
}
