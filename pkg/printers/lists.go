// SPDX-License-Identifier: Apache-2.0

package printers

import (
	"encoding/json"
	"fmt"
	"iter"
	"slices"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/printers/digest"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

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
func (l *layout) more(indent string, n int, of string) {
	if n > 0 {
		l.line(indent, faint(fmt.Sprintf("… and %d more%s (-o wide shows them)", n, of)))
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

// chunks splits a list into runs of neighbours with the same key.
func chunks[T any, K comparable](list []T, key func(T) K) iter.Seq[[]T] {
	return func(yield func([]T) bool) {
		for begin, end := 0, 1; begin < len(list); end++ {
			if end < len(list) && key(list[end]) == key(list[begin]) {
				continue
			}
			if !yield(list[begin:end]) {
				return
			}
			begin = end
		}
	}
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

// texts returns a text for each element of a list.
func texts[T any](list []T, text func(T) string) []string {
	out := make([]string, len(list))
	for i, x := range list {
		out[i] = text(x)
	}
	return out
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

// them is the pronoun for n objects.
func them(n int) string {
	if n == 1 {
		return "it"
	}
	return "them"
}
