// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"reflect"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

var (
	quantityType  = reflect.TypeFor[resource.Quantity]()
	intOrString   = reflect.TypeFor[intstr.IntOrString]()
	durationType  = reflect.TypeFor[metav1.Duration]()
	timeType      = reflect.TypeFor[metav1.Time]()
	microTimeType = reflect.TypeFor[metav1.MicroTime]()
	bytesType     = reflect.TypeFor[[]byte]()
)

// equalScalars reports whether two plain values have the same meaning in a field of that type (nil: not known).
func equalScalars(t reflect.Type, desired, live any) bool {
	if desired == live || equalNumbers(desired, live) || equalNumbers(live, desired) {
		return true
	}
	t = deref(t)
	if t == nil || live == nil || !plain(live) {
		return false
	}
	d, l := fmt.Sprint(desired), fmt.Sprint(live)
	switch t {
	case quantityType:
		return equalQuantities(d, l)
	case intOrString:
		return d == l
	case durationType:
		return equalBy(time.ParseDuration, d, l, func(a, b time.Duration) bool { return a == b })
	case timeType, microTimeType:
		return equalBy(parseTime, d, l, time.Time.Equal)
	case bytesType:
		return equalBy(base64.StdEncoding.DecodeString, d, l, bytes.Equal)
	}
	// A number or boolean in a text field: the manifest lacks the quotes, and the server stored the text.
	return t.Kind() == reflect.String && d == l
}

func equalBy[T any](parse func(string) (T, error), a, b string, equal func(T, T) bool) bool {
	x, err := parse(a)
	if err != nil {
		return false
	}
	y, err := parse(b)
	return err == nil && equal(x, y)
}

// equalQuantities compares quantities as the API server stores them: rounded up to a thousandth.
func equalQuantities(a, b string) bool {
	return equalBy(resource.ParseQuantity, a, b, func(x, y resource.Quantity) bool {
		x.RoundUp(resource.Milli)
		y.RoundUp(resource.Milli)
		return x.Cmp(y) == 0
	})
}

func parseTime(s string) (time.Time, error) { return time.Parse(time.RFC3339Nano, s) }

// equalNumbers reports whether an integer and a float are the same number.
func equalNumbers(a, b any) bool {
	i, isInt := a.(int64)
	f, isFloat := b.(float64)
	return isInt && isFloat && float64(i) == f
}

// plain reports whether a value is neither an object nor a list.
func plain(v any) bool {
	switch v.(type) {
	case map[string]any, []any:
		return false
	}
	return true
}

// isZero reports whether a value is the zero value, which means "not set" in a field that is omitted when empty.
func isZero(v any) bool {
	switch v := v.(type) {
	case []any:
		return len(v) == 0
	case map[string]any:
		return len(v) == 0
	}
	switch v {
	case nil, "", false, int64(0), float64(0):
		return true
	}
	return false
}

func deref(t reflect.Type) reflect.Type {
	if t != nil && t.Kind() == reflect.Pointer {
		return t.Elem()
	}
	return t
}
