// SPDX-License-Identifier: Apache-2.0

package printers

import (
	"fmt"
	"strings"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/escape"
)

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
