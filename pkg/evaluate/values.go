// SPDX-License-Identifier: Apache-2.0

package evaluate

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"unicode"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/compare"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/secret"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
)

// valueOf returns a value of a difference in the form that may be shown.
type valueOf func(d compare.Difference, value any) Value

// plain returns a value that may be shown. The report hides values of Secrets within it.
func plain(_ compare.Difference, v any) Value { return Plain(v) }

// valuesOf returns the valueOf for an object. For a Secret, it hides the data and every copy of the data.
func valuesOf(ref object.Ref, sides ...object.Content) valueOf {
	if !ref.IsSecret() {
		return plain
	}
	held := map[string]bool{}
	for _, c := range sides {
		dataOf(c, held)
	}
	return func(d compare.Difference, v any) Value {
		repeated := slices.ContainsFunc([]any{d.Desired, d.Live, v}, func(x any) bool { return repeats(x, held) })
		if repeated || holdsSecret(d.Path) {
			return Secret(v)
		}
		return Plain(v)
	}
}

// holdsSecret reports whether a field of a Secret contains its data. That is every field except type, immutable and
// metadata; in metadata, it is the annotations in which kubectl and Rancher's apply library keep a copy.
func holdsSecret(p fieldpath.Path) bool {
	if len(p) == 0 || p[0].FieldName == nil {
		return true
	}
	switch *p[0].FieldName {
	case "type", "immutable":
		return false
	case "metadata":
		return strings.Contains(p.String(), corev1.LastAppliedConfigAnnotation) ||
			strings.Contains(p.String(), "objectset.rio.cattle.io/applied")
	}
	return true
}

// dataOf adds the values of a Secret, encoded and decoded, whatever their length.
func dataOf(c object.Content, into map[string]bool) {
	for _, field := range []string{"data", "stringData"} {
		data, _ := c[field].(map[string]any)
		for _, v := range data {
			text := fmt.Sprint(v)
			into[strings.TrimSpace(text)] = true
			if b, err := base64.StdEncoding.DecodeString(text); err == nil {
				into[strings.TrimSpace(string(b))] = true
			}
		}
	}
	delete(into, "")
}

// repeats reports whether a value outside of a Secret's data repeats the data: it is a Secret as JSON, or it has a word
// that equals a value of any length. Package secret hides longer values within a text.
func repeats(v any, held map[string]bool) bool {
	found := secret.InAnnotation(v) != nil
	secret.Leaves(v, func(text string) {
		words := strings.FieldsFunc(text, func(r rune) bool {
			return unicode.IsSpace(r) ||
				strings.ContainsRune(`=:,;"'{}[]()`, r)
		})
		words = append(words, strings.FieldsFunc(text, func(r rune) bool {
			return !unicode.IsLetter(r) && !unicode.IsDigit(r)
		})...)
		found = found || held[strings.TrimSpace(text)] || slices.ContainsFunc(words, func(word string) bool {
			return held[word]
		})
	})
	return found
}

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

// otherGaps returns the gaps because of which objects that no release desires may be missing, even if every desired
// object was read before the list failed. A kind that is not served or not in a snapshot is not a failure. known are
// the gaps of the desired objects, which are not repeated.
func otherGaps(what string, cover source.Coverage, known []source.Gap) []source.Gap {
	repeated := func(g source.Gap) bool {
		return slices.ContainsFunc(known, func(o source.Gap) bool {
			if g.What == what {
				return o.Why() == g.Why()
			}
			return o.What == g.What
		})
	}
	others := source.AsOptional(source.CoverageGaps(what, cover, "orphaned objects of this kind may be missed"))
	return slices.DeleteFunc(others, func(g source.Gap) bool {
		absent := g.Reason == string(source.NotInSnapshot) || g.Reason == string(source.KindNotServed)
		return absent || repeated(g)
	})
}

func inNamespace(ns string) string {
	if ns == "" {
		return ""
	}
	return " in namespace " + ns
}

// unsearched returns one gap for all kinds that could not be searched for orphaned objects.
func unsearched(kinds []string) []source.Gap {
	if len(kinds) == 0 {
		return nil
	}
	const most = 5
	kinds = slices.Sorted(slices.Values(kinds))
	names := strings.Join(kinds[:min(most, len(kinds))], ", ")
	if n := len(kinds) - most; n > 0 {
		names += fmt.Sprintf(" and %d more", n)
	}
	return []source.Gap{{What: "searching for objects with the hash label in " + names, Reason: "not readable",
		Effect: "orphaned and abandoned objects of these kinds are not found", Optional: true}}
}

// Step is one step of the path to a field: the name of a field or a map key, or an element of a list. The text of a
// path is ambiguous, because a map key can contain dots.
type Step struct {
	// Name is used if the other fields are nil.
	Name string
	// Key has the fields that identify an element of a list, as decoded JSON.
	Key map[string]any
	// Member is an element of a list of plain values, as decoded JSON.
	Member any
	// Index is the position of an element that nothing else identifies.
	Index *int
}

// stepsOf returns the steps of a path.
func stepsOf(path fieldpath.Path) []Step {
	out := make([]Step, len(path))
	for i, e := range path {
		switch {
		case e.FieldName != nil:
			out[i].Name = *e.FieldName
		case e.Key != nil:
			out[i].Key = map[string]any{}
			for _, k := range *e.Key {
				out[i].Key[k.Name] = k.Value.Unstructured()
			}
		case e.Value != nil:
			out[i].Member = (*e.Value).Unstructured()
		default:
			out[i].Index = e.Index
		}
	}
	return out
}

// Trial is what the API server says about the next deploy of an object, in a dry run. The zero value is that of an
// object which a deploy does not change.
type Trial struct {
	// Accepted is true if the server would store the object. Refusal is why it would not, in its words, and may quote
	// values of Secrets. NotAsked is why it was not asked, as a sentence.
	Accepted          bool
	Refusal, NotAsked string
	// Warnings are those of a server that accepts it; they may quote values too.
	Warnings string
}

// WebhookFailed are the words of an API server that cannot call an admission webhook.
const WebhookFailed = "failed calling webhook"
