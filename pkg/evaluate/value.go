// SPDX-License-Identifier: Apache-2.0

package evaluate

import (
	"encoding/json"
	"fmt"
	"reflect"
)

// Value is a value in a difference. The zero Value is no value. A secret value is hidden when it is formatted or
// encoded: it prints as a numbered mask in a redacted document, and as "***" in any other one.
type Value struct {
	set, secret bool
	v           any
	mask        string
}

// Plain returns a Value that may be shown.
func Plain(v any) Value { return Value{set: true, v: v} }

// Secret returns a Value that is never shown.
func Secret(v any) Value { return Value{set: true, secret: true, v: v, mask: "***"} }

// Masked returns a secret Value of which only the mask is kept.
func Masked(mask string) Value { return Value{set: true, secret: true, mask: mask} }

// IsZero reports whether there is no value; then encoding/json omits it.
func (v Value) IsZero() bool { return !v.set }

// Secret reports whether the value must not be shown.
func (v Value) Secret() bool { return v.secret }

// Reveal returns the value as decoded JSON, also if it is secret.
func (v Value) Reveal() any { return v.v }

// Shown returns the value that may be printed: decoded JSON, or the mask.
func (v Value) Shown() any {
	if v.secret {
		return v.mask
	}
	return v.v
}

// Equal reports whether two values are printed in the same way.
func (v Value) Equal(o Value) bool {
	return v.set == o.set && v.secret == o.secret && reflect.DeepEqual(v.Shown(), o.Shown())
}

// MarshalJSON writes the value that may be printed.
func (v Value) MarshalJSON() ([]byte, error) { return json.Marshal(v.Shown()) }

// UnmarshalJSON reads a printed value, never a secret.
func (v *Value) UnmarshalJSON(b []byte) error {
	*v = Value{set: true}
	return json.Unmarshal(b, &v.v)
}

// String is Go's default format; it hides a secret as well.
func (v Value) String() string { return fmt.Sprint(v.Shown()) }

// GoString keeps %#v from printing the fields.
func (v Value) GoString() string { return v.String() }
