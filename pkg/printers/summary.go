// SPDX-License-Identifier: Apache-2.0

package printers

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

// summary is the last line: the counts of objects and findings, and of deployments without a result.
func (t text) summary(b *bytes.Buffer, a *report.Audit) {
	c, f, all := a.Summary.Counts, a.Summary.Findings, a.Summary.BundleDeployments
	unread := 0
	for _, bd := range a.BundleDeployments {
		if withoutResult(bd) {
			unread++
		}
	}
	var words []string // colours span several words of one element
	if all == 0 {
		words = append(words, t.colour(yellow, "No bundle deployments in this scope."))
	}
	if all > unread {
		words = strings.Fields(fmt.Sprintf("%d of %s ready in %s.", c.Ready, plural(c.Desired, "object"), plural(all, "bundle deployment")))
	}
	if unread > 0 {
		words = append(words, t.colour(yellow, fmt.Sprintf("No result for %d of %s.", unread, plural(all, "bundle deployment"))))
	}
	var results []string
	switch {
	case f.Error+f.Warning > 0:
		results = []string{t.colour(red, plural(f.Error, "error")), t.colour(yellow, plural(f.Warning, "warning"))}
	case all > 0 && all == unread: // nothing was evaluated
	case c.Unknown+unread+len(a.Gaps) > 0:
		results = []string{t.colour(yellow, "No problems in what could be read")}
	case all > 0:
		results = []string{t.colour(green, "No problems found")}
	}
	switch n := f.Info; {
	case n > 0 && t.wide:
		results = append(results, fmt.Sprintf("%d informational", n))
	case n > 0:
		results = append(results, fmt.Sprintf("%d informational (-o wide shows them)", n))
	}
	for i, result := range results {
		mark := ","
		if i == len(results)-1 {
			mark = "."
		}
		words = append(words, result+mark)
	}
	for _, line := range t.filled(words, 0, 0) {
		fmt.Fprintln(b, line)
	}
}

// withoutResult reports whether the objects of a deployment were not evaluated. A state such as WaitApplied comes from Fleet's status; then the
// reason is why the desired objects could not be read.
func withoutResult(bd report.BundleDeployment) bool {
	return bd.State == report.Unknown || bd.Reason != "" || bd.Counts.Desired > 0 && bd.Counts.Unknown == bd.Counts.Desired
}
