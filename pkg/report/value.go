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

// Secrets gathers the values that must not be shown, wherever they turn up. The zero value is ready to use.
type Secrets struct{ values map[string]bool }

// Add adds a value as it is stored: base64, as in a Secret's data. What it decodes to is hidden as well.
func (s *Secrets) Add(encoded string) {
	s.AddPlain(encoded)
	if b, err := base64.StdEncoding.DecodeString(encoded); err == nil {
		s.AddPlain(string(b))
	}
}

// AddPlain adds a value in the clear.
func (s *Secrets) AddPlain(v string) {
	s.add(v)
	s.add(strings.TrimSpace(v)) // as a program uses what a file or a heredoc made
}

// encodings are those in which a value may turn up.
var encodings = []*base64.Encoding{base64.StdEncoding, base64.RawStdEncoding, base64.URLEncoding, base64.RawURLEncoding}

func (s *Secrets) add(v string) {
	if len(v) < shortest {
		return
	}
	if s.values == nil {
		s.values = map[string]bool{}
	}
	s.values[v] = true
	for _, e := range encodings {
		s.values[e.EncodeToString([]byte(v))] = true
	}
	for _, html := range []bool{true, false} { // as it stands inside a JSON string
		var b bytes.Buffer
		e := json.NewEncoder(&b)
		e.SetEscapeHTML(html)
		if err := e.Encode(v); err == nil {
			s.values[strings.Trim(strings.TrimSpace(b.String()), `"`)] = true
		}
	}
}

// replacer hides the values in text; the longest first, so that one that contains another goes whole. Those excepted stay.
func (s *Secrets) replacer(except map[string]bool) *strings.Replacer {
	all := make([]string, 0, len(s.values))
	for v := range s.values {
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
