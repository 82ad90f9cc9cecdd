// SPDX-License-Identifier: Apache-2.0

package secret

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
	// Published adds the text that the program itself wrote. A value of a Secret that no bundle states is not hidden if
	// it is part of that text.
	Published(*Published)
}

// Redactor returns a function that hides the values in a text of the document, and replaces its references to
// quotations.
func (s *Values) Redactor(d Document) func(text string) string {
	var q Quotes
	d.Texts(func(texts ...string) {
		q.Add(texts...)
		for _, text := range texts {
			q.Add(s.Quotations.quoted(text)...)
		}
	})
	values := q.formsOf(s.values, &s.beginnings)
	if len(values) == 0 {
		return func(text string) string { return s.Quotations.expand(text, func(text string) string { return text }) }
	}
	withoutPublished(values, d)
	withoutNames(values, d)
	index := NewIndex()
	for v, of := range values {
		if of.plain {
			index.Add(v)
		} else {
			index.AddWord(v)
		}
	}
	hide := func(text string) string {
		hidden := index.Replace(text, func(string) string { return "***" })
		if slices.ContainsFunc(Unescaped(hidden), index.Has) {
			return "***" // the text has an escaped value
		}
		return hidden
	}
	return func(text string) string { return s.Quotations.expand(hide(text), hide) }
}

// withoutNames deletes the values that are names of objects. A database Secret often has a value that is a name. To
// hide it protects nothing, because the text around it reveals it, and a command without its namespace is useless.
func withoutNames(values map[string]value, d Document) {
	d.Names(func(names ...string) {
		for _, name := range names {
			delete(values, name)
			for more := true; more; {
				var part string
				part, name, more = strings.Cut(name, "/")
				delete(values, part)
			}
		}
	})
}

// withoutPublished deletes the values that no bundle states if they are part of what the program wrote: hiding them
// protects nothing and makes the report useless. In a path, only a value that begins with a dot counts, because any
// other one may be a map key.
func withoutPublished(values map[string]value, d Document) {
	if !slices.ContainsFunc(slices.Collect(maps.Values(values)), func(of value) bool { return !of.stated }) {
		return
	}
	var p Published
	d.Published(&p)
	sentences, paths := p.sentences.String(), p.paths.String()
	maps.DeleteFunc(values, func(v string, of value) bool {
		if of.stated {
			return false
		}
		return strings.Contains(sentences, v) || strings.HasPrefix(v, ".") && strings.Contains(paths, v)
	})
}

// quotedPart matches the quoted parts of a sentence or a path.
var quotedPart = regexp.MustCompile(`"(?:[^"\\]|\\.)*"`)

// Published collects the text that the program itself wrote: sentences of constant text and identifiers, without their
// quoted parts.
type Published struct{ sentences, paths strings.Builder }

// Sentence adds a sentence without its quoted parts and without the paths. The map keys in a path may be any text.
func (p *Published) Sentence(text string, paths []string) {
	longestFirst := func(a, b string) int { return len(b) - len(a) } // a path may be a prefix of another one
	for _, path := range slices.SortedFunc(slices.Values(paths), longestFirst) {
		text = strings.ReplaceAll(text, path, "\x00")
	}
	p.sentences.WriteString(quotedPart.ReplaceAllString(text, "\x00") + "\x00")
}

// Path adds the path of a field.
func (p *Published) Path(path string) {
	p.paths.WriteString(quotedPart.ReplaceAllString(path, "\x00") + "\x00")
}
