// SPDX-License-Identifier: Apache-2.0

package printers

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

// verdict is the last line: the result in a sentence or two, and how many deployments have none.
func (t text) verdict(b *bytes.Buffer, a *report.Audit) {
	c, f, all := a.Summary.Counts, a.Summary.Findings, a.Summary.BundleDeployments
	blind := 0
	for _, bd := range a.BundleDeployments {
		if withoutResult(bd) {
			blind++
		}
	}
	var words []string // those in colour are not parted
	if all == 0 {
		words = append(words, t.colour(yellow, "No bundle deployment is in this scope."))
	}
	if all > blind {
		words = strings.Fields(fmt.Sprintf("%d of %s ready in %s.", c.Ready, plural(c.Desired, "object"), plural(all, "bundle deployment")))
	}
	if blind > 0 {
		words = append(words, t.colour(yellow, fmt.Sprintf("No result for %d of %s.", blind, plural(all, "bundle deployment"))))
	}
	var claims []string
	switch {
	case f.Error+f.Warning > 0:
		claims = []string{t.colour(red, plural(f.Error, "error")), t.colour(yellow, plural(f.Warning, "warning"))}
	case all > 0 && all == blind: // nothing was evaluated, and nothing can be said to be well
	case c.Unknown+blind+len(a.Gaps) > 0:
		claims = []string{t.colour(yellow, "Nothing is wrong in what could be read")}
	case all > 0:
		claims = []string{t.colour(green, "All is well")}
	}
	switch n := f.Info; {
	case n > 0 && t.wide:
		claims = append(claims, fmt.Sprintf("%d for information", n))
	case n > 0:
		claims = append(claims, fmt.Sprintf("%d for information (-o wide shows them)", n))
	}
	for i, claim := range claims {
		mark := ","
		if i == len(claims)-1 {
			mark = "."
		}
		words = append(words, claim+mark)
	}
	for _, line := range filled(words, 0, 0) {
		fmt.Fprintln(b, line)
	}
}

// unknown says whether the state of a deployment is not known.
func unknown(bd report.BundleDeployment) bool { return bd.State == report.Unknown }

// withoutResult says whether a deployment has no result, or none for some of its objects. A state such as WaitApplied is known from Fleet's
// status alone; then the reason says that the desired objects were not read.
func withoutResult(bd report.BundleDeployment) bool {
	return unknown(bd) || bd.Reason != "" || bd.Counts.Desired > 0 && bd.Counts.Unknown == bd.Counts.Desired
}
