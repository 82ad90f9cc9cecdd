// SPDX-License-Identifier: Apache-2.0

package printers

import (
	"cmp"
	"fmt"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/printers/digest"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

// summary adds the result: the counts of objects, of deployments without a result, and of what is shown below it. These
// are the findings or, on the first screen, their causes.
func summary(l *layout, a *report.Audit, f report.FindingCounts) {
	all := len(a.BundleDeployments)
	fleetwide := digest.Fleetwide(a)
	words := wordsOf(cmp.Or(fleetwide, digest.ReadyIn(a))) // styles span several words of one element
	if all == 0 {
		words = append(words, styled(yellow, "No bundle deployments in this scope."))
	}
	if unread := digest.WithoutResult(a); unread != "" && fleetwide == "" {
		words = append(words, styled(yellow, unread))
	}
	results := append(resultsOf(a, f), unlisted(l, a)...)
	switch n := f.Info; {
	case n > 0 && informational(l, a):
		results = append(results, join(n, " informational"))
	case n > 0:
		results = append(results, join(n, " informational (--all shows them)"))
	}
	for i, result := range results {
		mark := ","
		if i == len(results)-1 {
			mark = "."
		}
		words = append(words, join(result, mark))
	}
	for _, left := range a.LeftOut() {
		if left.By == report.ByFilter { // the others are among the results
			words = append(words, wordsOf(left.Text+".")...)
		}
	}
	l.add(paragraph{words: words})
}

// resultsOf is the verdict, or the numbers of errors and warnings.
func resultsOf(a *report.Audit, f report.FindingCounts) []phrase {
	var out []phrase
	switch level, verdict := digest.Verdict(a); {
	case level == digest.Bad:
		if f.Error > 0 {
			out = append(out, styled(red, plural(f.Error, "error")))
		}
		if f.Warning > 0 {
			out = append(out, styled(yellow, plural(f.Warning, "warning")))
		}
		found := a.Summary.Findings.Error + a.Summary.Findings.Warning
		if last := len(out) - 1; last >= 0 && f.Error+f.Warning < found {
			out[last] = join(out[last], fmt.Sprintf(" (%d findings)", found))
		}
	case len(a.BundleDeployments) == a.WithoutResult(): // the words say it
	case level == digest.Good:
		out = []phrase{styled(green, verdict)}
	default:
		out = []phrase{styled(yellow, verdict)}
	}
	return out
}

// informational reports whether informational findings are shown: in the wide table, with --all, if the user selected
// findings, or if there is no bundle deployment that could be the answer.
func informational(l *layout, a *report.Audit) bool {
	return !l.limits() || a.Filter != nil || len(a.BundleDeployments) == 0
}

// visibleIn are the findings that are shown.
func visibleIn(l *layout, a *report.Audit) []*report.Finding {
	var out []*report.Finding
	for i := range a.Findings {
		if f := &a.Findings[i]; f.Severity != report.Info || informational(l, a) {
			out = append(out, f)
		}
	}
	return out
}

// unlisted counts the findings that are ignored.
func unlisted(l *layout, a *report.Audit) []phrase {
	n, about := a.Summary.Ignored, ""
	if n == 0 {
		return nil
	}
	if a.IgnoreFile != "" {
		about = " by " + a.IgnoreFile
	}
	if !l.wide {
		about += " (-o wide shows them)"
	}
	return []phrase{join(n, " ignored", about)}
}
