// SPDX-License-Identifier: Apache-2.0

package printers

import (
	"strings"
	"testing"

	"github.com/olekukonko/tablewriter/pkg/twwidth"
)

// TestLines holds that a line ends where a terminal's does: characters of East Asia take two columns, those that combine none.
func TestLines(t *testing.T) {
	for name, tc := range map[string]struct {
		word    string
		columns int
	}{
		"latin": {"letters", 7}, "wide": {"文字列", 6}, "combining": {"e\u0301e\u0301e\u0301", 3},
	} {
		word := tc.word
		got := lines(strings.Repeat(word+" ", 100), 17, 10)
		if strings.Join(got, " ") != strings.TrimSpace(strings.Repeat(word+" ", 100)) {
			t.Errorf("%s: words were lost: %q", name, got)
		}
		for i, line := range got[:len(got)-1] { // the last is as long as it happens to be
			at := 10
			if i == 0 {
				at = 17
			}
			end := at + twwidth.WidthWithOptions(line, twwidth.Options{})
			if next := end + 1 + tc.columns; end > width || next <= width {
				t.Errorf("%s: line %d ends at column %d of %d, with the next word at %d", name, i, end, width, next)
			}
		}
	}
}

// TestShort holds that a name is cut down to columns.
func TestShort(t *testing.T) {
	for in, want := range map[string]string{"12345": "12345", "123456": "1234…", "文字列": "文字…", "文字": "文字"} {
		if got := short(in, 5); got != want {
			t.Errorf("%s: %q, want %q", in, got, want)
		}
	}
}
