// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"bytes"
	"testing"
	"unicode/utf8"
)

// TestParagraphs checks the width of text on terminals of several widths.
func TestParagraphs(t *testing.T) {
	for columns, want := range map[int]int{0: 80, 40: 60, 100: 100, 200: 120} {
		var b bytes.Buffer
		(&options{columns: columns}).wrap(&b, "head  ", string(bytes.Repeat([]byte("größe "), 60)))
		longest := 0
		for line := range bytes.Lines(b.Bytes()) {
			longest = max(longest, utf8.RuneCount(bytes.TrimSuffix(line, []byte("\n"))))
		}
		if longest > want || longest <= want-6 {
			t.Errorf("%d columns: the longest line has %d, want at most %d", columns, longest, want)
		}
	}
}
