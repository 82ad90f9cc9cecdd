// SPDX-License-Identifier: Apache-2.0

package printers

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/printers/digest"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

// summary is the result: the counts of objects, of deployments without a result, and of what is shown below it. These
// are the findings or, on the first screen, their causes.
func (t text) summary(a *report.Audit, f report.FindingCounts) {
	all := len(a.BundleDeployments)
	fleetwide := digest.Fleetwide(a)
	words := strings.Fields(cmp.Or(fleetwide, digest.ReadyIn(a))) // colours span several words of one element
	if all == 0 {
		words = append(words, t.colour(yellow, "No bundle deployments in this scope."))
	}
	if unread := digest.WithoutResult(a); unread != "" && fleetwide == "" {
		words = append(words, t.colour(yellow, unread))
	}
	var results []string
	level, verdict := digest.Verdict(a)
	switch {
	case level == digest.Bad:
		if f.Error > 0 {
			results = append(results, t.colour(red, plural(f.Error, "error")))
		}
		if f.Warning > 0 {
			results = append(results, t.colour(yellow, plural(f.Warning, "warning")))
		}
		found := a.Summary.Findings.Error + a.Summary.Findings.Warning
		if n := len(results); n > 0 && f.Error+f.Warning < found {
			results[n-1] += fmt.Sprintf(" (%d findings)", found)
		}
	case all == a.WithoutResult(): // the words say it
	case level == digest.Good:
		results = []string{t.colour(green, verdict)}
	default:
		results = []string{t.colour(yellow, verdict)}
	}
	results = append(results, t.unlisted(a)...)
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
		t.line(line)
	}
}

// informational reports whether informational findings are shown: in the wide table, with --all, if the user selected
// findings, or if there is no bundle deployment that could be the answer.
func (t text) informational(a *report.Audit) bool {
	return !t.limits() || a.Filter != nil || len(a.BundleDeployments) == 0
}

// unlisted counts the findings that are ignored.
func (t text) unlisted(a *report.Audit) []string {
	var out []string
	by := ""
	if a.IgnoreFile != "" {
		by = " by " + printable(a.IgnoreFile)
	}
	switch n := a.Summary.Ignored; {
	case n > 0 && t.wide:
		out = append(out, fmt.Sprintf("%d ignored%s", n, by))
	case n > 0:
		out = append(out, fmt.Sprintf("%d ignored%s (-o wide shows them)", n, by))
	}
	return out
}

// ignored lists the findings that the ignore file excludes, with the reasons.
func (t text) ignored(all []report.Ignored) {
	if len(all) == 0 || !t.wide {
		return
	}
	t.line(t.bold("IGNORED"))
	for _, f := range all {
		t.wrapped("  ", fmt.Sprintf("%s %s: %s", f.Code, f.Object.Key(), f.Why()))
	}
	t.line("")
}
