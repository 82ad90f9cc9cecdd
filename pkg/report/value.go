// SPDX-License-Identifier: Apache-2.0

package report

import (
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
)

// Value is a value in a difference. The zero Value is no value. A secret value prints as a numbered mask in a redacted document, and as
// "***" in any other one.
type Value struct {
	set, secret bool
	v           any
	mask        string
}

// Plain returns a Value that may be shown.
func Plain(v any) Value { return Value{set: true, v: v} }

// Secret returns a Value that is never shown.
func Secret(v any) Value { return Value{set: true, secret: true, v: v, mask: "***"} }

func newValue(v evaluate.Value) Value {
	switch {
	case !v.Set():
		return Value{}
	case v.Secret():
		return Secret(v.Reveal())
	}
	return Plain(v.Reveal())
}

// Shown returns what may be printed: decoded JSON, or the mask.
func (v Value) Shown() any {
	if v.secret {
		return v.mask
	}
	return v.v
}

// IsZero reports whether there is no value; then encoding/json omits it.
func (v Value) IsZero() bool { return !v.set }

// Equal reports whether two values are printed in the same way.
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
