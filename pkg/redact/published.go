// SPDX-License-Identifier: Apache-2.0

package redact

import (
	"maps"
	"regexp"
	"slices"
	"strings"
)

// Document is a document in which values are hidden.
type Document interface {
	// Texts calls the function with every text of the document.
	Texts(func(...string))
	// Names calls the function with every name of an object. A value that equals a name is not hidden.
	Names(func(...string))
	// Published adds the text that the program itself wrote. A value of a Secret that no bundle states is not hidden if it is part of that text.
	Published(*Published)
}

// Redactor returns a function that hides the values in a text of the document.
func (s *Secrets) Redactor(d Document) func(text string) string {
	var q Quotes
	d.Texts(q.Add)
	values := s.quoted(q.texts)
	if s.others != nil {
		if others := s.others.quoted(q.texts); len(others) > 0 {
			var published Published
			d.Published(&published)
			published.without(others)
			maps.Copy(values, others)
		}
	}
	hiding := replacer(values, namesAmong(values, d.Names))
	return func(text string) string { return hideEscaped(hiding, text) }
}

// namesAmong returns the values that are names in the document. A database Secret often has such a value. Hiding a name protects nothing,
// because the text around it reveals it, and a command without its namespace is useless.
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

// quotedPart matches the quoted parts of a sentence or a path.
var quotedPart = regexp.MustCompile(`"(?:[^"\\]|\\.)*"`)

// Published collects the text that the program itself wrote: sentences of constant text and identifiers, without their quoted parts.
type Published struct{ sentences, paths strings.Builder }

// Sentence adds a sentence without its quoted parts and without the paths. The map keys in a path may be any text.
func (p *Published) Sentence(text string, paths []string) {
	longest := slices.SortedFunc(slices.Values(paths), func(x, y string) int { return len(y) - len(x) })
	for _, path := range longest { // one path may be a prefix of another
		text = strings.ReplaceAll(text, path, "\x00")
	}
	p.sentences.WriteString(quotedPart.ReplaceAllString(text, "\x00") + "\x00")
}

// Path adds the path of a field.
func (p *Published) Path(path string) {
	p.paths.WriteString(quotedPart.ReplaceAllString(path, "\x00") + "\x00")
}

// without deletes the values that are part of the added text: hiding them protects nothing and makes the report useless. In a path, only a
// value that begins with a dot counts, because any other one may be a map key.
func (p *Published) without(values map[string]bool) {
	sentences, paths := p.sentences.String(), p.paths.String()
	for v := range values {
		if strings.Contains(sentences, v) || strings.HasPrefix(v, ".") && strings.Contains(paths, v) {
			delete(values, v)
		}
	}
}
