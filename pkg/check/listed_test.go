// SPDX-License-Identifier: Apache-2.0

package check

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestPatched checks which fields a patch names, and that it names no value.
func TestPatched(t *testing.T) {
	deep := strings.Repeat(`{"abcdefghij":`, 5000) + `{"k":1}` + strings.Repeat("}", 5000)
	for patch, want := range map[string][]string{
		"":                                   nil,
		"{}":                                 nil,
		"null":                               nil,
		`"text"`:                             nil,
		`{"data":{"password":"invented"`:     nil,
		`{"data":{"b":"invented","a":null}}`: {".data.a", ".data.b"},
		`{"spec":{"ports":[{"port":80}],"selector":{}}}`:       {".spec.ports", ".spec.selector"},
		`{"metadata":{"annotations":{"example.com/a.b":"x"}}}`: {".metadata.annotations.example.com/a.b"},
		deep: {strings.Repeat(".abcdefghij", 20)},
	} {
		if diff := cmp.Diff(want, patched(patch)); diff != "" {
			t.Errorf("%.60s (-want +got):\n%s", patch, diff)
		}
	}
}
