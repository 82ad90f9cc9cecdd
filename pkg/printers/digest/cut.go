// SPDX-License-Identifier: Apache-2.0

package digest

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/aymanbagabas/go-udiff"
)

// The limits of a diff that is shown to people.
const (
	// MaxWidth is the greatest number of characters of a line.
	MaxWidth = 200
	// MaxRun is the greatest number of removed lines, or of added lines, in one place.
	MaxRun = 20
	// MaxLines is the greatest number of lines of an object.
	MaxLines = 100
	// before is the number of characters that a line keeps before the first one that differs, if its beginning is cut
	// out.
	before = 60
)

// Omitted is the sign of a line that says how many lines are not shown in its place.
const Omitted = '…'

// Cut shortens the lines of hunks, and keeps what differs between a removed line and the added line in its place.
// It drops the lines of long runs, and those after the first MaxLines. It returns the numbers of lines that are
// shortened and dropped.
func Cut(hunks []Hunk) (out []Hunk, shortened, dropped int) {
	left := MaxLines
	for _, h := range hunks {
		kept, n := cutRuns(h.Changes)
		dropped += n
		if left == 0 {
			dropped += len(h.Changes) - n
			continue
		}
		if len(kept) > left {
			for _, c := range kept[left:] {
				if c.Sign != Omitted {
					dropped++
				}
			}
			kept = kept[:left]
		}
		left -= len(kept)
		h.Changes = make([]Change, len(kept))
		for i, other := range partners(kept) {
			text, cut := short([]rune(kept[i].Text), []rune(other))
			if cut {
				shortened++
			}
			h.Changes[i] = Change{kept[i].Sign, text}
		}
		out = append(out, h)
	}
	return out, shortened, dropped
}

// cutRuns replaces the end of each long run of removed or added lines by a line with their number, and returns the
// number of all.
func cutRuns(changes []Change) (out []Change, dropped int) {
	for run := range Runs(changes, func(c Change) rune { return c.Sign }) {
		if n := len(run) - MaxRun; run[0].Sign != ' ' && n > 1 {
			out = append(append(out, run[:MaxRun]...), Change{Omitted, fmt.Sprintf(" %d more lines", n)})
			dropped += n
			continue
		}
		out = append(out, run...)
	}
	return out, dropped
}

// partners returns, for each removed line, the added line in its place, the reverse for each added line, and otherwise
// an empty text.
func partners(changes []Change) []string {
	out := make([]string, len(changes))
	for i := 0; i < len(changes); {
		removed := i
		signs := "-"
		for i < len(changes) && strings.ContainsRune(signs, changes[i].Sign) {
			i++
			signs = "-" + string(Omitted)
		}
		added := i
		for i < len(changes) && changes[i].Sign == '+' {
			i++
		}
		for k := 0; removed+k < added && added+k < i; k++ {
			out[removed+k], out[added+k] = changes[added+k].Text, changes[removed+k].Text
		}
		if i == removed {
			i++
		}
	}
	return out
}

// short cuts a line around the first character that another line does not have.
func short(line, other []rune) (string, bool) {
	if len(line) <= MaxWidth {
		return string(line), false
	}
	index := 0
	for index < len(line) && index < len(other) && line[index] == other[index] {
		index++
	}
	if len(other) == 0 || index <= MaxWidth-before {
		return string(line[:MaxWidth-1]) + "…", true
	}
	head := string(line[:before]) + "…" // with the key
	begin := min(index-before, len(line)-(MaxWidth-before-2))
	end := begin + MaxWidth - before - 2
	tail := "…"
	if end >= len(line) {
		end, tail = len(line), ""
	}
	return head + string(line[begin:end]) + tail, true
}

// Hunk is a part of a unified diff.
type Hunk struct {
	// Range are the lines of the two documents, such as "-1,2 +1,2".
	Range string
	// DiffLine is the first line of the hunk in the first document.
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
		sign, index := ' ', -1
		switch l.Kind {
		case udiff.Delete:
			sign, index = '-', from[h.FromLine-1+before].Difference
		case udiff.Insert:
			sign, index = '+', to[h.ToLine-1+after].Difference
		}
		if sign != '+' {
			before++
		}
		if sign != '-' {
			after++
		}
		if out.Difference < 0 {
			out.Difference = index
		}
		out.Changes = append(out.Changes, Change{sign, strings.TrimSuffix(l.Content, "\n")})
	}
	out.Range = "-" + diffLines(h.FromLine, before) + " +" + diffLines(h.ToLine, after)
	return out
}

// diffLines describes n lines as diff does: without lines, by the line before.
func diffLines(first, n int) string {
	switch n {
	case 0:
		return fmt.Sprintf("%d,0", first-1)
	case 1:
		return fmt.Sprint(first)
	}
	return fmt.Sprintf("%d,%d", first, n)
}

// DiffLine is one line of a document, without its line end.
type DiffLine struct {
	Text string
	// Difference is the index of the difference that the line belongs to.
	Difference int
}

// Document is one side of the differences of an object.
type Document []DiffLine

// String returns the document as YAML.
func (d Document) String() string {
	var b strings.Builder
	for _, line := range d {
		b.WriteString(line.Text)
		b.WriteByte('\n')
	}
	return b.String()
}

// NewDocument returns a text of complete lines as a document.
func NewDocument(text string) Document {
	var out Document
	for line := range strings.Lines(text) {
		out = append(out, DiffLine{Text: strings.TrimSuffix(line, "\n")})
	}
	return out
}

func asJSON(v any) string {
	raw, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(raw)
}
