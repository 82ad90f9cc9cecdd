// SPDX-License-Identifier: Apache-2.0

// Package redact hides values of Secrets in text: as they are, and in the encodings and escapes in which programs quote them. It knows neither
// where values come from nor what they are hidden in.
package redact

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// shortest is the length from which on a secret value is looked for inside other text. Shorter ones, "true" or "1", are
// everywhere, and prove nothing.
const shortest = 6

// Secrets gathers the values that must not be shown, wherever they turn up. The zero value is ready to use. There may be as many as a
// cluster has, so it keeps them as they come; what becomes of them is only thought about where there is text that may quote them.
type Secrets struct {
	stored, plain map[string]bool
	others        *Secrets // those of AddQuoted, which no bundle states: anyone may choose them
}

// Add adds a value as it is stored: base64, as in a Secret's data. What it decodes to is hidden as well.
func (s *Secrets) Add(encoded string) { put(&s.stored, encoded) }

// AddPlain adds a value in the clear.
func (s *Secrets) AddPlain(v string) { put(&s.plain, v) }

func put(set *map[string]bool, v string) {
	if *set == nil {
		*set = map[string]bool{}
	}
	(*set)[v] = true
}

// each calls f with every value that is to be hidden.
func (s *Secrets) each(f func(string)) {
	for v := range s.plain {
		variants(v, false, f)
	}
	for v := range s.stored {
		variants(v, true, f)
	}
}

// variants calls f with a value as it is, as a program uses what a file or a heredoc made, and, of a stored one, with what it decodes to.
func variants(v string, stored bool, f func(string)) {
	if len(v) >= shortest {
		f(v)
	}
	if trimmed := strings.TrimSpace(v); len(trimmed) >= shortest && trimmed != v {
		f(trimmed)
	}
	if b, err := base64.StdEncoding.DecodeString(v); stored && err == nil {
		variants(string(b), false, f)
	}
}

// quoted returns the forms of values that may be in a text: those whose first bytes are in it.
func (s *Secrets) quoted(in shingles) map[string]bool {
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

// shingles are all pieces of so many bytes that some texts have.
type shingles map[[shortest]byte]struct{}

func (x shingles) add(text string) {
	for i := 0; i+shortest <= len(text); i++ {
		x[[shortest]byte([]byte(text[i:i+shortest]))] = struct{}{}
	}
}

func (x shingles) has(prefix string) bool {
	if len(prefix) < shortest {
		return false
	}
	_, ok := x[[shortest]byte([]byte(prefix[:shortest]))]
	return ok
}

// mayQuote says whether a form of a value may be in the texts, by the first bytes of it.
func (x shingles) mayQuote(v string) bool {
	for f := range forms(v[:min(len(v), beginning)]) {
		if x.has(f) {
			return true
		}
	}
	return false
}

// replacer hides values in text; the longest first, so that one that contains another goes whole. Those excepted stay.
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

// AddText adds a text with values that came from a Secret: the whole, and each value in it where it is YAML, which a template may put anywhere.
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
