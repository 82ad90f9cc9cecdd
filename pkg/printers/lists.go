// SPDX-License-Identifier: Apache-2.0

package printers

import (
	"encoding/json"
	"fmt"
	"iter"
	"slices"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/printers/digest"
)

// maxShown is the number of similar entries that are shown without -o wide or --all.
const maxShown = 10

// limits reports whether lists are limited.
func (t text) limits() bool { return !t.wide && !t.All }

// limited returns the elements of a list that are shown: without -o wide or --all, at most maxShown.
func limited[T any](t text, list []T) []T {
	if !t.limits() {
		return list
	}
	return list[:min(len(list), maxShown)]
}

// listed shows the elements of a list, at most maxShown without -o wide or --all, and counts the others.
func listed[T any](t text, indent string, list []T, others string, show func(T)) {
	shown := limited(t, list)
	for _, x := range shown {
		show(x)
	}
	t.more(indent, len(list)-len(shown), others)
}

// more writes the number of elements that are not shown, if there are any.
func (t text) more(indent string, n int, of string) {
	if n > 0 {
		t.line(indent + t.faint(fmt.Sprintf("… and %d more%s (-o wide shows them)", n, of)))
	}
}

// grouped returns the elements of a list in groups with the same key, in the order of their first elements.
func grouped[T any, K comparable](list []T, key func(T) K) [][]T {
	at := map[K]int{}
	var out [][]T
	for _, x := range list {
		k := key(x)
		if _, known := at[k]; !known {
			at[k] = len(out)
			out = append(out, nil)
		}
		out[at[k]] = append(out[at[k]], x)
	}
	return out
}

// problemsFirst returns the elements of a list in the order of the table: those with the highest severity first,
// otherwise in the order of the document. The wide table has the order of the document, and so has the table in the
// order that the user chose.
func problemsFirst[T any](t text, list []T, severity func(T) int) []T {
	out := slices.Clone(list)
	if !t.wide && !t.Sorted {
		slices.SortStableFunc(out, func(x, y T) int { return severity(y) - severity(x) })
	}
	return out
}

// alike returns a text that is equal for equal parts of a report.
func alike(parts ...any) string {
	raw, _ := json.Marshal(parts) // a report has a JSON form
	return string(raw)
}

// chunks splits a list into runs of neighbours that belong together.
func chunks[T any](list []T, together func(x, y T) bool) iter.Seq[[]T] {
	return func(yield func([]T) bool) {
		for begin, end := 0, 1; begin < len(list); end++ {
			if end == len(list) || !together(list[begin], list[end]) {
				if !yield(list[begin:end]) {
					return
				}
				begin = end
			}
		}
	}
}

// texts returns a text for each element of a list.
func texts[T any](list []T, text func(T) string) []string {
	out := make([]string, len(list))
	for i, x := range list {
		out[i] = text(x)
	}
	return out
}

// first lists the first names, and counts the others.
var first = digest.First

// them is the pronoun for n objects.
func them(n int) string {
	if n == 1 {
		return "it"
	}
	return "them"
}

// tally is a number with the words for it, and nonEmpty leaves out those without a number.
var tally, nonEmpty = digest.Tally, digest.NonEmpty

// maxRepeated is the number of findings that are shown if many bundles have the same one.
const maxRepeated = 3

// some lists names, at most maxShown without -o wide.
func (t text) some(names []string) string {
	return first(names, len(limited(t, names)))
}

// most is the number of elements of a list that are shown: with -o wide or --all, all of them.
func (t text) most(n, all int) int {
	if !t.limits() {
		return all
	}
	return min(n, all)
}

func count[T any](list []T, of func(T) bool) int {
	n := 0
	for _, x := range list {
		if of(x) {
			n++
		}
	}
	return n
}

// section writes lines below a title, and then an empty line; nothing without lines.
func (t text) section(title string, lines []string) {
	if len(lines) == 0 {
		return
	}
	t.line(t.bold(title))
	listed(t, "  ", lines, "", func(line string) { t.line("  " + t.block(line, 2, 4)) })
	t.line("")
}
