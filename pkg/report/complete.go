// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"slices"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/directory"
)

// WithoutResult reports whether nothing is known about the actual state of the bundle deployment. A state such as
// WaitApplied comes from Fleet's status; then the reason is why the desired objects could not be read. A bundle
// deployment of which only some objects are Unknown has a result.
func (bd *BundleDeployment) WithoutResult() bool {
	switch {
	case bd.Reason != "":
		return true
	case bd.Counts.Desired == 0 && bd.State != Unknown:
		return false
	}
	return bd.Counts.Unknown == bd.Counts.Desired
}

// WithoutResult is the number of bundle deployments without a result.
func (a *Audit) WithoutResult() int {
	n := 0
	for i := range a.BundleDeployments {
		if a.BundleDeployments[i].WithoutResult() {
			n++
		}
	}
	return n
}

// Complete reports whether everything in scope was read: there is no gap, and nothing is Unknown except on clusters
// that are excluded.
func (a *Audit) Complete() bool {
	excluded := a.Excluded()
	return len(a.Gaps) == 0 && !slices.ContainsFunc(a.BundleDeployments, func(bd BundleDeployment) bool {
		return !excluded(&bd) && (bd.WithoutResult() || bd.Counts.Unknown > 0)
	})
}

// GapText counts the gaps and names the first one, as the end of a sentence. It is empty without a gap.
func (a *Audit) GapText() string {
	switch n := len(a.Gaps); n {
	case 0:
		return ""
	case 1:
		return fmt.Sprintf("1 gap in what was read: %s (%s)", a.Gaps[0].What, a.Gaps[0].Why())
	default:
		return fmt.Sprintf("%d gaps in what was read, the first is %s (%s)", n, a.Gaps[0].What, a.Gaps[0].Why())
	}
}

// Undecided says what was not read and may hide a problem, among the gaps; empty if nothing.
func Undecided(gaps []Gap) string {
	for _, g := range gaps {
		if !g.Optional {
			return g.What + ": " + g.Why()
		}
	}
	return ""
}

// Excluded returns a function that reports whether a bundle deployment has no result only because the audit does not
// include its cluster. No bundle deployment is excluded if none has a result: then the audit proves nothing.
func (a *Audit) Excluded() func(*BundleDeployment) bool {
	// A bundle deployment without a reason has a result at least for some of its objects.
	result := slices.ContainsFunc(a.BundleDeployments, func(bd BundleDeployment) bool { return bd.Reason == "" })
	return func(bd *BundleDeployment) bool { return result && bd.Reason == string(directory.ClusterNotRead) }
}
