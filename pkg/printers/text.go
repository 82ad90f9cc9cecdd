// SPDX-License-Identifier: Apache-2.0

package printers

import (
	"bytes"
	"fmt"
	"iter"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/olekukonko/tablewriter/pkg/twwidth"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/printers/digest"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

const (
	// width is the width of a line in columns, unless a word is longer or the terminal has another width.
	width = 100
	// minWidth is the least width for which tables are laid out, maxProse the greatest one of sentences.
	minWidth, maxProse = 60, 120
)

// maxShown is the number of similar entries that are shown without -o wide or --all.
const maxShown = 10

// text lays out documents for people.
type text struct {
	Options
	wide bool
	// said are the effects of commands that were shown.
	said map[string]bool
}

// fits reports whether tables are fitted to the width of a terminal. Elsewhere a program such as grep reads them:
// names are whole.
func (t text) fits() bool { return t.Width > 0 && !t.wide }

// columns is the width of the output.
func (t text) columns() int {
	if t.Width <= 0 {
		return width
	}
	return max(t.Width, minWidth)
}

func (t text) audit(b *bytes.Buffer, a *report.Audit) error {
	if t.Rows > 0 && !t.Summary {
		return t.screen(b, a)
	}
	t.head(b, "Audit of ", a.Source, a.TakenAt)
	if t.Summary {
		return t.totals(b, a)
	}
	t.clustersRead(b, a.Source.Clusters)
	t.notRead(b, a.Gaps, a.Notes)
	if len(a.BundleDeployments) > 0 {
		if err := t.deployments(b, a); err != nil {
			return err
		}
	}
	if err := t.trees(b, a); err != nil {
		return err
	}
	if err := t.aggregates(b, a); err != nil {
		return err
	}
	t.findings(b, a)
	t.explain(b, a)
	t.ignored(b, a.Ignored)
	t.summary(b, a)
	return nil
}

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
func listed[T any](t text, b *bytes.Buffer, indent string, list []T, others string, show func(T)) {
	shown := limited(t, list)
	for _, x := range shown {
		show(x)
	}
	t.more(b, indent, len(list)-len(shown), others)
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

// more writes the number of elements that are not shown, if there are any.
func (t text) more(b *bytes.Buffer, indent string, n int, of string) {
	if n > 0 {
		fmt.Fprintln(b, indent+t.faint(fmt.Sprintf("… and %d more%s (-o wide shows them)", n, of)))
	}
}

// head shows the source, its time and its versions.
func (t text) head(b *bytes.Buffer, title string, s report.Source, takenAt string) {
	if t.NoHeaders {
		return
	}
	what := digest.Title(&s)
	var facts []string
	if takenAt != "" {
		facts = append(facts, "taken at "+takenAt)
	}
	if s.KubernetesVersion != "" {
		facts = append(facts, "Kubernetes "+s.KubernetesVersion)
	}
	if v := digest.FleetVersion(s.FleetVersions); v != "" {
		facts = append(facts, v)
	}
	if takenAt == "" && len(facts) > 0 {
		facts[0] = "with " + facts[0]
	}
	line := t.bold(title + printable(what))
	switch about := printable(strings.Join(facts, ", ")); {
	case about == "":
	case t.Width <= 0 || span(title+printable(what))+1+span(about) <= t.columns():
		line += " " + t.faint(about)
	default:
		for _, l := range t.lines(about, 0, 0) {
			line += "\n" + t.faint(l)
		}
	}
	fmt.Fprintf(b, "%s\n\n", line)
}

// clustersRead lists the clusters that were read in addition to the source.
func (t text) clustersRead(b *bytes.Buffer, clusters []report.ClusterSource) {
	if len(clusters) == 0 {
		return
	}
	fmt.Fprintln(b, t.bold("CLUSTERS READ"))
	listed(t, b, "  ", clusters, "", func(c report.ClusterSource) {
		var facts []string
		if c.Cluster != "" && c.Cluster != c.Name {
			facts = append(facts, c.Cluster)
		}
		if c.KubernetesVersion != "" {
			facts = append(facts, "Kubernetes "+c.KubernetesVersion)
		}
		if c.Kind != "cluster" {
			facts = append(facts, "snapshot "+c.Path)
			if c.TakenAt != "" {
				facts = append(facts, "taken at "+c.TakenAt)
			}
		}
		fmt.Fprintf(b, "  %s %s\n", printable(c.Name), t.faint(printable(strings.Join(facts, ", "))))
	})
	fmt.Fprintln(b)
}

// notRead shows what could not be read, before the results that depend on it.
func (t text) notRead(b *bytes.Buffer, gaps []report.Gap, notes []string) {
	if len(gaps) > 0 {
		fmt.Fprintln(b, t.bold("NOT READ"))
		all := gaps
		if !t.wide {
			all = joined(gaps)
		}
		listed(t, b, "  ", all, "", func(g report.Gap) {
			why := strings.TrimSuffix(g.Why(), ".")
			t.wrapped(b, "  ", fmt.Sprintf("%s: %s. %s.", digest.What(&g), why, sentence(g.Effect)))
		})
		forbidden := func(g report.Gap) bool { return g.Reason == "Forbidden" }
		if slices.ContainsFunc(gaps, forbidden) && t.PrintRole != "" {
			fmt.Fprintf(b, "  %s %s prints a role that permits reading it\n", t.faint("→"), printable(t.PrintRole))
		}
		fmt.Fprintln(b)
	}
	if len(notes) > 0 {
		fmt.Fprintln(b, t.bold("NOTES"))
		t.sentences(b, "  ", notes...)
		fmt.Fprintln(b)
	}
}

// joined joins the gaps with the same reason and effect. The message of a server names the kind, so gaps that are
// forbidden have the same reason without it.
func joined(gaps []report.Gap) []report.Gap {
	same := func(g report.Gap) report.Gap {
		g.What = ""
		if g.Reason == "Forbidden" {
			g.Detail = ""
		}
		return g
	}
	var out []report.Gap
	for _, all := range grouped(gaps, same) {
		g := all[0]
		if len(all) > 1 {
			g = same(g)
			g.What = first(texts(all, func(g report.Gap) string { return g.What }), maxJoined)
		}
		out = append(out, g)
	}
	return out
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
func first(names []string, most int) string {
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}

// tally is a number with the words for it.
type tally struct {
	n     int
	words string
}

// tallies writes the numbers that are not 0.
func tallies(all ...tally) []string {
	var out []string
	for _, x := range all {
		if x.n > 0 {
			out = append(out, fmt.Sprintf("%d %s", x.n, x.words))
		}
	}
	return out
}

// maxJoined is the number of gaps that a joined gap names.
const maxJoined = 5

// The tables write numbers as the other formats do.
var plural, fraction = digest.Plural, digest.Fraction

func sentence(s string) string {
	if s == "" {
		return s
	}
	first, size := utf8.DecodeRuneInString(s)
	return string(unicode.ToUpper(first)) + s[size:]
}

// wrapped writes text in lines that begin with indent.
func (t text) wrapped(b *bytes.Buffer, indent, s string) { t.painted(b, indent, "", s) }

// painted writes text as wrapped does, in a colour.
func (t text) painted(b *bytes.Buffer, indent, code, s string) {
	for _, line := range t.lines(s, len(indent), len(indent)) {
		fmt.Fprintln(b, indent+t.colour(code, line))
	}
}

// sentences writes sentences as wrapped does.
func (t text) sentences(b *bytes.Buffer, indent string, all ...string) {
	for _, s := range all {
		t.wrapped(b, indent, sentence(s)+".")
	}
}

// readFrom ends a document with its source.
func (t text) readFrom(b *bytes.Buffer, title string, s report.Source, takenAt string) {
	var head bytes.Buffer
	t.head(&head, title, s, takenAt)
	b.WriteString(strings.TrimSuffix(head.String(), "\n"))
}

// lines wraps text. The first line begins at column first, the others at column rest. Words longer than a line are not
// broken, so that they can be copied.
func (t text) lines(s string, first, rest int) []string {
	return t.filled(strings.Fields(printable(s)), first, rest)
}

// filled wraps words, which may have colours, as lines does.
func (t text) filled(words []string, first, rest int) []string {
	most := min(t.columns(), maxProse)
	var out []string
	line, at := "", first
	for _, word := range words {
		if line != "" && at+span(line)+1+span(word) > most {
			out = append(out, line)
			line, at = "", rest
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	if line != "" {
		out = append(out, line)
	}
	return out
}

// span is the width of a text in columns. Characters of ambiguous width are narrow in every locale: the same report
// gives the same bytes.
func span(s string) int { return twwidth.WidthWithOptions(s, twwidth.Options{}) }

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
