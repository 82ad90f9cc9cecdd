// SPDX-License-Identifier: Apache-2.0

package secret

import "slices"

// Quotes indexes the texts of a document, to find out which values of Secrets the document may quote.
type Quotes struct {
	fragments map[[MinLength]byte]bool // all substrings of MinLength bytes
}

// Add adds texts, and the texts without their escapes.
func (q *Quotes) Add(texts ...string) {
	if q.fragments == nil {
		q.fragments = map[[MinLength]byte]bool{}
	}
	for _, text := range texts {
		for _, t := range append(Unescaped(text), text) {
			for i := range len(t) - MinLength + 1 {
				q.fragments[[MinLength]byte([]byte(t[i:i+MinLength]))] = true
			}
		}
	}
}

// Empty says whether no text was added that is long enough to contain a value.
func (q *Quotes) Empty() bool { return len(q.fragments) == 0 }

// has says whether the texts contain how a form begins.
func (q *Quotes) has(form string) bool {
	b, ok := beginningOf(form)
	return ok && q.hasBeginning(b)
}

func (q *Quotes) hasBeginning(b beginning) bool { return q.fragments[b.first] && q.fragments[b.second] }

// mayQuote says whether the texts may contain a form of the value.
func (q *Quotes) mayQuote(v string) bool {
	return q.has(v) || slices.ContainsFunc(Forms(v[:min(len(v), prefixLength)]), q.has)
}

// MayQuote reports whether the texts may quote a value with one of the beginnings.
func (q *Quotes) MayQuote(b Beginnings) bool {
	return slices.ContainsFunc(b, q.hasBeginning)
}

// formsOf returns the forms of the values that the texts may contain.
func (q *Quotes) formsOf(values map[string]value, known *knownBeginnings) map[string]value {
	out := map[string]value{}
	if q.Empty() {
		return out
	}
	for text, of := range values {
		if !q.MayQuote(known.get(text)) {
			continue
		}
		for _, v := range variants(text, of.encoded) {
			if !q.mayQuote(v) {
				continue
			}
			for _, f := range Forms(v) {
				if q.has(f) {
					out[f] = out[f].and(value{stated: of.stated, plain: of.plain || f != v})
				}
			}
		}
	}
	return out
}
