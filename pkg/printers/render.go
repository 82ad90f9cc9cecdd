// SPDX-License-Identifier: Apache-2.0

package printers

import (
	"fmt"
	"strings"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/escape"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

const (
	// width is the width of a line in columns, unless a word is longer or the terminal has another width.
	width = 100
	// minWidth is the least width for which tables are laid out, maxProse the greatest one of sentences.
	minWidth, maxProse = 60, 120
)

// block is a part of a section. A renderer writes it in lines.
type block interface{ lines(r renderer) []string }

// paragraph is a text that is wrapped after what begins its first line. The other lines are indented by rest. Each line
// of the text has the style.
type paragraph struct {
	before phrase
	words  []phrase
	rest   int
	style  style
}

// excerpt are the first lines of sections. If not all fit, the last line counts the others, which have this noun.
type excerpt struct {
	sections [][]block
	most     int
	noun     string
}

// renderer writes documents as text. Only the renderer makes text of a report safe to print.
type renderer struct {
	colour  bool
	columns int
}

// document returns sections with an empty line between them.
func (r renderer) document(sections [][]block) string {
	var out []string
	for _, s := range sections {
		out = append(out, r.text(s))
	}
	return strings.Join(out, "\n")
}

// text returns the lines of blocks.
func (r renderer) text(blocks []block) string {
	var b strings.Builder
	for _, x := range blocks {
		for _, line := range x.lines(r) {
			b.WriteString(line + "\n")
		}
	}
	return b.String()
}

// height is the number of lines that sections have on the screen.
func (r renderer) height(sections ...[]block) int {
	out := 0
	for _, line := range linesOf(r.document(sections)) {
		out += height(line, r.columns)
	}
	return out
}

func linesOf(s string) []string {
	if s == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(s, "\n"), "\n")
}

// phrase returns a text in colours, if the output has them.
func (r renderer) phrase(p phrase) string {
	var b strings.Builder
	for _, x := range p {
		b.WriteString(r.painted(x.style, escape.Line(x.text)))
	}
	return b.String()
}

func (r renderer) painted(as style, s string) string {
	if !r.colour || as == plain || s == "" {
		return s
	}
	return "\x1b[" + string(as) + "m" + s + reset
}

// reset is the code that ends colours and fonts.
const reset = "\x1b[0m"

func (p paragraph) lines(r renderer) []string {
	first := r.phrase(p.before)
	lines := r.wrapped(p.words, p.before.width(), p.rest)
	if len(lines) == 0 {
		return []string{first}
	}
	for i, line := range lines {
		begin := strings.Repeat(" ", p.rest)
		if i == 0 {
			begin = first
		}
		lines[i] = begin + r.painted(p.style, line)
	}
	return lines
}

// wrapped returns words in lines. The first line begins at column first, the others at column rest. Words longer than a
// line are not broken, so that they can be copied.
func (r renderer) wrapped(words []phrase, first, rest int) []string {
	most := min(r.columns, maxProse)
	var out []string
	line, column := "", first
	for _, word := range words {
		n := word.width()
		if line != "" && column+1+n > most {
			out = append(out, line)
			line, column = "", rest
		}
		if line != "" {
			line += " "
			column++
		}
		line += r.phrase(word)
		column += n
	}
	if line != "" {
		out = append(out, line)
	}
	return out
}

func (x excerpt) lines(r renderer) []string {
	return page(linesOf(r.document(x.sections)), r.columns, x.most, x.noun)
}

// page returns the first lines that fit on a terminal. If not all fit, the last line counts the others.
func page(lines []string, columns, rows int, noun string) []string {
	total := 0
	for _, line := range lines {
		total += height(line, columns)
	}
	if total <= rows {
		return lines
	}
	fit, used := 0, 1 // the last line
	for used+height(lines[fit], columns) <= rows {
		used += height(lines[fit], columns)
		fit++
	}
	return append(lines[:fit:fit], fmt.Sprintf("… and %s", report.Plural(len(lines)-fit, noun)))
}

// height is the number of lines that a terminal breaks a line into.
func height(line string, columns int) int { return max(1, (span(line)+columns-1)/columns) }

// phrase is a text in styles.
type phrase []run

// run is a text in one style. It is the text of the report: a renderer makes it safe to print.
type run struct {
	style style
	text  string
}

// join returns parts as one phrase: phrases, and other values as plain text.
func join(parts ...any) phrase {
	var out phrase
	for _, p := range parts {
		switch p := p.(type) {
		case phrase:
			out = append(out, p...)
		case string:
			out = append(out, run{text: p})
		default:
			out = append(out, run{text: fmt.Sprint(p)})
		}
	}
	return out
}

// joinWith returns phrases with a separator between them.
func joinWith(separator string, all []phrase) phrase {
	var out phrase
	for i, p := range all {
		if i > 0 {
			out = join(out, separator)
		}
		out = join(out, p)
	}
	return out
}

// text is the phrase without styles.
func (p phrase) text() string {
	if len(p) == 1 {
		return p[0].text
	}
	var b strings.Builder
	for _, r := range p {
		b.WriteString(r.text)
	}
	return b.String()
}

// width is the number of columns of a phrase.
func (p phrase) width() int {
	n := 0
	for _, r := range p {
		n += span(escape.Line(r.text))
	}
	return n
}

// shortened is the phrase in at most n columns.
func (p phrase) shortened(n int) phrase {
	if p.width() <= n {
		return p
	}
	return join(short(p.text(), n))
}

// styled returns a text in a style.
func styled(as style, s string) phrase {
	if s == "" {
		return nil
	}
	return phrase{{as, s}}
}

func bold(s string) phrase  { return styled(strong, s) }
func faint(s string) phrase { return styled(dim, s) }

// word is a word in its style, and padded also as wide as the longest severity.
func word(s string) phrase { return styled(styles[s], s) }
func padded(s string) phrase {
	return styled(styles[s], s+strings.Repeat(" ", max(0, len("warning")-len(s))))
}

// wordsOf returns the words of a text.
func wordsOf(s string) []phrase {
	var out []phrase
	for _, word := range strings.Fields(escape.Line(s)) { // another blank than a space does not separate words
		out = append(out, join(word))
	}
	return out
}

// style is the code of a colour or a font (ECMA-48, select graphic rendition).
type style string

const (
	plain  style = ""
	strong style = "1"
	dim    style = "2"
	red    style = "31"
	green  style = "32"
	yellow style = "33"
	cyan   style = "36"
)

// styles are the styles of words: severities, heartbeats, imports, results of impact, verdicts and actions.
var styles = map[string]style{
	"error": red, "warning": yellow, "info": cyan,
	"alive": green, "stale": red, "never": yellow, "ahead": yellow,
	"re-import": red, "blocked": yellow, "none": green,
	"Removes": red, "MayRemove": red, "Unknown": yellow, "Keeps": green,
	"refused": red, "contested": red, "unknown": yellow, "ok": green,
	"adopt": green, "restore": green, "refuse": red, "leave": dim, "failed": red, "changed": red,
}
