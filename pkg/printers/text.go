// SPDX-License-Identifier: Apache-2.0

package printers

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/olekukonko/tablewriter/pkg/twwidth"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

// width is what a line is held to where its words allow: the terminal that most people have.
const width = 100

// most is how many findings of one code are shown of one bundle, unless all are asked for.
const most = 10

// text shows a report to people.
type text struct {
	Options
	wide bool
}

func (t text) print(w io.Writer, a *report.Audit) error {
	var b bytes.Buffer
	t.head(&b, a)
	t.notRead(&b, a.Gaps, a.Notes)
	if len(a.BundleDeployments) > 0 {
		if err := t.deployments(&b, a); err != nil {
			return err
		}
	}
	if err := t.claims(&b, a); err != nil {
		return err
	}
	t.findings(&b, a)
	t.verdict(&b, a)
	_, err := w.Write(b.Bytes())
	return err
}

// head says what was read, and when.
func (t text) head(b *bytes.Buffer, a *report.Audit) { t.origin(b, "Audit of ", a.Source, a.TakenAt) }

func (t text) origin(b *bytes.Buffer, title string, s report.Source, takenAt string) {
	what := "snapshot " + s.Path
	if s.Kind == "cluster" {
		what = "cluster " + s.Server
		if s.Context != "" {
			what = "context " + s.Context
		}
	}
	var facts []string
	if takenAt != "" {
		facts = append(facts, "taken at "+takenAt)
	}
	if s.KubernetesVersion != "" {
		facts = append(facts, "Kubernetes "+s.KubernetesVersion)
	}
	if v := fleetVersion(s.FleetVersions); v != "" {
		facts = append(facts, v)
	}
	line := t.bold(title + printable(what))
	if len(facts) > 0 {
		line += " " + t.faint(printable(strings.Join(facts, ", ")))
	}
	fmt.Fprintf(b, "%s\n\n", line)
}

// fleetVersion is the controller's, or, where there is no controller as on a downstream cluster, those of the agents.
func fleetVersion(v *report.FleetVersions) string {
	switch {
	case v == nil:
		return ""
	case v.Controller != "":
		return "Fleet " + v.Controller
	}
	agents := slices.Compact(slices.Sorted(maps.Values(v.Agents)))
	switch len(agents) {
	case 0:
		return ""
	case 1:
		return "Fleet agent " + agents[0]
	}
	return "Fleet agents " + strings.Join(agents, " / ")
}

// notRead says what could not be read, before anything that is only as true as what was read.
func (t text) notRead(b *bytes.Buffer, gaps []report.Gap, notes []string) {
	if len(gaps) > 0 {
		fmt.Fprintln(b, t.bold("Not read"))
		forbidden := false
		shown := gaps
		if !t.wide {
			shown = shown[:min(len(shown), most)]
		}
		for _, g := range shown {
			wrapped(b, "  ", fmt.Sprintf("%s: %s. %s.", g.What, strings.TrimSuffix(g.Why(), "."), sentence(g.Effect)))
			forbidden = forbidden || g.Reason == "Forbidden"
		}
		if n := len(gaps) - len(shown); n > 0 {
			fmt.Fprintf(b, "  %s\n", t.faint(fmt.Sprintf("… and %d more (-o wide shows them)", n)))
		}
		if forbidden && t.PrintRole != "" {
			fmt.Fprintf(b, "  %s %s prints a role that may read it\n", t.faint("→"), printable(t.PrintRole))
		}
		fmt.Fprintln(b)
	}
	if len(notes) > 0 {
		fmt.Fprintln(b, t.bold("Notes"))
		for _, n := range notes {
			wrapped(b, "  ", sentence(n)+".")
		}
		fmt.Fprintln(b)
	}
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

func sentence(s string) string {
	if s == "" {
		return s
	}
	first, size := utf8.DecodeRuneInString(s)
	return string(unicode.ToUpper(first)) + s[size:]
}

// wrapped writes text in lines that begin with indent.
func wrapped(b *bytes.Buffer, indent, s string) {
	for _, line := range lines(s, len(indent), len(indent)) {
		fmt.Fprintln(b, indent+line)
	}
}

// lines breaks text so that it fits when its first line begins at column first and the others at column rest. Words longer than a line
// stay whole, so that they can be copied.
func lines(s string, first, rest int) []string {
	return filled(strings.Fields(printable(s)), first, rest)
}

// filled fills lines with words, which may be coloured, as lines does.
func filled(words []string, first, rest int) []string {
	var out []string
	line, at := "", first
	for _, word := range words {
		if line != "" && at+span(line)+1+span(word) > width {
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

// span is how many columns of a terminal a text takes. Where East Asian fonts disagree about a character it is the narrow width, whatever
// the locale: the same report gives the same bytes.
func span(s string) int { return twwidth.WidthWithOptions(s, twwidth.Options{}) }
