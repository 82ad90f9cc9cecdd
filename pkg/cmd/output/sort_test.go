// SPDX-License-Identifier: Apache-2.0

package output

import (
	"strings"
	"testing"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/cli"
)

// sortable is a row with fields of several types.
type sortable struct {
	Name string         `json:"name"`
	N    *int           `json:"n,omitempty"`
	Of   map[string]any `json:"of,omitempty"`
}

// TestSort checks the order of numbers, of texts with numbers, and of rows without the field.
func TestSort(t *testing.T) {
	n := func(i int) *int { return &i }
	for path, want := range map[string]string{
		"name": "a2 a10 b1 c", "{.name}": "a2 a10 b1 c", ".n": "c b1 a10 a2", "of.deep": "c a2 a10 b1",
		"{.of.mixed}": "b1 c a10 a2", "": "b1 a10 c a2",
	} {
		rows := []sortable{
			{"b1", n(3), map[string]any{"deep": "z"}},
			{"a10", n(3), map[string]any{"deep": "y", "mixed": 1}},
			{"c", nil, nil},
			{"a2", n(20), map[string]any{"deep": "x", "mixed": "1"}},
		}
		if err := Sort(&PrintFlags{sortBy: path}, rows); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, row := range rows {
			got = append(got, row.Name)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%q: %q, want %q", path, got, want)
		}
	}
}

// TestWrongSort checks that a wrong expression, an absent field and a field with an object are usage errors that name
// the expression.
func TestWrongSort(t *testing.T) {
	rows := []sortable{{Name: "a", Of: map[string]any{"deep": "z"}}}
	for _, path := range []string{"absent", "of", "{.a[}"} {
		if err := Sort(&PrintFlags{sortBy: path}, rows); cli.ExitStatus(err) == cli.ExitOK ||
			!strings.Contains(err.Error(),
				path) {
			t.Errorf("%q: %v", path, err)
		}
	}
	if _, err := printed(t, "--sort-by", "{.a[}"); cli.ExitStatus(err) != cli.ExitUsage ||
		!strings.Contains(err.Error(),
			"{.a[}") {
		t.Errorf("a malformed expression: %v", err)
	}
	if err := Sort(&PrintFlags{sortBy: "absent"}, []sortable{}); err != nil {
		t.Errorf("no rows: %v", err)
	}
}
