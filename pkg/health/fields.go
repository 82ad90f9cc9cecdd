// SPDX-License-Identifier: Apache-2.0

package health

import (
	"fmt"
	"slices"
	"strings"
)

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
