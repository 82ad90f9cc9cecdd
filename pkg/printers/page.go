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

// Page returns the first lines of a text that fit on a terminal. If not all fit, the last line of the page counts the others.
func Page(s string, columns, rows int) string {
	lines := strings.Split(strings.TrimSuffix(s, "\n"), "\n")
	height := func(line string) int { return max(1, (span(line)+columns-1)/columns) } // a terminal breaks long lines
	total := 0
	for _, line := range lines {
		total += height(line)
	}
	if total <= rows {
		return s
	}
	fit, used := 0, 1 // the last line
	for used+height(lines[fit]) <= rows {
		used += height(lines[fit])
		fit++
	}
	return strings.Join(append(lines[:fit:fit], fmt.Sprintf("… and %s", plural(len(lines)-fit, "more line"))), "\n") + "\n"
}
