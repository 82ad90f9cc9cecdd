// SPDX-License-Identifier: Apache-2.0

// Package redact hides values of Secrets in text, also if they are encoded or escaped. It does not depend on the source of the values or on
// the type of the document.
package redact

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// minLength is the minimum length in bytes of a secret value that is searched for in other text. Shorter values, such as "true" or "1", occur
// everywhere.
const minLength = 6

// Secrets collects the values that must not be shown. The zero value is ready to use. A cluster may have very many values, so they are stored
// unchanged and only expanded into their forms if a text may quote them.
type Secrets struct {
	stored, plain map[string]bool
	others        *Secrets // from AddQuoted: no bundle states them, and any user can choose them
}

// Add adds a base64 value, as in a Secret's data. The decoded value is hidden as well.
func (s *Secrets) Add(encoded string) { put(&s.stored, encoded) }

// AddPlain adds an unencoded value.
func (s *Secrets) AddPlain(v string) { put(&s.plain, v) }

func put(set *map[string]bool, v string) {
	if *set == nil {
		*set = map[string]bool{}
	}
	(*set)[v] = true
}

// each calls f with every value to hide.
func (s *Secrets) each(f func(string)) {
	for v := range s.plain {
		variants(v, false, f)
	}
	for v := range s.stored {
		variants(v, true, f)
	}
}

// variants calls f with the value, with the value without surrounding blanks (a file often ends with a newline that a program drops) and, if it
// is stored as base64, with the decoded value.
func variants(v string, stored bool, f func(string)) {
	if len(v) >= minLength {
		f(v)
	}
	if trimmed := strings.TrimSpace(v); len(trimmed) >= minLength && trimmed != v {
		f(trimmed)
	}
	if b, err := base64.StdEncoding.DecodeString(v); stored && err == nil {
		variants(string(b), false, f)
	}
}

// quoted returns the forms of values that may be in the texts: those whose first bytes are in them.
func (s *Secrets) quoted(in fragments) map[string]bool {
	out := map[string]bool{}
	if len(in) == 0 {
		return out
	}
	s.each(func(v string) {
		if !in.mayQuote(v) {
			return
		}
		for f := range forms(v) {
			if in.has(f) {
				out[f] = true
			}
		}
	})
	return out
}

// fragments is the set of all substrings of minLength bytes of some texts.
type fragments map[[minLength]byte]struct{}

func (x fragments) add(text string) {
	for i := 0; i+minLength <= len(text); i++ {
		x[[minLength]byte([]byte(text[i:i+minLength]))] = struct{}{}
	}
}

func (x fragments) has(prefix string) bool {
	if len(prefix) < minLength {
		return false
	}
	_, ok := x[[minLength]byte([]byte(prefix[:minLength]))]
	return ok
}

// mayQuote says whether the texts may contain a form of the value. It compares the first bytes.
func (x fragments) mayQuote(v string) bool {
	for f := range forms(v[:min(len(v), prefixLength)]) {
		if x.has(f) {
			return true
		}
	}
	return false
}

// replacer hides the values in a text, except those in except. Longer values come first, so that a value that contains another one is hidden
// completely.
func replacer(values, except map[string]bool) *strings.Replacer {
	all := make([]string, 0, len(values))
	for v := range values {
		if !except[v] {
			all = append(all, v)
		}
	}
	slices.SortFunc(all, func(a, b string) int {
		if len(a) != len(b) {
			return len(b) - len(a)
		}
		return strings.Compare(a, b)
	})
	pairs := make([]string, 0, 2*len(all))
	for _, v := range all {
		pairs = append(pairs, v, "***")
	}
	return strings.NewReplacer(pairs...)
}

// AddText adds a text from a Secret: the whole text and, if it is YAML, each value in it, because a template may use the values one by one.
func (s *Secrets) AddText(text []byte) {
	s.AddPlain(string(text))
	raw, err := yaml.YAMLToJSON(text)
	if err != nil {
		return
	}
	var v any
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber() // a password may be a number
	if d.Decode(&v) == nil {
		Leaves(v, s.AddPlain)
	}
}

// Leaves calls f with each string and number in decoded JSON.
func Leaves(v any, f func(string)) {
	switch v := v.(type) {
	case string:
		f(v)
	case json.Number:
		f(v.String())
	case []any:
		for _, e := range v {
			Leaves(e, f)
		}
	case map[string]any:
		for _, e := range v {
			Leaves(e, f)
		}
	}
}
