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

// diff shows the desired and the live value of each field, labelled with words: the signs of a diff could mean what the next deploy changes,
// or what was changed on the cluster.
func (t text) diff(b *bytes.Buffer, diffs []report.Difference) {
	for _, d := range diffs {
		about := d.Who()
		if d.Note != "" {
			about += " (" + d.Note + ")"
		}
		about = printable(about)
		if span(inset+d.Path+gap+about) <= t.columns() {
			fmt.Fprintf(b, "%s%s%s%s\n", inset, printable(d.Path), gap, t.faint(about))
		} else {
			fmt.Fprintf(b, "%s%s\n", inset, printable(d.Path))
			for _, line := range t.lines(about, len(inset+gap), len(inset+gap)) {
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

// side shows one value, each line of a text on a line of its own: a text that ends with a line end differs from one that does not.
func (t text) side(b *bytes.Buffer, code, word string, v report.Value) {
	shown := []string{"(none)"}
	if !v.IsZero() {
		shown = strings.Split(shownValue(v), "\n")
	}
	for _, line := range shown {
		fmt.Fprintf(b, "%s%s%s\n", inset, gap, t.colour(code, strings.TrimRight(word+gap+printable(line), " ")))
	}
}

// shownValue is a text as it is. Other values, and an empty text, are JSON.
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

// otherEvidence is the evidence that the differences do not show.
func otherEvidence(evidence []string, diffs []report.Difference) []string {
	shown := map[string]bool{}
	for _, d := range diffs {
		shown[d.Who()], shown[d.Path+": "+d.Who()] = true, true
	}
	return slices.DeleteFunc(slices.Clone(evidence), func(e string) bool { return shown[e] })
}
