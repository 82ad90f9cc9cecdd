// SPDX-License-Identifier: Apache-2.0

package printers

import (
	"fmt"
	"strings"
)

// Wrapped returns a text in lines of this width.
func Wrapped(s string, columns int) string {
	return strings.Join(text{Options: Options{Width: columns}}.lines(s, 0, len(gap)), "\n"+gap) + "\n"
}

// Cut returns the beginning of a line that fits in columns.
func Cut(s string, columns int) string { return cut(s, columns) }

// Page returns the first lines of a text that fit on a terminal. If not all fit, the last line of the page counts the
// others.
func Page(s string, columns, rows int) string { return page(s, columns, rows, "more line") }

// page does what Page does. noun is what a line is called.
func page(s string, columns, rows int, noun string) string {
	lines := strings.Split(strings.TrimSuffix(s, "\n"), "\n")
	total := 0
	for _, line := range lines {
		total += height(line, columns)
	}
	if total <= rows {
		return s
	}
	fit, used := 0, 1 // the last line
	for used+height(lines[fit], columns) <= rows {
		used += height(lines[fit], columns)
		fit++
	}
	return strings.Join(append(lines[:fit:fit], fmt.Sprintf("… and %s", plural(len(lines)-fit, noun))), "\n") + "\n"
}

// height is the number of lines that a terminal breaks a line into.
func height(line string, columns int) int { return max(1, (span(line)+columns-1)/columns) }

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
