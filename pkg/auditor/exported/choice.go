// SPDX-License-Identifier: Apache-2.0

package exported

import (
	"cmp"
	"slices"
	"time"
)

// choice is the auditor whose word counts for something that several auditors export.
type choice[T any] struct {
	*target // nil if none
	of      *T
	// contradicted is true if an auditor that is no replica of this one exports something else.
	contradicted bool
}

// choose returns the auditor that counts, of those with a present state that export something which fits: of the
// replicas of one auditor, the leader or the newest one. equal compares what two auditors export.
func choose[T any](all []*target, now time.Time, get func(*target) *T, equal func(x, y *T) bool) choice[T] {
	var fit []*target
	for _, t := range all {
		if t.usable(now) && get(t) != nil {
			fit = append(fit, t)
		}
	}
	if len(fit) == 0 {
		return choice[T]{}
	}
	first := slices.MinFunc(fit, func(x, y *target) int {
		return cmp.Or(number(y.leads)-number(x.leads), y.evaluated.Compare(x.evaluated), cmp.Compare(x.name, y.name))
	})
	out := choice[T]{target: first, of: get(first)}
	out.contradicted = slices.ContainsFunc(fit, func(t *target) bool {
		return t.site != first.site && !equal(get(t), out.of)
	})
	return out
}

func number(yes bool) int {
	if yes {
		return 1
	}
	return 0
}
