// SPDX-License-Identifier: Apache-2.0

// Package agentconfig predicts whether the controller imports an agent again, and evaluates heartbeats. An import
// deletes the objects of the agent on its cluster, installs new ones, and the agent registers again. Source:
// docs/fleet-behavior.md, 7.2 to 7.6. All functions are pure.
package agentconfig

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// Hash is the hash that the controller records of a value: the SHA-224 of its JSON in hexadecimal. Source:
// docs/fleet-behavior.md, 7.2.
func Hash(v any) (string, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum224(b)
	return hex.EncodeToString(sum[:]), nil
}

// HashCA is the hash of a CA bundle. It differs between nil, a key that is absent, and an empty bundle.
func HashCA(ca []byte) string {
	hash, _ := Hash(ca) // bytes always have a JSON form
	return hash
}

// The types of the settings that are hashed, as the controller decodes them. The order of their fields is part of the
// hash.
type (
	schedulingCustomization struct {
		PriorityClass *struct {
			Value            int                      `json:"value,omitempty"`
			PreemptionPolicy *corev1.PreemptionPolicy `json:"preemptionPolicy,omitempty"`
		} `json:"priorityClass,omitempty"`
		PodDisruptionBudget *struct {
			MinAvailable   string `json:"minAvailable,omitempty"`
			MaxUnavailable string `json:"maxUnavailable,omitempty"`
		} `json:"podDisruptionBudget,omitempty"`
	}
)

// hashList hashes a list, and returns "" for an empty one. sorted is the hash of the list in the given order.
func hashList[T any](raw json.RawMessage, order func(x, y T) int) (hash, sorted string, err error) {
	var list []T
	if len(raw) > 0 {
		err = json.Unmarshal(raw, &list)
	}
	if err != nil || len(list) == 0 {
		return "", "", err
	}
	if hash, err = Hash(list); err != nil || order == nil {
		return hash, hash, err
	}
	slices.SortStableFunc(list, order)
	sorted, err = Hash(list)
	return hash, sorted, err
}

// hashStruct hashes a struct, and returns "" for null.
func hashStruct[T any](raw json.RawMessage) (string, error) {
	if len(raw) == 0 || bytes.Equal(bytes.TrimSpace(raw), []byte("null")) {
		return "", nil
	}
	v := new(T)
	if err := json.Unmarshal(raw, v); err != nil {
		return "", err
	}
	return Hash(v)
}

// byKey is the order in which the controller sorts tolerations when it makes the manifest of an agent.
func byKey(x, y corev1.Toleration) int {
	seconds := func(t corev1.Toleration) int64 {
		if t.TolerationSeconds == nil {
			return -1 << 63
		}
		return *t.TolerationSeconds
	}
	return cmp.Or(cmp.Compare(x.Key, y.Key), cmp.Compare(x.Value, y.Value), cmp.Compare(x.Operator, y.Operator),
		cmp.Compare(x.Effect, y.Effect),
		cmp.Compare(seconds(x), seconds(y)))
}
