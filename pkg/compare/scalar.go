// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"reflect"
	"strconv"
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
	if numbersEqual(desired, live) || desired == live && plain(desired) {
		return true
	}
	if live == nil || !plain(live) {
		return false
	}
	t = deref(t)
	if t == nil {
		return false
	}
	d, l := text(desired), text(live)
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
	// A number or boolean in a text field: the quotes are missing in the manifest, and a server that accepted it stored the text.
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

func numbersEqual(a, b any) bool {
	switch a := a.(type) {
	case int64:
		switch b := b.(type) {
		case int64:
			return a == b
		case float64:
			return float64(a) == b
		}
	case float64:
		switch b := b.(type) {
		case int64:
			return a == float64(b)
		case float64:
			return a == b
		}
	}
	return false
}

// plain reports whether a value is neither an object nor a list.
func plain(v any) bool {
	switch v.(type) {
	case map[string]any, []any:
		return false
	}
	return true
}

func text(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case int64:
		return strconv.FormatInt(v, 10)
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64)
	}
	return fmt.Sprint(v)
}

// isZero reports whether a value is the zero value, which means "not set" in a field that is omitted when empty.
func isZero(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case string:
		return v == ""
	case bool:
		return !v
	case int64:
		return v == 0
	case float64:
		return v == 0
	case []any:
		return len(v) == 0
	case map[string]any:
		return len(v) == 0
	}
	return false
}
