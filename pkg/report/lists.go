// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"slices"
)

// each returns a copy of a list with every element changed, and nil for nil.
func each[T any](list []T, change func(T) T) []T {
	out := slices.Clone(list)
	for i, x := range out {
		out[i] = change(x)
	}
	return out
}

// present turns nil into an empty list, so that JSON has [] and not null.
func present[T any](l []T) []T {
	if l == nil {
		return []T{}
	}
	return l
}

// Plural writes a number with a noun.
func Plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
