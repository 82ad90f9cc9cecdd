// SPDX-License-Identifier: Apache-2.0

package evaluate

import "fmt"

// Value is a value in a difference. The zero Value is no value. A secret value is hidden when it is formatted or encoded.
type Value struct {
	set, secret bool
	v           any
}

// Plain returns a Value that may be shown.
func Plain(v any) Value { return Value{set: true, v: v} }

// Secret returns a Value that is never shown.
func Secret(v any) Value { return Value{set: true, secret: true, v: v} }

// Set says whether there is a value.
func (v Value) Set() bool { return v.set }

// Secret says whether the value must not be shown.
func (v Value) Secret() bool { return v.secret }

// Reveal returns the value as decoded JSON, also if it is secret.
func (v Value) Reveal() any { return v.v }

func (v Value) shown() bool { return v.set && !v.secret }

// String is Go's default format; it hides a secret.
func (v Value) String() string {
	if v.secret {
		return "***"
	}
	return fmt.Sprint(v.v)
}

// GoString keeps %#v from printing the fields.
func (v Value) GoString() string { return v.String() }

// MarshalJSON keeps an encoder from writing a secret.
func (v Value) MarshalJSON() ([]byte, error) { return fmt.Appendf(nil, "%q", v.String()), nil }
