// SPDX-License-Identifier: Apache-2.0

package printers

import (
	"bytes"
	"math"
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

// onScreen reports whether the document must fit a screen. Elsewhere a program such as grep reads it: nothing is cut.
func (t text) onScreen() bool { return t.Rows > 0 && (t.limits() || t.Redrawn) }

// screen is the number of lines that the document may have.
func (t text) screen() int {
	if t.onScreen() {
		return t.Rows
	}
	return math.MaxInt32
}

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

// gapLines names what could not be read, on a screen at most maxGaps of it.
func (t text) gapLines(gaps []report.Gap) {
	t.shortLines(yellow, "gap", texts(joined(gaps), func(g report.Gap) string {
		return "Not read: " + digest.What(&g) + ": " + g.Why()
	}))
}

// noteLines shows notes as gapLines shows gaps.
func (t text) noteLines(notes []string) {
	t.shortLines("", "note", texts(notes, func(note string) string { return "Note: " + note }))
}

// shortLines shows each text. On a screen, it shows each in at most maxProblem lines, and counts those after maxGaps.
func (t text) shortLines(colour, noun string, all []string) {
	for i, s := range all {
		if i == maxGaps && t.onScreen() {
			t.linef("… and %s (-o wide shows them)", plural(len(all)-i, "more "+noun))
			return
		}
		for _, line := range t.shortened("", s, 0, maxProblem) {
			t.line(t.colour(colour, line))
		}
	}
}

// shortened wraps a sentence at a column, with what stands at its end. On a screen, the sentence is shortened to so
// many lines.
func (t text) shortened(about, message string, column, most int, end ...string) []string {
	lines := t.withEnd(about+" "+message, column, end)
	if !t.onScreen() {
		return lines
	}
	about, message = printable(about), printable(message)
	for n := most * t.columns(); len(lines) > most && n > 0; n-- {
		lines = t.withEnd(within(about, message, n), column, end)
	}
	return lines
}

// withEnd wraps a sentence at a column, with words that are not broken at its end.
func (t text) withEnd(s string, column int, end []string) []string {
	return t.filled(append(strings.Fields(printable(s)), end...), column, column)
}
