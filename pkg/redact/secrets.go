// SPDX-License-Identifier: Apache-2.0

// Package redact hides values of Secrets in text, also if they are encoded or escaped. It does not depend on the source
// of the values or on the type of the document.
package redact

import (
	"encoding/base64"
	"slices"
	"strings"
)

// Secrets collects the values that must not be shown. The zero value is ready to use. A cluster may have very many
// values, so they are stored unchanged and only expanded into their forms if a text may quote them.
type Secrets struct {
	// Quotations are the texts of other programs that documents quote.
	Quotations Quotations

	values     map[string]value
	beginnings knownBeginnings
}

// AddPlain adds an unencoded value.
func (s *Secrets) AddPlain(v string) { s.add(v, value{stated: true, plain: true}) }

func (s *Secrets) add(v string, of value) {
	if s.values == nil {
		s.values = map[string]value{}
	}
	s.values[v] = s.values[v].and(of)
}

// AddText adds a text from a Secret: the whole text and, if it is YAML, each value in it, because a template may use
// the values one by one.
func (s *Secrets) AddText(text []byte) {
	s.AddPlain(string(text))
	LeavesOf(text, s.AddPlain)
}

// AddSecret adds the values of a Secret, given as decoded JSON: its data, the registry logins in it, and the data in
// annotations with a copy of the Secret, such as the one of kubectl apply. A value that is not a string, such as
// 12345678, is added as text.
func (s *Secrets) AddSecret(c map[string]any) {
	secretValues(c, func(v string, encoded bool) { s.add(v, value{encoded, true, true}) })
}

// AddQuoted is AddSecret for the values that the document may quote. The values in except are not secret. With
// helmValues, the Secret has Helm values: YAML of which a template may use each value.
func (s *Secrets) AddQuoted(c map[string]any, q *Quotes, except map[string]bool, helmValues bool) {
	quoted := func(v string, of value) {
		all := variants(v, of.encoded)
		if slices.ContainsFunc(all, q.mayQuote) && !slices.ContainsFunc(all, func(v string) bool { return except[v] }) {
			s.add(strings.Clone(v), of) // the value must not keep the object in memory
		}
	}
	quotable(c, helmValues, quoted)
}

// quotable calls add with the values of a Secret that a document may quote.
func quotable(c map[string]any, helmValues bool, add func(string, value)) {
	secretValues(c, func(v string, encoded bool) {
		add(v, value{encoded: encoded, plain: true})
		if !helmValues {
			return
		}
		text := []byte(v)
		if encoded {
			text, _ = base64.StdEncoding.DecodeString(v) // Helm reads no damaged Secret
		}
		LeavesOf(text, func(leaf string) { add(leaf, value{encoded: true}) })
	})
}

// Prepare computes in advance what the first Redactor needs of the values.
func (s *Secrets) Prepare() {
	for v := range s.values {
		s.beginnings.get(v)
	}
}

// BeginningsOf returns the beginnings of all values that AddQuoted adds of a Secret.
func BeginningsOf(c map[string]any, helmValues bool) Beginnings {
	var out Beginnings
	quotable(c, helmValues, func(v string, _ value) { out = append(out, beginningsOf(v)...) })
	return out.compact()
}
