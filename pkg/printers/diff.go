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

// diff adds the fields of an object that differ: each path with the writer of the live value, and then a unified diff
// of their values in YAML. A field with a third value, that of the release record, is in a second diff. The lines of a
// diff have no indent and are not wrapped, so that they can be copied.
func diff(l *layout, cluster string, of object.Ref, diffs []report.Difference) {
	if len(diffs) == 0 {
		return
	}
	var recorded []report.Difference
	for i := range diffs {
		field(l, &diffs[i])
		if r := diffs[i].Release; !r.IsZero() && !r.Equal(diffs[i].Live) {
			recorded = append(recorded, diffs[i])
		}
	}
	if l.ExternalDiff != nil {
		l.ExternalDiff(cluster, of, diffs)
	} else {
		sides(l, of, diffs, "bundle", "cluster", unified.Cluster)
	}
	sides(l, of, recorded, "bundle", "release", unified.Release)
}

// field adds the path of a field, who wrote its live value and when, and which value the release record has.
func field(l *layout, d *report.Difference) {
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
	if line := join(inset, d.Path, gap, faint(about)); line.width() <= l.columns() {
		l.line(line)
		return
	}
	l.line(inset, d.Path)
	l.paint(inset+gap, dim, about)
}

// signStyles are the styles of the lines of a diff.
var signStyles = map[rune]style{'-': red, '+': green, unified.Omitted: dim}

// sides adds the values of two sides as a unified diff. from and to are their names.
func sides(l *layout, of object.Ref, diffs []report.Difference, from, to string, side unified.Side) {
	if len(diffs) == 0 {
		return
	}
	fields := unified.NewFields(diffs)
	hunks := unified.Diff(fields.Document(unified.Bundle), fields.Document(side))
	if len(hunks) == 0 {
		l.say(inset, "the values differ only in parts that are hidden")
		return
	}
	shortened, dropped := 0, 0
	if !l.Full {
		hunks, shortened, dropped = unified.Cut(hunks)
	}
	l.title(fmt.Sprintf("--- %-7s  %s", from, of.Key()))
	l.title(fmt.Sprintf("+++ %-7s  %s", to, of.Key()))
	for _, h := range hunks {
		head := styled(cyan, "@@ "+h.Range+" @@")
		if len(diffs) > 1 {
			head = join(head, " ", diffs[h.Difference].Path)
		}
		l.line(head)
		for _, c := range h.Changes {
			line := string(c.Sign) + c.Text
			if c.Text == "" && c.Sign == ' ' {
				line = "" // no line ends with a blank
			}
			l.line(styled(signStyles[c.Sign], line))
		}
	}
	notShownLines(l, shortened, "shortened")
	notShownLines(l, dropped, "not shown")
	l.end()
}

// notShownLines says what a diff does not show.
func notShownLines(l *layout, n int, what string) {
	if n > 0 {
		l.line(faint(fmt.Sprintf("… %s %s (--full shows them)", plural(n, "line"), what)))
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

// overwrites adds the fields that the next deploy overwrites.
func overwrites(l *layout, of object.Ref, diffs []report.Difference) {
	changed(l, of, diffs, func(report.Difference) string { return "" })
}

// restores adds the fields that a step changes, with their values if they fit.
func restores(l *layout, of object.Ref, diffs []report.Difference) {
	changed(l, of, diffs, func(d report.Difference) string {
		change := fmt.Sprintf(": %s → %s", sideOf(d.Live), sideOf(d.Desired))
		if join(inset, d.Path, change).width() > width {
			return ""
		}
		return change
	})
}

// changed adds fields that are written, each with what is said about its values and with its present writer.
func changed(l *layout, of object.Ref, diffs []report.Difference, values func(report.Difference) string) {
	if l.Diff {
		diff(l, "", of, diffs)
		return
	}
	listed(l, inset, diffs, "", func(d report.Difference) { l.line(inset, d.Path, values(d), faint(writer(d))) })
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
	return string(text)
}

// writer says who wrote or owns the live value of a field.
func writer(d report.Difference) string {
	switch {
	case len(d.Owners) > 0:
		return "  owned by " + strings.Join(d.Owners, ", ")
	case d.Manager != "":
		return "  written by " + d.Manager
	}
	return ""
}
