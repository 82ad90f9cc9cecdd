// SPDX-License-Identifier: Apache-2.0

package digest

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

// states are the states of bundle deployments that are not ready, in the order in which they are shown.
var states = []report.State{report.ErrApplied, report.WaitApplied, report.OutOfSync, report.Missing, report.Unowned,
	report.Modified, report.NotReady, report.Unknown}

// StatesOf are the states but Ready that spreads have, in the order in which they are shown. Fleet may report others
// than those of this package.
func StatesOf(all ...*Spread) []report.State {
	found := map[report.State]bool{}
	for _, s := range all {
		for state := range s.States {
			found[state] = state != report.Ready
		}
	}
	maps.DeleteFunc(found, func(_ report.State, shown bool) bool { return !shown })
	return slices.SortedFunc(maps.Keys(found), func(x, y report.State) int {
		return cmp.Or(cmp.Compare(place(x), place(y)), cmp.Compare(x, y))
	})
}

// place is the place of a state among those that are shown; other states come last.
func place(state report.State) int {
	if i := slices.Index(states, state); i >= 0 {
		return i
	}
	return len(states)
}

// Tallies are the numbers of bundle deployments in each state but Ready, such as "2 Modified".
func (s *Spread) Tallies() []string {
	var out []string
	for _, state := range StatesOf(s) {
		out = append(out, fmt.Sprintf("%d %s", s.States[state], state))
	}
	return out
}

// BundleOf is the bundle of a bundle deployment.
func BundleOf(bd *report.BundleDeployment) string { return bd.Bundle }
