// SPDX-License-Identifier: Apache-2.0

package redact

import (
	"iter"
	"slices"
)

// minLength is the minimum length in bytes of a secret value that is searched for in other text. Shorter values, such as "true" or "1", occur
// everywhere.
const minLength = 6

// prefixLength is the number of leading bytes of a value that are encoded to check whether a text may contain a form of the value. It is a
// multiple of a base64 group. It is long enough that the prefix still has minLength bytes after one form has collapsed its blanks.
const prefixLength = 48

// Quotes indexes the texts of a document, to find out which values of Secrets the document may quote.
type Quotes struct {
	fragments map[[minLength]byte]bool // all substrings of minLength bytes
}

// Add adds texts, and the texts without their escapes.
func (q *Quotes) Add(texts ...string) {
	if q.fragments == nil {
		q.fragments = map[[minLength]byte]bool{}
	}
	for _, text := range texts {
		for _, t := range append(unescaped(text), text) {
			for i := range len(t) - minLength + 1 {
				q.fragments[[minLength]byte([]byte(t[i:i+minLength]))] = true
			}
		}
	}
}

// Empty says whether no text was added that is long enough to contain a value.
func (q *Quotes) Empty() bool { return len(q.fragments) == 0 }

// has says whether the texts contain the first bytes of a form.
func (q *Quotes) has(form string) bool {
	return len(form) >= minLength && q.fragments[[minLength]byte([]byte(form[:minLength]))]
}

// mayQuote says whether the texts may contain a form of the value.
func (q *Quotes) mayQuote(v string) bool {
	return q.has(v) || slices.ContainsFunc(forms(v[:min(len(v), prefixLength)]), q.has)
}

// formsOf returns the forms of values that the texts may contain. The values are those of Secrets.
func (q *Quotes) formsOf(values map[string]bool) map[string]bool {
	out := map[string]bool{}
	if q.Empty() {
		return out
	}
	for value, encoded := range values {
		for _, v := range variants(value, encoded) {
			if !q.mayQuote(v) {
				continue
			}
			for _, f := range forms(v) {
				if q.has(f) {
					out[f] = true
				}
			}
		}
	}
	return out
}

func longestFirst(all iter.Seq[string]) []string {
	return slices.SortedFunc(all, func(a, b string) int { return len(b) - len(a) })
}
