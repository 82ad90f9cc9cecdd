// SPDX-License-Identifier: Apache-2.0

package report

import (
	"slices"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/resolve"
)

// Complete reports whether everything in scope was read: there is no gap, and nothing is Unknown except on clusters that are excluded.
func (a *Audit) Complete() bool {
	excluded := a.Excluded()
	return len(a.Gaps) == 0 && !slices.ContainsFunc(a.BundleDeployments, func(bd BundleDeployment) bool {
		return !excluded(&bd) && (bd.State == Unknown || bd.Reason != "" || bd.Counts.Unknown > 0)
	})
}

// Excluded returns a function that reports whether a bundle deployment has no result only because the audit does not include its cluster. No bundle
// deployment is excluded if none has a result: then the audit proves nothing.
func (a *Audit) Excluded() func(*BundleDeployment) bool {
	// Without a result, the state can be one that Fleet reports. The reason is always set.
	result := slices.ContainsFunc(a.BundleDeployments, func(bd BundleDeployment) bool { return bd.Reason == "" })
	return func(bd *BundleDeployment) bool { return result && bd.Reason == string(resolve.ClusterNotRead) }
}
