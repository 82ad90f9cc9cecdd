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
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/redact"
)

// valueOf makes what is shown of a value in a difference.
type valueOf func(d compare.Difference, value any) Value

// plain shows a value. One that is a Secret's after all is hidden within it.
func plain(_ compare.Difference, v any) Value { return Plain(v) }

// valuesOf says what may be shown of an object's values: of a Secret neither data nor what repeats it.
func valuesOf(ref object.Ref, sides ...object.Content) valueOf {
	if !isSecret(ref) {
		return plain
	}
	held := map[string]bool{}
	for _, c := range sides {
		dataOf(c, held)
	}
	return func(d compare.Difference, v any) Value {
		if holdsSecret(d.Path) || repeats(d.Desired, held) || repeats(d.Live, held) || repeats(v, held) {
			return Secret(v)
		}
		return Plain(v)
	}
}

// holdsSecret says whether a field of a Secret shows its data: anything but type, immutable and metadata, and of that the copies which
// kubectl and Rancher's apply leave in annotations.
func holdsSecret(p fieldpath.Path) bool {
	if len(p) == 0 || p[0].FieldName == nil {
		return true
	}
	switch *p[0].FieldName {
	case "type", "immutable":
		return false
	case "metadata":
		return strings.Contains(p.String(), corev1.LastAppliedConfigAnnotation) || strings.Contains(p.String(), "objectset.rio.cattle.io/applied")
	}
	return true
}

// dataOf adds the values of a Secret, however short, as they are stored and in the clear.
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

// repeats says whether a value outside of a Secret's data holds some of it: a Secret as JSON, or a word that is a value, however short. A long
// value within a text is hidden as everywhere.
func repeats(v any, held map[string]bool) bool {
	found := redact.SecretIn(v) != nil
	redact.Leaves(v, func(text string) {
		words := strings.FieldsFunc(text, func(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune(`=:,;"'{}[]()`, r) })
		words = append(words, strings.FieldsFunc(text, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })...)
		found = found || held[strings.TrimSpace(text)] || slices.ContainsFunc(words, func(word string) bool { return held[word] })
	})
	return found
}
