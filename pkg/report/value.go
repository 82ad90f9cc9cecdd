// SPDX-License-Identifier: Apache-2.0

package report

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// Value is a value in a difference. The zero Value is no value. A secret one prints as an ordinal once the report is closed, and as
// "***" before that.
type Value struct {
	set, secret bool
	v           any
	mask        string
}

// Plain makes a Value that may be shown.
func Plain(v any) Value { return Value{set: true, v: v} }

// Secret makes a Value that is never shown.
func Secret(v any) Value { return Value{set: true, secret: true, v: v, mask: "***"} }

// Shown returns what may be printed: decoded JSON, or the mask.
func (v Value) Shown() any {
	if v.secret {
		return v.mask
	}
	return v.v
}

// IsZero says whether there is no value; encoding/json leaves it out then.
func (v Value) IsZero() bool { return !v.set }

// Equal says whether two values are the same, as far as may be shown.
func (v Value) Equal(o Value) bool {
	return v.set == o.set && v.secret == o.secret && reflect.DeepEqual(v.Shown(), o.Shown())
}

// MarshalJSON writes what may be printed.
func (v Value) MarshalJSON() ([]byte, error) { return json.Marshal(v.Shown()) }

// UnmarshalJSON reads what MarshalJSON wrote: a printed value, never a secret.
func (v *Value) UnmarshalJSON(b []byte) error {
	*v = Value{set: true}
	return json.Unmarshal(b, &v.v)
}

// String is Go's default format; it hides a secret as well.
func (v Value) String() string { return fmt.Sprint(v.Shown()) }

// GoString keeps %#v from printing the fields.
func (v Value) GoString() string { return v.String() }

// shortest is the length from which on a secret value is looked for inside other text. Shorter ones, "true" or "1", are
// everywhere, and prove nothing.
const shortest = 6

// Secrets gathers the values that must not be shown, wherever they turn up. The zero value is ready to use. There may be as many as a
// cluster has, so it keeps them as they come; what becomes of them is only thought about where there is text that may quote them.
type Secrets struct{ stored, plain map[string]bool }

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
	add := func(v string) {
		if len(v) >= shortest {
			f(v)
		}
		if trimmed := strings.TrimSpace(v); len(trimmed) >= shortest && trimmed != v {
			f(trimmed) // as a program uses what a file or a heredoc made
		}
	}
	for v := range s.plain {
		add(v)
	}
	for v := range s.stored {
		add(v)
		if b, err := base64.StdEncoding.DecodeString(v); err == nil {
			add(string(b))
		}
	}
}

// encodings are those in which a value may turn up.
var encodings = []*base64.Encoding{base64.StdEncoding, base64.RawStdEncoding, base64.URLEncoding, base64.RawURLEncoding}

// forms are those in which a value may turn up: always the same number, in the same order, and the beginnings of the forms of a value's
// beginning are those of the value's own forms.
func forms(v string) []string {
	out := []string{v}
	for _, e := range encodings {
		out = append(out, e.EncodeToString([]byte(v)))
	}
	for _, html := range []bool{true, false} { // as it stands inside a JSON string
		var b bytes.Buffer
		e := json.NewEncoder(&b)
		e.SetEscapeHTML(html)
		if err := e.Encode(v); err == nil {
			out = append(out, strings.Trim(strings.TrimSpace(b.String()), `"`))
		}
	}
	return out
}

// beginning is how much of a value its forms are made of to look whether they can be in a text at all. It holds whole groups of base64.
const beginning = 2 * shortest

// quoted returns the forms of values that may be in a text: those whose first bytes are in it.
func (s *Secrets) quoted(in shingles) map[string]bool {
	out := map[string]bool{}
	if len(in) == 0 {
		return out
	}
	s.each(func(v string) {
		found := false
		for _, f := range forms(v[:min(len(v), beginning)]) {
			found = found || in.has(f)
		}
		if !found {
			return
		}
		for _, f := range forms(v) {
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
