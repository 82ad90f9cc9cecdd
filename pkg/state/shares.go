// SPDX-License-Identifier: Apache-2.0

package state

import (
	"cmp"
	"maps"
	"slices"
)

// shares are the shares of namespaces in something that has a limit for each of them and for all together.
type shares map[string]int

// share is a limit, and why what exceeds it is not read.
type share struct {
	limit int
	why   error
}

// exceeded returns the namespaces whose share is not read, with the reasons. Of those within the limit of one, the
// largest ones exceed the limit of all.
func (s shares) exceeded(one, all share) map[string]error {
	out := map[string]error{}
	total := 0
	for namespace, n := range s {
		if n > one.limit {
			out[namespace] = one.why
			continue
		}
		total += n
	}
	largest := func(a, b string) int { return cmp.Or(cmp.Compare(s[b], s[a]), cmp.Compare(a, b)) }
	for _, namespace := range slices.SortedFunc(maps.Keys(s), largest) {
		if total <= all.limit {
			break
		}
		if out[namespace] == nil {
			out[namespace] = all.why
			total -= s[namespace]
		}
	}
	return out
}
