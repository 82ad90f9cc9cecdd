// SPDX-License-Identifier: Apache-2.0

package redact

import (
	"maps"
	"regexp"
	"slices"
	"strings"
)

// Document is what values are hidden in.
type Document interface {
	// Texts passes on every text that is shown.
	Texts(func(...string))
	// Names passes on every name of an object. A value that is one stays.
	Names(func(...string))
	// Published passes on what the program says by itself. A value of a Secret that no bundle states stays where it is a part of that.
	Published(*Published)
}

// Hider returns the function that hides in a text of a document what must not be shown.
func (s *Secrets) Hider(d Document) func(text string) string {
	var q Quotes
	d.Texts(q.Add)
	values := s.quoted(q.texts)
	if s.others != nil {
		if others := s.others.quoted(q.texts); len(others) > 0 {
			var said Published
			d.Published(&said)
			said.without(others)
			maps.Copy(values, others)
		}
	}
	hiding := replacer(values, namesAmong(values, d.Names))
	return func(text string) string { return hideEscaped(hiding, text) }
}

// namesAmong picks the values that are names in the document. A Secret whose value is one, as that of a database often is, hides nothing if it
// is cut out of the sentences around it, and a command without its namespace is of no use.
func namesAmong(values map[string]bool, names func(func(...string))) map[string]bool {
	out := map[string]bool{}
	if len(values) == 0 {
		return out
	}
	names(func(all ...string) {
		for _, name := range all {
			if values[name] {
				out[name] = true
			}
			for part := range strings.SplitSeq(name, "/") {
				if values[part] {
					out[part] = true
				}
			}
		}
	})
	return out
}

// quotedPart is what a sentence or a path quotes.
var quotedPart = regexp.MustCompile(`"(?:[^"\\]|\\.)*"`)

// Published gathers what the program says by itself: sentences made of constant text and of identifiers, without what they quote.
type Published struct{ sentences, paths strings.Builder }

// Sentence adds a sentence, without its quoted parts and without the paths, whose map keys may be anything.
func (p *Published) Sentence(text string, paths []string) {
	longest := slices.SortedFunc(slices.Values(paths), func(x, y string) int { return len(y) - len(x) })
	for _, path := range longest { // one path may begin as another one does
		text = strings.ReplaceAll(text, path, "\x00")
	}
	p.sentences.WriteString(quotedPart.ReplaceAllString(text, "\x00") + "\x00")
}

// Path adds the path of a field.
func (p *Published) Path(path string) {
	p.paths.WriteString(quotedPart.ReplaceAllString(path, "\x00") + "\x00")
}

// without deletes the values that are a part of what was added: hiding them keeps nothing secret, and takes the report away. Of a path that
// holds for a value that begins as a field does, as any other one may be a map key.
func (p *Published) without(values map[string]bool) {
	sentences, paths := p.sentences.String(), p.paths.String()
	for v := range values {
		if strings.Contains(sentences, v) || strings.HasPrefix(v, ".") && strings.Contains(paths, v) {
			delete(values, v)
		}
	}
}
