// SPDX-License-Identifier: Apache-2.0

package report

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/secret"
)

// redacted returns a copy of a document in which secrets are hidden. sentences adds sentences of the document that this
// program wrote.
func redacted[T any](s *secret.Values, d *T, sentences func(*secret.Published)) *T {
	replace := s.Redactor(document{d, sentences})
	masks := masks{}
	return replaced(d, func(u use, text string) string {
		if u != usePointer {
			return replace(text)
		}
		if plain := unescapePointer.Replace(text); replace(plain) != plain {
			return ""
		}
		return text
	}, masks.mask, redactedUses...)
}

// unescapePointer replaces the escapes of a JSON pointer.
var unescapePointer = strings.NewReplacer("~1", "/", "~0", "~")

// masks are the numbered masks of values of Secrets: equal values have the same one.
type masks map[string]string

func (m masks) mask(v Value) Value {
	raw, err := json.Marshal(v.Reveal())
	if err != nil {
		raw = []byte(fmt.Sprint(v.Reveal()))
	}
	mask, known := m[string(raw)]
	if !known {
		mask = fmt.Sprintf("***%d", len(m)+1)
		m[string(raw)] = mask
	}
	return evaluate.Masked(mask)
}

// document implements secret.Document.
type document struct {
	of        any // a pointer to a document
	sentences func(*secret.Published)
}

// Texts implements secret.Document.
func (d document) Texts(add func(...string)) {
	read(d.of, func(u use, text string) {
		if u == usePointer {
			text = unescapePointer.Replace(text)
		}
		add(text)
	}, redactedUses...)
}

// Names implements secret.Document.
func (d document) Names(add func(...string)) {
	read(d.of, func(_ use, text string) { add(text) }, useName)
}

// Published implements secret.Document.
func (d document) Published(p *secret.Published) {
	read(d.of, func(_ use, text string) { p.Sentence(text, nil) }, useWord)
	read(d.of, func(_ use, text string) { p.Path(text) }, usePath)
	if d.sentences != nil {
		d.sentences(p)
	}
}
