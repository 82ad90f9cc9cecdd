// SPDX-License-Identifier: Apache-2.0

package evaluate

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"unicode"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/compare"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/secret"
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
	found := secret.SecretIn(v) != nil
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
