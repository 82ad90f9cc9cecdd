// SPDX-License-Identifier: Apache-2.0

package unified

import (
	"fmt"
	"strings"

	"github.com/aymanbagabas/go-udiff"
)

// Hunk is a part of a unified diff.
type Hunk struct {
	// Range are the lines of the two documents, such as "-1,2 +1,2".
	Range string
	// Line is the first line of the hunk in the first document.
	Line int
	// Difference is the index of the first difference in the hunk.
	Difference int
	Changes    []Change
}

// Change is one line of a hunk.
type Change struct {
	// Sign is '-' for a line of the first document, '+' for one of the second, and ' ' for one of both.
	Sign rune
	Text string
}

// Diff compares two documents. It returns no hunks for equal documents.
func Diff(from, to Document) []Hunk {
	content := from.String()
	u, err := udiff.ToUnifiedDiff("", "", content, udiff.Lines(content, to.String()), udiff.DefaultContextLines)
	if err != nil { // the edits do not fit the document: then all of it is replaced
		u, _ = udiff.ToUnifiedDiff("", "", content, []udiff.Edit{{End: len(content), New: to.String()}}, 0)
	}
	out := make([]Hunk, 0, len(u.Hunks))
	for _, h := range u.Hunks {
		out = append(out, newHunk(h, from, to))
	}
	return out
}

func newHunk(h *udiff.Hunk, from, to Document) Hunk {
	out := Hunk{Line: h.FromLine, Difference: -1}
	before, after := 0, 0
	for _, l := range h.Lines {
		sign, at := ' ', -1
		switch l.Kind {
		case udiff.Delete:
			sign, at = '-', from[h.FromLine-1+before].Difference
		case udiff.Insert:
			sign, at = '+', to[h.ToLine-1+after].Difference
		}
		if sign != '+' {
			before++
		}
		if sign != '-' {
			after++
		}
		if out.Difference < 0 {
			out.Difference = at
		}
		out.Changes = append(out.Changes, Change{sign, strings.TrimSuffix(l.Content, "\n")})
	}
	out.Range = "-" + lines(h.FromLine, before) + " +" + lines(h.ToLine, after)
	return out
}

// lines describes n lines as diff does: without lines, by the line before.
func lines(first, n int) string {
	switch n {
	case 0:
		return fmt.Sprintf("%d,0", first-1)
	case 1:
		return fmt.Sprint(first)
	}
	return fmt.Sprintf("%d,%d", first, n)
}
