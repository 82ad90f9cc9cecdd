// SPDX-License-Identifier: Apache-2.0

package printers_test

import (
	"strings"
	"testing"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/printers"
)

// TestPage checks that a page has at most the rows of the terminal, with lines that the terminal breaks, and that it counts the lines that are left out.
func TestPage(t *testing.T) {
	long := strings.Repeat("x", 25)
	for _, tc := range []struct {
		text          string
		columns, rows int
		want          string
	}{
		{"a\nb\n", 10, 2, "a\nb\n"},
		{"a\nb\nc\n", 10, 2, "a\n… and 2 more lines\n"},
		{"a\n" + long + "\nc\n", 10, 5, "a\n" + long + "\nc\n"},
		{"a\n" + long + "\nc\n", 10, 4, "a\n… and 2 more lines\n"},
		{"\x1b[31m" + strings.Repeat("店", 5) + "\x1b[0m\nb\n", 10, 2, "\x1b[31m" + strings.Repeat("店", 5) + "\x1b[0m\nb\n"},
		{long + "\n", 10, 1, "… and 1 more line\n"},
	} {
		if got := printers.Page(tc.text, tc.columns, tc.rows); got != tc.want {
			t.Errorf("%q on %d × %d: %q, want %q", tc.text, tc.columns, tc.rows, got, tc.want)
		}
	}
	if got := printers.Wrapped(strings.Repeat("word ", 20), 60); got != strings.TrimSuffix(strings.Repeat("word ", 12), " ")+"\n  "+strings.TrimSuffix(strings.Repeat("word ", 8), " ")+"\n" {
		t.Errorf("%q", got)
	}
}
