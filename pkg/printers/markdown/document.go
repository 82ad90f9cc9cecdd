// SPDX-License-Identifier: Apache-2.0

package markdown

import (
	"fmt"
	"strings"
)

// Limit is the greatest length of a document in bytes. GitHub accepts 65,536 characters in an issue or a comment.
const Limit = 60_000

// share is the length that a table or a list may have, so that the other parts have room.
const share = Limit / 8

// document is a document with a limited length.
type document struct{ b strings.Builder }

func (d *document) add(lines ...string) {
	for _, line := range lines {
		d.b.WriteString(line + "\n")
	}
}

// fits reports whether a text can be added.
func (d *document) fits(s string) bool { return d.b.Len()+len(s) <= Limit }

// table adds a table with as many rows as fit. more says what the other rows are.
func (d *document) table(header []string, rows [][]string, more string) {
	lines := make([]string, len(rows))
	for i, row := range rows {
		for _, c := range row {
			lines[i] += "| " + cell(c) + " "
		}
		lines[i] += "|"
	}
	d.add("| "+strings.Join(header, " | ")+" |", strings.Repeat("| --- ", len(header))+"|")
	left := d.some(lines, share)
	d.add("")
	if left > 0 {
		d.add(fmt.Sprintf("… and %d more %s.", left, more), "")
	}
}

// some adds the lines that fit into a length, and returns the number of the others.
func (d *document) some(lines []string, length int) (left int) {
	begin := d.b.Len()
	for _, line := range lines {
		if d.b.Len()-begin+len(line) > length {
			left++
			continue
		}
		d.add(line)
	}
	return left
}
