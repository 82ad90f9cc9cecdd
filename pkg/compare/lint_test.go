// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"testing"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
)

// TestInvalid checks which rules have a part without effect.
func TestInvalid(t *testing.T) {
	for _, tc := range []struct {
		name    string
		rule    Rule
		invalid bool
	}{
		{"pointers", Rule{APIVersion: "apps/v1", Kind: "Deploy*", JSONPointers: []string{"/spec"}}, false},
		{"a pattern", Rule{APIVersion: "v1", Kind: "Config[", JSONPointers: []string{"/data"}}, true},
		{"a pattern without pointers", Rule{APIVersion: "v1", Kind: "Config[",
			Operations: []Operation{{Op: "remove", Path: "/data"}}}, false},
		{"an unknown operation", Rule{Operations: []Operation{{Op: "delete", Path: "/data"}}}, true},
		{"ignore", Rule{Name: "a.*", Operations: []Operation{{Op: "ignore"}}}, false},
		{"ignore with a bad expression", Rule{Name: "a(", Operations: []Operation{{Op: "ignore"}}}, true},
		{"no operation", Rule{Name: "a("}, false},
	} {
		if got := Invalid(tc.rule); (got != "") != tc.invalid {
			t.Errorf("%s: %q", tc.name, got)
		}
	}
}

// TestVoided checks which operation voids the others. Operations that depend on each other succeed together.
func TestVoided(t *testing.T) {
	ref := object.Ref{APIVersion: "v1", Kind: "ConfigMap", Namespace: "web", Name: "a"}
	content := map[string]any{"data": map[string]any{"a": "1", "b": "2"}}
	rule := func(paths ...string) Rule {
		r := Rule{APIVersion: "v1", Kind: "ConfigMap", Namespace: "web", Name: "a"}
		for _, p := range paths {
			r.Operations = append(r.Operations, Operation{Op: "remove", Path: p})
		}
		return r
	}
	for _, tc := range []struct {
		name  string
		rules []Rule
		want  string
	}{
		{"one operation", []Rule{rule("/data/missing")}, ""},
		{"all succeed", []Rule{rule("/data/a", "/data/b")}, ""},
		{"none succeeds", []Rule{rule("/data/x", "/data/y")}, ""},
		{"one fails", []Rule{rule("/data/a", "/data/missing")}, "/data/missing"},
		{"one of another rule fails", []Rule{rule("/data/missing"), rule("/data/a")}, "/data/missing"},
		{"a pointer removes the field", []Rule{{APIVersion: "v1", Kind: "*", JSONPointers: []string{"/data/a"}},
			rule("/data/a", "/data/b")}, "/data/a"},
	} {
		got, ok := Voided(tc.rules, ref, content)
		if ok != (tc.want != "") || ok && got.Path != tc.want {
			t.Errorf("%s: %q %v, want %q", tc.name, got.Path, ok, tc.want)
		}
	}
	if data, ok := content["data"].(map[string]any); !ok || len(data) != 2 {
		t.Error("the content was changed")
	}
}
