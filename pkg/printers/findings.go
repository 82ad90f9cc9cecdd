// SPDX-License-Identifier: Apache-2.0

package printers

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/printers/digest"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

// findings shows the findings bundle by bundle, and then those without a bundle.
func (t text) findings(a *report.Audit) {
	folds, others := t.foldRepeated(a.Findings)
	groups := map[bundleKey][]report.Finding{}
	for _, f := range others {
		if f.Severity != report.Info || t.informational(a) {
			k := bundleKey{f.Cluster, f.BundleDeployment}
			groups[k] = append(groups[k], f)
		}
	}
	for _, bd := range t.inOrder(a) {
		key := keyOf(&bd)
		if list := groups[key]; len(list) > 0 {
			t.title(groupTitle(&bd))
			t.group(bySeverity(list), differences(&bd))
			delete(groups, key)
		}
	}
	for _, list := range folds {
		t.line(t.bold("NO RESULT"))
		t.fold(list)
	}
	var rest []report.Finding
	for _, key := range slices.SortedFunc(maps.Keys(groups), bundleKey.compare) {
		rest = append(rest, groups[key]...)
	}
	if len(rest) > 0 {
		t.line(t.bold("OTHER FINDINGS"))
		t.group(bySeverity(rest), nil)
	}
}

// bySeverity returns the findings with the most severe ones first.
func bySeverity(findings []report.Finding) []report.Finding {
	return slices.SortedStableFunc(slices.Values(findings), func(x, y report.Finding) int {
		return x.Severity.Compare(y.Severity)
	})
}

// explain suggests the command that explains the code of the most severe finding that is shown.
func (t text) explain(a *report.Audit) {
	groups := digest.Groups(a)
	if t.Explain == "" || len(groups) == 0 {
		return
	}
	if groups[0].Severity == report.Info && !t.informational(a) {
		return
	}
	code := printable(groups[0].Code)
	t.linef("%s\n", t.faint("→ What "+code+" means: "+t.Explain+" "+code))
}

// title writes the title of a group, in several lines if a terminal is too narrow.
func (t text) title(s string) {
	lines := []string{printable(s)}
	if t.Width > 0 {
		lines = t.lines(s, 0, len(gap))
	}
	for i, line := range lines {
		t.line(strings.Repeat(gap, min(i, 1)) + t.bold(line))
	}
}

// inOrder returns the bundle deployments in the order of the table.
func (t text) inOrder(a *report.Audit) []report.BundleDeployment {
	if t.wide {
		return a.BundleDeployments
	}
	r := t.ordered(a)
	return slices.Concat(r.shown, r.well, r.unread)
}

// foldRepeated separates the findings FD607 that have the same remediation for many bundles: what could not be read
// usually affects all of them. The other findings are returned as they are.
func (t text) foldRepeated(findings []report.Finding) (folds [][]report.Finding, others []report.Finding) {
	remediation := func(f report.Finding) string {
		if t.limits() && f.Code == "FD607" {
			return f.Remediation
		}
		return ""
	}
	repeated := map[string]bool{}
	for _, list := range grouped(findings, remediation) {
		if same := remediation(list[0]); same != "" && len(list) > maxRepeated {
			folds, repeated[same] = append(folds, list), true
		}
	}
	others = slices.DeleteFunc(slices.Clone(findings), func(f report.Finding) bool { return repeated[remediation(f)] })
	return folds, others
}

func (t text) fold(list []report.Finding) {
	for _, f := range list[:maxRepeated] {
		t.finding(f)
	}
	t.more("  ", len(list)-maxRepeated, "")
	t.remedies(inset, list[0].NextSteps())
	t.line("")
}

func groupTitle(bd *report.BundleDeployment) string {
	title := "bundle deployment " + bd.Key()
	if bd.Cluster != "" {
		title = "bundle " + bd.Bundle + " on cluster " + bd.Cluster
	}
	return title
}

func differences(bd *report.BundleDeployment) map[object.Ref][]report.Difference {
	out := map[object.Ref][]report.Difference{}
	for _, r := range bd.Resources {
		out[r.Ref] = r.Differences
	}
	return out
}

// group shows the findings of one bundle, at most maxShown of each code.
func (t text) group(list []report.Finding, diffs map[object.Ref][]report.Difference) {
	shown := map[string]int{}
	total := map[string]int{}
	for _, f := range list {
		total[f.Code]++
	}
	steps := make([][]report.Remedy, len(list))
	for i := range list {
		steps[i] = t.steps(&list[i])
	}
	var last []report.Remedy
	for i, f := range list {
		shown[f.Code]++
		if n := shown[f.Code]; n > maxShown && t.limits() {
			if n == total[f.Code] {
				t.more("  ", n-maxShown, " of "+printable(f.Code))
			}
			continue
		}
		remedies := steps[i]
		if i+1 < len(list) && shown[f.Code] != maxShown {
			remedies = ownRemedies(f.Code, remedies, list[i+1].Code, steps[i+1])
		}
		if t.Diff && digest.AboutFields(&f) && len(diffs[f.Object]) > 0 {
			f.Evidence = otherEvidence(f.Evidence, diffs[f.Object])
			remedies = slices.DeleteFunc(slices.Clone(remedies), func(r report.Remedy) bool {
				return strings.HasSuffix(r.Command, " --diff")
			})
			t.finding(f)
			t.diff(f.Cluster, f.Object, diffs[f.Object])
		} else {
			t.finding(f)
		}
		if len(remedies) > 0 && !sameRemedies(remedies, last) {
			t.remedies(inset, remedies)
			t.more(inset, len(f.NextSteps())-len(t.steps(&f)), " steps")
			last = remedies
		}
	}
	t.emptyLine()
}

// steps returns the ways to proceed that are shown. Without -o wide or --all, they are those of at most maxRepeated
// clusters.
func (t text) steps(f *report.Finding) []report.Remedy {
	short := *f
	if t.limits() {
		short.PerCluster = f.PerCluster[:min(len(f.PerCluster), maxRepeated)]
	}
	return short.NextSteps()
}

// problem shows the severity, the code and the message of a finding or of an item of a preflight.
func (t text) problem(s report.Severity, code, message string) {
	before := len("  warning   ") + span(code)
	t.linef("  %s %s  %s", t.padded(string(s)), printable(code), t.block(message, before, len(inset)))
}

func (t text) finding(f report.Finding) {
	t.problem(f.Severity, f.Code, f.Message)
	evidence := f.Described()
	if f.Code == "FD102" && !t.wide {
		evidence = nil // up to five labels and annotations; adopt shows them
	}
	if n := len(f.Clusters); n > 0 {
		clusters := strings.Join(limited(t, f.Clusters), ", ")
		t.painted(inset, faint, fmt.Sprintf("the same on %d clusters: %s", n, clusters))
	}
	for _, e := range evidence {
		t.painted(inset, faint, e)
	}
}
