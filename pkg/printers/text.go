// SPDX-License-Identifier: Apache-2.0

package printers

import (
	"bytes"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/olekukonko/tablewriter/pkg/twwidth"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/escape"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/printers/digest"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

const (
	// width is the width of a line in columns, unless a word is longer or the terminal has another width.
	width = 100
	// minWidth is the least width for which tables are laid out, maxProse the greatest one of sentences.
	minWidth, maxProse = 60, 120
)

// text lays out documents for people.
type text struct {
	Options
	wide bool
	// said are the effects of commands that were shown.
	said map[string]bool
	out  *bytes.Buffer
	// failed is the error of the tables that could not be laid out.
	failed *error
}

// line writes a line.
func (t text) line(s string) { t.out.WriteString(s + "\n") }

// linef writes a line with a format.
func (t text) linef(format string, args ...any) { fmt.Fprintf(t.out, format+"\n", args...) }

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

// The tables write numbers as the other formats do.
var plural, fraction = report.Plural, digest.Fraction

func sentence(s string) string {
	if s == "" {
		return s
	}
	first, size := utf8.DecodeRuneInString(s)
	return string(unicode.ToUpper(first)) + s[size:]
}

// wrapped writes text in lines that begin with indent.
func (t text) wrapped(indent, s string) { t.painted(indent, "", s) }

// painted writes text as wrapped does, in a colour.
func (t text) painted(indent, code, s string) {
	for _, line := range t.lines(s, len(indent), len(indent)) {
		t.line(indent + t.colour(code, line))
	}
}

// sentences writes sentences as wrapped does. Empty ones are left out.
func (t text) sentences(indent string, all ...string) {
	for _, s := range all {
		if s != "" {
			t.wrapped(indent, sentence(s)+".")
		}
	}
}

// suggest shows a command, if there is one.
func (t text) suggest(command string) {
	if command != "" {
		t.line(t.faint("→") + " " + printable(command))
	}
}

// block wraps text: its first line continues a line at column first, the others are indented by rest.
func (t text) block(s string, first, rest int) string {
	return strings.Join(t.lines(s, first, rest), "\n"+strings.Repeat(" ", rest))
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

// The codes of colours and fonts (ECMA-48, select graphic rendition).
const (
	bold   = "1"
	faint  = "2"
	red    = "31"
	green  = "32"
	yellow = "33"
	cyan   = "36"
)

func (t text) colour(code, s string) string {
	if !t.Colour || code == "" || s == "" {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}

func (t text) bold(s string) string  { return t.colour(bold, s) }
func (t text) faint(s string) string { return t.colour(faint, s) }

// inset is the indent of the lines below the first line of a finding.
const inset = "          "

// colours are the colours of words: severities, heartbeats, imports, results of impact, verdicts and actions.
var colours = map[string]string{
	"error": red, "warning": yellow, "info": cyan,
	"alive": green, "stale": red, "never": yellow, "ahead": yellow,
	"re-import": red, "blocked": yellow, "none": green,
	"Removes": red, "MayRemove": red, "Unknown": yellow, "Keeps": green,
	"refused": red, "contested": red, "unknown": yellow, "ok": green,
	"adopt": green, "restore": green, "refuse": red, "leave": faint, "failed": red, "changed": red,
}

// word shows a word in its colour.
func (t text) word(s string) string { return t.colour(colours[s], printable(s)) }

// padded shows a word in its colour, as wide as the longest severity.
func (t text) padded(s string) string { return t.colour(colours[s], fmt.Sprintf("%-7s", s)) }

// printable returns a text of the cluster as one line that is safe to print.
func printable(s string) string { return escape.Line(s) }

// gap separates two columns.
const gap = "  "

// atMost shortens a name or a state on a terminal, so that a table keeps its width.
func (t text) atMost(s string, n int) string {
	if !t.fits() {
		return printable(s)
	}
	return short(s, n)
}

// cut shortens a text to n columns. It keeps the beginning.
func cut(s string, n int) string {
	if span(s) <= n {
		return s
	}
	name := []rune(s)
	for len(name) > 0 && span(string(name))+1 > n {
		name = name[:len(name)-1]
	}
	return strings.TrimRight(string(name), " ") + "…"
}

// short removes the middle of a name that is longer than n columns: names of bundles of one repository differ at the
// end.
func short(s string, n int) string {
	s = printable(s)
	if span(s) <= n {
		return s
	}
	name := []rune(s)
	begin, end := 0, len(name)
	for begin < end && span(string(name[:begin+1])) <= n/2 {
		begin++
	}
	for end > begin && span(string(name[end-1:])) <= (n-1)/2 {
		end--
	}
	for end < len(name) && span(string(name[end])) == 0 {
		end++ // a combining character without its letter
	}
	return string(name[:begin]) + "…" + string(name[end:])
}

// emptyLine writes an empty line, unless the last line is one.
func (t text) emptyLine() {
	if !bytes.HasSuffix(t.out.Bytes(), []byte("\n\n")) {
		t.line("")
	}
}
