// SPDX-License-Identifier: Apache-2.0

package unified

import (
	"fmt"
	"strings"
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

// Cut shortens the lines of hunks, and keeps what differs between a removed line and the added line in its place. It
// drops the lines of long runs, and those after the first MaxLines. It returns the numbers of lines that are shortened
// and dropped.
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
	for i := 0; i < len(changes); {
		begin := i
		for i < len(changes) && changes[i].Sign == changes[begin].Sign {
			i++
		}
		run := changes[begin:i]
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
	at := 0
	for at < len(line) && at < len(other) && line[at] == other[at] {
		at++
	}
	if len(other) == 0 || at <= MaxWidth-before {
		return string(line[:MaxWidth-1]) + "…", true
	}
	head := string(line[:before]) + "…" // with the key
	begin := min(at-before, len(line)-(MaxWidth-before-2))
	end := begin + MaxWidth - before - 2
	tail := "…"
	if end >= len(line) {
		end, tail = len(line), ""
	}
	return head + string(line[begin:end]) + tail, true
}
