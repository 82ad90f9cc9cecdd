// SPDX-License-Identifier: Apache-2.0

package mcp

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// TestShortened checks where a text is cut, and its last line.
func TestShortened(t *testing.T) {
	const narrower = "name fewer objects"
	for _, tc := range []struct {
		name, text string
		limit      int
		want       string
	}{
		{"empty", "", 10, ""},
		{"exact", "a\nb\n", 4, "a\nb\n"},
		{"lines", "first\nsecond\nthird\n", 14,
			"first\nsecond\n… 1 of 1 KiB are left out. To get less, name fewer objects.\n"},
		{"the limit after a line", "first\nsecond\n", 6,
			"first\n… 1 of 1 KiB are left out. To get less, name fewer objects.\n"},
		{"one long line", strings.Repeat("a", 5000), 10,
			"aaaaaaaaaa\n… 5 of 5 KiB are left out. To get less, name fewer objects.\n"},
		{"in a character", "ééé\n", 3,
			"é\n… 1 of 1 KiB are left out. To get less, name fewer objects.\n"},
	} {
		got := shortened(tc.text, tc.limit, narrower)
		if got != tc.want || !utf8.ValidString(got) {
			t.Errorf("%s: %q, want %q", tc.name, got, tc.want)
		}
	}
}
