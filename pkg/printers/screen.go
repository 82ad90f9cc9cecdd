// SPDX-License-Identifier: Apache-2.0

package printers

import (
	"bytes"
	"strings"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/printers/digest"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

// maxGaps is the number of gaps, and of notes, that an overview names.
const maxGaps = 3

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

// gapLines names what could not be read, one line each.
func (t text) gapLines(gaps []report.Gap) {
	for i, g := range gaps {
		if i == maxGaps {
			t.linef("… and %s", plural(len(gaps)-i, "more gap"))
			return
		}
		t.line(t.colour(yellow, cut(printable("Not read: "+digest.What(&g)+": "+g.Why()), t.columns())))
	}
}

// noteLines shows notes, one line each.
func (t text) noteLines(notes []string) {
	for i, note := range notes {
		if i == maxGaps {
			t.linef("… and %s", plural(len(notes)-i, "more note"))
			return
		}
		t.line(cut(printable("Note: "+note), t.columns()))
	}
}
