// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"encoding/json"
	"strings"
)

// IsBinding reports whether a ClusterRoleBinding of this name states the namespace of an auditor or a webhook.
func IsBinding(name string) bool { return name == binding || name == webhookBinding }

// Captured returns the data of a ConfigMap that a snapshot keeps: the lines of a journal, or of what a webhook saw,
// with their fields and nothing else. It is nil for every other ConfigMap.
func Captured(name string, isJournal bool, data map[string]any) map[string]any {
	switch {
	case name == SeenName:
		return map[string]any{SeenKey: encodeLines(DecodeSeen(text(data, SeenKey)))}
	case isJournal:
		entries, _ := Decode(text(data, Key))
		return map[string]any{Key: encodeLines(entries)}
	}
	return nil
}

func text(data map[string]any, key string) string {
	s, _ := data[key].(string)
	return s
}

// encodeLines encodes one JSON document in each line.
func encodeLines[T any](of []T) string {
	var out strings.Builder
	encoder := json.NewEncoder(&out)
	for _, x := range of {
		_ = encoder.Encode(x) // encoding these types does not fail
	}
	return out.String()
}
