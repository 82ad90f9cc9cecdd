// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// each returns a copy of a list with every element changed, and nil for nil.
func each[T any](list []T, change func(T) T) []T {
	out := slices.Clone(list)
	for i, x := range out {
		out[i] = change(x)
	}
	return out
}

// complete makes the lists of a document that are nil empty, so that JSON has [] and not null. A list that JSON omits
// if it is empty stays nil. document is a pointer.
func complete(document any) { completeLists(reflect.ValueOf(document)) }

func completeLists(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			completeLists(v.Elem())
		}
	case reflect.Slice:
		for i := range v.Len() {
			completeLists(v.Index(i))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			f, tag := v.Field(i), v.Type().Field(i).Tag.Get("json")
			omitted := tag == "" || tag == "-" || strings.Contains(tag, ",omit")
			if f.Kind() == reflect.Slice && f.IsNil() && !omitted {
				f.Set(reflect.MakeSlice(f.Type(), 0, 0))
			}
			completeLists(f)
		}
	}
}

// countBy counts the elements of a list by a key.
func countBy[T any, K comparable](list []T, key func(T) K) map[K]int {
	out := map[K]int{}
	for _, x := range list {
		out[key(x)]++
	}
	return out
}

// Plural writes a number with a noun.
func Plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
