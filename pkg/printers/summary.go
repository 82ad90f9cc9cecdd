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
	unread := a.WithoutResult()
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
	unlisted, others := t.unlisted(a)
	var results []string
	switch {
	case f.Error+f.Warning > 0:
		results = []string{t.colour(red, plural(f.Error, "error")), t.colour(yellow, plural(f.Warning, "warning"))}
	case all > 0 && all == unread: // nothing was evaluated
	case a.Filter != nil && a.Filter.Hidden.Total() > 0: // they may be problems
	case c.Unknown+unread+len(a.Gaps) > 0 && others:
		results = []string{t.colour(yellow, "No other problems in what could be read")}
	case c.Unknown+unread+len(a.Gaps) > 0:
		results = []string{t.colour(yellow, "No problems in what could be read")}
	case others:
		results = []string{"No other problems found"}
	case all > 0:
		results = []string{t.colour(green, "No problems found")}
	}
	results = append(results, unlisted...)
	switch n := f.Info; {
	case n > 0 && t.informational(a):
		results = append(results, fmt.Sprintf("%d informational", n))
	case n > 0:
		results = append(results, fmt.Sprintf("%d informational (--all shows them)", n))
	}
	for i, result := range results {
		mark := ","
		if i == len(results)-1 {
			mark = "."
		}
		words = append(words, result+mark)
	}
	for _, l := range a.LeftOut() {
		if l.By == report.ByFilter { // the others are among the results
			words = append(words, strings.Fields(printable(l.Text+"."))...)
		}
	}
	for _, line := range t.filled(words, 0, 0) {
		fmt.Fprintln(b, line)
	}
}

// informational reports whether informational findings are shown: in the wide table, with --all, or if the user selected
// findings.
func (t text) informational(a *report.Audit) bool {
	return t.wide || t.All || a.Filter != nil
}

// unlisted counts the findings that are ignored, and those that the baseline has. others reports whether there are any.
func (t text) unlisted(a *report.Audit) (counts []string, others bool) {
	switch n := a.Summary.Ignored; {
	case n > 0 && t.wide:
		counts = append(counts, fmt.Sprintf("%d ignored", n))
	case n > 0:
		counts = append(counts, fmt.Sprintf("%d ignored (-o wide shows them)", n))
	}
	known := a.Summary.Baseline
	if known != nil {
		counts = append(counts, fmt.Sprintf("%d known from the baseline", *known))
	}
	return counts, a.Summary.Ignored > 0 || known != nil && *known > 0
}

// ignored lists the findings that the ignore file excludes, with the reasons.
func (t text) ignored(b *bytes.Buffer, all []report.Ignored) {
	if len(all) == 0 || !t.wide {
		return
	}
	fmt.Fprintln(b, t.bold("IGNORED"))
	for _, f := range all {
		t.wrapped(b, "  ", fmt.Sprintf("%s %s: %s", f.Code, f.Object.Key(), f.Why()))
	}
	fmt.Fprintln(b)
}
