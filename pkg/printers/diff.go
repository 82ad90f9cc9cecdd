// SPDX-License-Identifier: Apache-2.0

package printers

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

// diff shows field by field what the bundle states and what is there, in words: the signs of a diff would say what the next deploy does to
// some, and to others what somebody did.
func (t text) diff(b *bytes.Buffer, diffs []report.Difference) {
	for _, d := range diffs {
		said := []string{d.Who()}
		if d.Note != "" {
			said = append(said, "("+d.Note+")")
		}
		about := printable(strings.Join(said, " "))
		if span(inset+d.Path+gap+about) <= width {
			fmt.Fprintf(b, "%s%s%s%s\n", inset, printable(d.Path), gap, t.faint(about))
		} else {
			fmt.Fprintf(b, "%s%s\n", inset, printable(d.Path))
			for _, line := range lines(about, len(inset+gap), len(inset+gap)) {
				fmt.Fprintf(b, "%s%s%s\n", inset, gap, t.faint(line))
			}
		}
		t.side(b, red, "bundle ", d.Desired)
		if !d.Release.IsZero() {
			t.side(b, yellow, "release", d.Release)
		}
		t.side(b, green, "cluster", d.Live)
	}
}

// side shows one value, a line of a text on each line: one that ends with a line's end differs from one that does not.
func (t text) side(b *bytes.Buffer, code, word string, v report.Value) {
	shown := []string{"(none)"}
	if !v.IsZero() {
		shown = strings.Split(shownValue(v), "\n")
	}
	for _, line := range shown {
		fmt.Fprintf(b, "%s%s%s\n", inset, gap, t.colour(code, strings.TrimRight(word+gap+printable(line), " ")))
	}
}

// shownValue is a text as it is, and any other value, or an empty text, as JSON.
func shownValue(v report.Value) string {
	if s, ok := v.Shown().(string); ok && s != "" {
		return s
	}
	raw, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v.Shown())
	}
	return string(raw)
}

// unsaid is the evidence that stands beside no path of the differences.
func unsaid(evidence []string, diffs []report.Difference) []string {
	said := map[string]bool{}
	for _, d := range diffs {
		said[d.Who()], said[d.Path+": "+d.Who()] = true, true
	}
	return slices.DeleteFunc(slices.Clone(evidence), func(e string) bool { return said[e] })
}
