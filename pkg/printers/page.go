// SPDX-License-Identifier: Apache-2.0

package printers

import (
	"strings"
)

// Wrapped returns a text in lines of this width.
func Wrapped(s string, columns int) string {
	p := paragraph{words: wordsOf(s), rest: len(gap)}
	return renderer{columns: max(columns, minWidth)}.text([]block{p})
}

// Cut returns the beginning of a line that fits in columns.
func Cut(s string, columns int) string { return cut(s, columns) }

// Page returns the first lines of a text that fit on a terminal. If not all fit, the last line of the page counts the
// others.
func Page(s string, columns, rows int) string {
	return strings.Join(page(linesOf(s), columns, rows, "more line"), "\n") + "\n"
}

// Marked returns a text in which the lines that are not in the text before begin with a mark, and the others with as
// many blanks. The width of columns and the lines of a tree may differ.
func Marked(before, s string) string {
	known := map[string]bool{}
	for line := range strings.Lines(before) {
		known[content(line)] = true
	}
	var out strings.Builder
	for line := range strings.Lines(s) {
		switch is := content(line); {
		case is == "":
		case known[is], before == "", strings.HasPrefix(is, "…"), is == strings.ToUpper(is): // a header
			line = gap + line
		default:
			line = Mark + line
		}
		out.WriteString(line)
	}
	return out.String()
}

// Mark begins a line that has changed.
const Mark = "* "

// content is a line without what only lays it out.
func content(line string) string {
	return strings.Join(strings.Fields(strings.TrimLeft(line, " │├└─")), " ")
}
