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

// Tallies are the numbers of bundle deployments in each state but Ready, such as "2 Modified".
func (s *Spread) Tallies() []string {
	var out []string
	for _, state := range slices.SortedFunc(maps.Keys(s.States), func(x, y report.State) int {
		return cmp.Or(cmp.Compare(slices.Index(states, x), slices.Index(states, y)), cmp.Compare(x, y))
	}) {
		if state != report.Ready {
			out = append(out, fmt.Sprintf("%d %s", s.States[state], state))
		}
	}
	return out
}

// BundleOf is the bundle of a bundle deployment.
func BundleOf(bd *report.BundleDeployment) string { return bd.Bundle }

// UnreadClusters is the number of clusters with bundle deployments that were not read.
func UnreadClusters(a *report.Audit) int {
	unread := map[string]bool{}
	for i := range a.BundleDeployments {
		if bd := &a.BundleDeployments[i]; Unread(bd) {
			unread[bd.Cluster] = true
		}
	}
	return len(unread)
}
