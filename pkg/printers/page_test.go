// SPDX-License-Identifier: Apache-2.0

package printers_test

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/printers"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

// TestPage checks that a page has at most the rows of the terminal, with lines that the terminal breaks, and that it
// counts the lines that are left out.
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
		{"\x1b[31m" + strings.Repeat("店", 5) + "\x1b[0m\nb\n", 10, 2, "\x1b[31m" + strings.Repeat("店", 5) +
			"\x1b[0m\nb\n"},
		{long + "\n", 10, 1, "… and 1 more line\n"},
	} {
		if got := printers.Page(tc.text, tc.columns, tc.rows); got != tc.want {
			t.Errorf("%q on %d × %d: %q, want %q", tc.text, tc.columns, tc.rows, got, tc.want)
		}
	}
	const before, after = "NAME  READY\n├─ a  1/1\n└─ b  1/1\n… and 2 more lines\n", "NAME    READY  STATE\n├─ a    " +
		"1/1\n├─ b    0/1\n└─ new  1/1\n\n… and 3 more lines\n"
	want := "  NAME    READY  STATE\n  ├─ a    1/1\n* ├─ b    0/1\n* └─ new  1/1\n\n  … and 3 more lines\n"
	if got := printers.Marked(before, after); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := printers.Wrapped(strings.Repeat("word ", 20), 60); got != strings.TrimSuffix(strings.Repeat("word ", 12),
		" ")+"\n  "+strings.TrimSuffix(strings.Repeat("word ", 8), " ")+"\n" {
		t.Errorf("%q", got)
	}
}

// screens checks that an audit fits a screen of any size, with the totals on top, and that the table and the
// findings share the rest.
func screens(t *testing.T, p *people) {
	t.Helper()
	all := map[string]*report.Audit{"sick": sample(t, "sick"), "many": many(), "large": large(),
		"clean": sample(t, "clean")}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		for _, rows := range []int{12, 21, 60} {
			got := show(t, all[name], "table", printers.Options{Width: 78, Rows: rows, Redrawn: true})
			if rows == 21 {
				p.Add("screen of "+name, got)
			}
			if n := strings.Count(got, "\n"); n > rows {
				t.Errorf("%s: %d lines on a screen of %d:\n%s", name, n, rows, got)
			}
			for line := range strings.Lines(got) {
				if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > 78 {
					t.Errorf("%s: %d columns: %s", name, n, line)
				}
			}
		}
	}
}
