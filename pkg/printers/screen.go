// SPDX-License-Identifier: Apache-2.0

package printers

import (
	"bytes"
	"strings"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/printers/digest"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

const (
	// maxGaps is the number of gaps, and of notes, that an overview names.
	maxGaps = 3
	// maxProblem is the number of lines that a problem, a gap or a note has in an overview.
	maxProblem = 2
)

// aside returns what a function shows.
func (t text) aside(show func(text)) string {
	t.out = &bytes.Buffer{}
	show(t)
	return t.out.String()
}

// height is the number of lines that a text has on the screen.
func (t text) height(s string) int {
	out := 0
	for line := range strings.Lines(s) {
		out += height(strings.TrimSuffix(line, "\n"), t.columns())
	}
	return out
}

// gapLines names what could not be read, at most maxGaps of it without -o wide or --all.
func (t text) gapLines(gaps []report.Gap) {
	t.shortLines(yellow, "gap", texts(gaps, func(g report.Gap) string {
		return "Not read: " + digest.What(&g) + ": " + g.Why()
	}))
}

// noteLines shows notes as gapLines shows gaps.
func (t text) noteLines(notes []string) {
	t.shortLines("", "note", texts(notes, func(note string) string { return "Note: " + note }))
}

// shortLines shows each text in at most maxProblem lines, on a screen in one, and counts those after maxGaps.
func (t text) shortLines(colour, noun string, all []string) {
	most := maxProblem
	if t.Rows > 0 {
		most = 1
	}
	for i, s := range all {
		if i == maxGaps && t.limits() {
			t.linef("… and %s (--all shows them)", plural(len(all)-i, "more "+noun))
			return
		}
		for _, line := range firstLines(t.lines(s, 0, len(gap)), most) {
			t.line(t.colour(colour, cut(line, t.columns())))
		}
	}
}

// firstLines are the first lines of wrapped text. The last one has all that follows, to be cut.
func firstLines(lines []string, most int) []string {
	if len(lines) <= most {
		return lines
	}
	return append(lines[:most-1:most-1], strings.Join(lines[most-1:], " "))
}
