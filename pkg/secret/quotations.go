// SPDX-License-Identifier: Apache-2.0

package secret

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/escape"
)

// Quotations are texts of other programs that documents quote, such as the message of a condition. A document has a
// reference in place of the text, which only the redactor replaces: it hides values in the whole text before it
// shortens it, because it would not find the rest of a value that is cut.
type Quotations struct {
	texts    []quotation
	numbers  map[string]int // by text
	searched map[string]bool
	unread   func(Place) string
}

type quotation struct {
	text   string
	places []Place
}

// Place is a namespace with Secrets that a text may quote.
type Place struct {
	// Cluster is the index of the cluster among those that are read; negative if it is not read.
	Cluster   int
	Namespace string
}

// The noncharacters that enclose the number of a quotation in a text. Unicode reserves them for internal use.
const (
	open   = '\uFDD0'
	closed = '\uFDD1'
)

// Add returns a reference to a text that may quote Secrets of some places.
func (q *Quotations) Add(text string, places ...Place) string {
	n, known := q.numbers[text]
	if !known {
		if q.numbers == nil {
			q.numbers = map[string]int{}
		}
		n = len(q.texts)
		q.numbers[text] = n
		q.texts = append(q.texts, quotation{text: text})
	}
	for _, p := range places {
		if !slices.Contains(q.texts[n].places, p) {
			q.texts[n].places = append(q.texts[n].places, p)
		}
	}
	return string(open) + strconv.Itoa(n) + string(closed)
}

// Searched states in which texts the values of Secrets were searched for. unread returns why the Secrets of a place
// were not read; empty if they were. Without a call, and for other texts, no text is shown.
func (q *Quotations) Searched(texts []string, unread func(Place) string) {
	q.searched, q.unread = map[string]bool{}, unread
	for _, text := range texts {
		q.searched[text] = true
	}
}

var reference = regexp.MustCompile(string(open) + `\d+` + string(closed))

// quotation returns the quotation of a reference. A text with a reference that was not added has it from the cluster.
func (q *Quotations) quotation(ref string) (quotation, bool) {
	n, err := strconv.Atoi(strings.Trim(ref, string(open)+string(closed)))
	if err != nil || n >= len(q.texts) {
		return quotation{}, false
	}
	return q.texts[n], true
}

// quoted returns the texts to which a text refers.
func (q *Quotations) quoted(text string) []string {
	if !strings.ContainsRune(text, open) {
		return nil
	}
	var out []string
	for _, ref := range reference.FindAllString(text, -1) {
		if x, ok := q.quotation(ref); ok {
			out = append(out, x.text)
		}
	}
	return out
}

// expand replaces the references in a text. hide hides the values in a text.
func (q *Quotations) expand(text string, hide func(string) string) string {
	if !strings.ContainsRune(text, open) {
		return text
	}
	return reference.ReplaceAllStringFunc(text, func(ref string) string {
		x, ok := q.quotation(ref)
		if !ok {
			return ""
		}
		if why := q.withheld(x); why != "" {
			return "(its text is not shown: it may have values of Secrets that were not read, " + why + ")"
		}
		return shortened(hide(x.text))
	})
}

// withheld returns why a text must not be shown; empty if it may be shown.
func (q *Quotations) withheld(x quotation) string {
	if q.unread == nil || !q.searched[x.text] {
		return "those of all namespaces"
	}
	for _, p := range x.places {
		if why := q.unread(p); why != "" {
			return why
		}
	}
	return ""
}

// The bounds of a text that is shown.
const (
	maxLines = 3
	maxRunes = 600
)

// decoded are the parts of an input that decoders of JSON quote, as they quote them.
var decoded = regexp.MustCompile(`(?s)\.\.\.\|.*\|\.\.\.`)

// shortened returns the first lines of a text as one line, without the credentials of addresses and without the
// objects in JSON that it quotes: they are long, and may be manifests of Secrets.
func shortened(text string) string {
	text = escape.WithoutCredentials(withoutObjects(decoded.ReplaceAllString(text, "…")))
	var lines []string
	for line := range strings.Lines(text) {
		if line = strings.Join(strings.Fields(line), " "); line != "" {
			lines = append(lines, line)
		}
	}
	out, end := strings.Join(lines[:min(len(lines), maxLines)], " "), ""
	if len(lines) > maxLines {
		end = " …"
	}
	if runes := []rune(out); len(runes) > maxRunes {
		out, end = string(runes[:maxRunes]), "…"
	}
	return out + end
}

// objectBegin is the beginning of an object in JSON, or of a map as Go prints it, also inside of a quoted text.
var objectBegin = regexp.MustCompile(`\{\s*\\*"`)

// withoutObjects replaces each object in JSON by {…}, and everything after one that does not end.
func withoutObjects(text string) string {
	var b strings.Builder
	for {
		found := objectBegin.FindStringIndex(text)
		if found == nil {
			return b.String() + text
		}
		b.WriteString(text[:found[0]] + "{…}")
		text = text[found[0]:]
		text = text[objectEnd(text):]
	}
}

// objectEnd returns the length of the object at the beginning of a text. Braces in its strings count too, so it can
// be too long.
func objectEnd(text string) int {
	depth := 0
	for i := range len(text) {
		switch text[i] {
		case '{':
			depth++
		case '}':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return len(text)
}
