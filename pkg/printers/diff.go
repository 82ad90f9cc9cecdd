// SPDX-License-Identifier: Apache-2.0

package printers

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/printers/digest"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

// diff adds the fields of an object that differ: each path with the writer of the live value, and then a unified diff
// of their values in YAML. A field with a third value, that of the release record, is in a second diff. The lines of a
// diff have no indent and are not wrapped, so that they can be copied.
func diff(l *layout, cluster string, ref object.Ref, diffs []report.Difference) {
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
		l.ExternalDiff(cluster, ref, diffs)
	} else {
		sides(l, ref, diffs, "bundle", "cluster", digest.Cluster)
	}
	sides(l, ref, recorded, "bundle", "release", digest.Release)
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
var signStyles = map[rune]style{'-': red, '+': green, digest.Omitted: dim}

// sides adds the values of two sides as a unified diff. from and to are their names.
func sides(l *layout, ref object.Ref, diffs []report.Difference, from, to string, side digest.Side) {
	if len(diffs) == 0 {
		return
	}
	fields := digest.NewFields(diffs)
	hunks := digest.Diff(fields.Document(digest.Bundle), fields.Document(side))
	if len(hunks) == 0 {
		l.say(inset, "the values differ only in parts that are hidden")
		return
	}
	shortened, dropped := 0, 0
	if !l.Full {
		hunks, shortened, dropped = digest.Cut(hunks)
	}
	l.title(fmt.Sprintf("--- %-7s  %s", from, ref.Key()))
	l.title(fmt.Sprintf("+++ %-7s  %s", to, ref.Key()))
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

// changed adds fields that are written, each with its present writer, and with its values if that is requested and they
// fit.
func changed(l *layout, ref object.Ref, diffs []report.Difference, values bool) {
	if l.Diff {
		diff(l, "", ref, diffs)
		return
	}
	listed(l, inset, diffs, "", func(d report.Difference) {
		change := fmt.Sprintf(": %s → %s", sideOf(d.Live), sideOf(d.Desired))
		if !values || join(inset, d.Path, change).width() > width {
			change = ""
		}
		l.line(inset, d.Path, change, faint(writer(d)))
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

const (
	// maxShown is the number of similar entries that are shown without -o wide or --all.
	maxShown = 10
	// maxRepeated is the number of findings that are shown if many bundles have the same one.
	maxRepeated = 3
)

// The texts write numbers and names as the other formats do.
var (
	plural, fraction = report.Plural, digest.Fraction
	tally, nonEmpty  = digest.Tally, digest.NonEmpty
	first            = digest.First
)

// limits reports whether lists are limited.
func (l *layout) limits() bool { return !l.wide && !l.All }

// most is the number of elements of a list that are shown: with -o wide or --all, all of them.
func (l *layout) most(n, all int) int {
	if !l.limits() {
		return all
	}
	return min(n, all)
}

// limited returns the elements of a list that are shown: without -o wide or --all, at most maxShown.
func limited[T any](l *layout, list []T) []T { return list[:l.most(maxShown, len(list))] }

// listed shows the elements of a list, at most maxShown without -o wide or --all, and counts the others.
func listed[T any](l *layout, indent string, list []T, others string, show func(T)) {
	shown := limited(l, list)
	for _, x := range shown {
		show(x)
	}
	l.more(indent, len(list)-len(shown), others)
}

// more adds the number of elements that are not shown, if there are any.
func (l *layout) more(indent string, n int, what string) {
	if n > 0 {
		l.line(indent, faint(fmt.Sprintf("… and %d more%s (-o wide shows them)", n, what)))
	}
}

// some lists names, at most maxShown without -o wide.
func some(l *layout, names []string) string { return first(names, l.most(maxShown, len(names))) }

// list adds texts below a heading, one per line, if there are any.
func (l *layout) list(indent string, heading phrase, all []string) {
	if len(all) == 0 {
		return
	}
	l.line(indent, heading)
	indent += "  "
	listed(l, indent, all, "", func(s string) { l.hang(len(indent)+2, s, indent) })
}

// grouped returns the elements of a list in groups with the same key, in the order of their first elements.
func grouped[T any, K comparable](list []T, key func(T) K) [][]T {
	positions := map[K]int{}
	var out [][]T
	for _, x := range list {
		k := key(x)
		if _, known := positions[k]; !known {
			positions[k] = len(out)
			out = append(out, nil)
		}
		out[positions[k]] = append(out[positions[k]], x)
	}
	return out
}

// problemsFirst returns the elements of a list in the order of the table: those with the highest severity first,
// otherwise in the order of the document. The wide table has the order of the document, and so has the table in the
// order that the user chose.
func problemsFirst[T any](l *layout, list []T, severity func(T) int) []T {
	out := slices.Clone(list)
	if !l.wide && !l.Sorted {
		slices.SortStableFunc(out, func(x, y T) int { return severity(y) - severity(x) })
	}
	return out
}

// alike returns a text that is equal for equal parts of a report.
func alike(parts ...any) string {
	raw, _ := json.Marshal(parts) // a report has a JSON form
	return string(raw)
}

// summary adds the result: the counts of objects, of deployments without a result, and of what is shown below it. These
// are the findings or, on the first screen, their causes.
func summary(l *layout, a *report.Audit, f report.FindingCounts) {
	all := len(a.BundleDeployments)
	fleetwide := digest.Fleetwide(a)
	words := wordsOf(cmp.Or(fleetwide, digest.ReadyIn(a))) // styles span several words of one element
	if all == 0 {
		words = append(words, styled(yellow, "No bundle deployments in this scope."))
	}
	if unread := digest.WithoutResult(a); unread != "" && fleetwide == "" {
		words = append(words, styled(yellow, unread))
	}
	results := append(resultsOf(a, f), unlisted(l, a)...)
	switch n := f.Info; {
	case n > 0 && informational(l, a):
		results = append(results, join(n, " informational"))
	case n > 0:
		results = append(results, join(n, " informational (--all shows them)"))
	}
	for i, result := range results {
		mark := ","
		if i == len(results)-1 {
			mark = "."
		}
		words = append(words, join(result, mark))
	}
	for _, left := range a.LeftOut() {
		if left.By == report.ByFilter { // the others are among the results
			words = append(words, wordsOf(left.Text+".")...)
		}
	}
	l.add(paragraph{words: words})
}

// resultsOf is the verdict, or the numbers of errors and warnings.
func resultsOf(a *report.Audit, f report.FindingCounts) []phrase {
	var out []phrase
	switch level, verdict := digest.Verdict(a); {
	case level == digest.Bad:
		if f.Error > 0 {
			out = append(out, styled(red, plural(f.Error, "error")))
		}
		if f.Warning > 0 {
			out = append(out, styled(yellow, plural(f.Warning, "warning")))
		}
		found := a.Summary.Findings.Error + a.Summary.Findings.Warning
		if last := len(out) - 1; last >= 0 && f.Error+f.Warning < found {
			out[last] = join(out[last], fmt.Sprintf(" (%d findings)", found))
		}
	case len(a.BundleDeployments) == a.WithoutResult(): // the words say it
	case level == digest.Good:
		out = []phrase{styled(green, verdict)}
	default:
		out = []phrase{styled(yellow, verdict)}
	}
	return out
}

// informational reports whether informational findings are shown: in the wide table, with --all, if the user selected
// findings, or if there is no bundle deployment that could be the answer.
func informational(l *layout, a *report.Audit) bool {
	return !l.limits() || a.Filter != nil || len(a.BundleDeployments) == 0
}

// visibleIn are the findings that are shown.
func visibleIn(l *layout, a *report.Audit) []*report.Finding {
	var out []*report.Finding
	for i := range a.Findings {
		if f := &a.Findings[i]; f.Severity != report.Info || informational(l, a) {
			out = append(out, f)
		}
	}
	return out
}

// unlisted counts the findings that are ignored.
func unlisted(l *layout, a *report.Audit) []phrase {
	n, about := a.Summary.Ignored, ""
	if n == 0 {
		return nil
	}
	if a.IgnoreFile != "" {
		about = " by " + a.IgnoreFile
	}
	if !l.wide {
		about += " (-o wide shows them)"
	}
	return []phrase{join(n, " ignored", about)}
}
