// SPDX-License-Identifier: Apache-2.0

package printers

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/printers/unified"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

// diff shows the fields of an object that differ: each path with the writer of the live value, and then a unified diff
// of their values in YAML. A field with a third value, that of the release record, is in a second diff. The lines of a
// diff have no indent and are not wrapped, so that they can be copied.
func (t text) diff(cluster string, of object.Ref, diffs []report.Difference) {
	if len(diffs) == 0 {
		return
	}
	var recorded []report.Difference
	for i := range diffs {
		t.field(&diffs[i])
		if r := diffs[i].Release; !r.IsZero() && !r.Equal(diffs[i].Live) {
			recorded = append(recorded, diffs[i])
		}
	}
	if t.ExternalDiff != nil {
		t.ExternalDiff(cluster, of, diffs)
	} else {
		t.sides(of, diffs, "bundle", "cluster", unified.Cluster)
	}
	t.sides(of, recorded, "bundle", "release", unified.Release)
}

// field shows the path of a field, who wrote its live value and when, and which value the release record has.
func (t text) field(d *report.Difference) {
	about := d.Who()
	if d.Note != "" {
		about += " (" + d.Note + ")"
	}
	switch {
	case d.Release.IsZero():
	case d.Release.Equal(d.Live):
		about += "; the release has the value of the cluster"
	default:
		about += "; the release has another value"
	}
	about = printable(about)
	if span(inset+d.Path+gap+about) <= t.columns() {
		t.linef("%s%s%s%s", inset, printable(d.Path), gap, t.faint(about))
		return
	}
	t.linef("%s%s", inset, printable(d.Path))
	t.painted(inset+gap, faint, about)
}

// signColours are the colours of the lines of a diff.
var signColours = map[rune]string{'-': red, '+': green, unified.Omitted: faint}

// sides shows the values of two sides as a unified diff. from and to are their names.
func (t text) sides(of object.Ref, diffs []report.Difference, from, to string, side unified.Side) {
	if len(diffs) == 0 {
		return
	}
	fields := unified.NewFields(diffs)
	hunks := unified.Diff(fields.Document(unified.Bundle), fields.Document(side))
	if len(hunks) == 0 {
		t.wrapped(inset, "the values differ only in parts that are hidden")
		return
	}
	shortened, dropped := 0, 0
	if !t.Full {
		hunks, shortened, dropped = unified.Cut(hunks)
	}
	name := printable(of.Key().String())
	t.line(t.bold(fmt.Sprintf("--- %-7s  %s", from, name)))
	t.line(t.bold(fmt.Sprintf("+++ %-7s  %s", to, name)))
	for _, h := range hunks {
		head := t.colour(cyan, "@@ "+h.Range+" @@")
		if len(diffs) > 1 {
			head += " " + printable(diffs[h.Difference].Path)
		}
		t.line(head)
		for _, c := range h.Changes {
			line := string(c.Sign) + printable(c.Text)
			switch {
			case c.Sign != ' ':
				line = t.colour(signColours[c.Sign], line)
			case c.Text == "":
				line = "" // no line ends with a blank
			}
			t.line(line)
		}
	}
	t.cut(shortened, dropped)
	t.emptyLine()
}

// cut says what a diff does not show.
func (t text) cut(shortened, dropped int) {
	for i, n := range []int{shortened, dropped} {
		if n > 0 {
			what := []string{"shortened", "not shown"}[i]
			t.line(t.faint(fmt.Sprintf("… %s %s (--full shows them)", plural(n, "line"), what)))
		}
	}
}

// otherEvidence is the evidence that the differences do not show.
func otherEvidence(evidence []string, diffs []report.Difference) []string {
	shown := map[string]bool{}
	for _, d := range diffs {
		shown[d.Who()], shown[d.Path+": "+d.Who()] = true, true
	}
	return slices.DeleteFunc(slices.Clone(evidence), func(e string) bool { return shown[e] })
}

// overwrites shows the fields that the next deploy overwrites.
func (t text) overwrites(of object.Ref, diffs []report.Difference) {
	if t.Diff {
		t.diff("", of, diffs)
		return
	}
	listed(t, inset, diffs, "", func(d report.Difference) {
		t.linef("%s%s%s", inset, printable(d.Path), t.writer(d))
	})
}

// restores shows the fields that a step changes, with their values if they fit.
func (t text) restores(of object.Ref, diffs []report.Difference) {
	if t.Diff {
		t.diff("", of, diffs)
		return
	}
	listed(t, inset, diffs, "", func(d report.Difference) {
		line := inset + printable(d.Path)
		if change := fmt.Sprintf(": %s → %s", sideOf(d.Live), sideOf(d.Desired)); span(line+change) <= width {
			line += change
		}
		t.line(line + t.writer(d))
	})
}

// sideOf is the value of one side of a difference, on one line.
func sideOf(v report.Value) string {
	if v.IsZero() {
		return "none"
	}
	text, err := v.MarshalJSON()
	if err != nil {
		return "…"
	}
	return printable(string(text))
}

// writer says who wrote or owns the live value of a field.
func (t text) writer(d report.Difference) string {
	switch {
	case len(d.Owners) > 0:
		return t.faint("  owned by " + printable(strings.Join(d.Owners, ", ")))
	case d.Manager != "":
		return t.faint("  written by " + printable(d.Manager))
	}
	return ""
}
