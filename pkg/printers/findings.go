// SPDX-License-Identifier: Apache-2.0

package printers

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/codes"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/printers/digest"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

// findings shows the problems bundle by bundle, the most urgent bundle first. Those of several bundles, or of none,
// have parts of their own.
func (t text) findings(a *report.Audit) {
	deployments := map[bundleKey]*report.BundleDeployment{}
	for i := range a.BundleDeployments {
		deployments[keyOf(&a.BundleDeployments[i])] = &a.BundleDeployments[i]
	}
	for _, part := range grouped(t.problems(a), func(p *digest.Problem) string { return titleOf(p, deployments) }) {
		f := part[0].First()
		bd := deployments[bundleKey{f.Cluster, f.BundleDeployment}]
		if bd == nil {
			t.line(t.bold(titleOf(part[0], deployments)))
			t.group(part, nil)
			continue
		}
		t.title(titleOf(part[0], deployments))
		t.group(part, differences(bd))
	}
}

// problems arranges the findings that are shown. Without limits, and with the
// values of fields, each finding is shown by itself.
func (t text) problems(a *report.Audit) []*digest.Problem {
	visible := t.visible(a)
	if t.limits() && !t.Diff {
		return digest.Problems(visible, maxRepeated)
	}
	out := make([]*digest.Problem, len(visible))
	for i, f := range visible {
		out[i] = &digest.Problem{Findings: []*report.Finding{f}}
	}
	digest.Sort(out)
	return out
}

// titleOf returns the title of the part in which a problem is shown.
func titleOf(p *digest.Problem, deployments map[bundleKey]*report.BundleDeployment) string {
	f := p.First()
	bd := deployments[bundleKey{f.Cluster, f.BundleDeployment}]
	several := slices.ContainsFunc(p.Findings, func(o *report.Finding) bool { return o.Bundle != f.Bundle })
	switch clusters := p.Clusters(); {
	case bd == nil:
		return "OTHER FINDINGS"
	case several:
		return "SEVERAL BUNDLES"
	case len(p.Findings) > 1 && len(clusters) > 1:
		return fmt.Sprintf("bundle %s on %d clusters (%s)", f.Bundle, len(clusters), first(clusters, maxJoined))
	}
	return groupTitle(bd)
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

// group shows the problems of one part, at most maxShown of each code.
func (t text) group(list []*digest.Problem, diffs map[object.Ref][]report.Difference) {
	shown := map[string]int{}
	total := map[string]int{}
	for _, p := range list {
		total[p.First().Code]++
	}
	steps := make([][]report.Remedy, len(list))
	for i, p := range list {
		steps[i] = t.steps(p.First())
	}
	var last []report.Remedy
	for i, p := range list {
		f := *p.First()
		shown[f.Code]++
		if n := shown[f.Code]; n > maxShown && t.limits() {
			if n == total[f.Code] {
				t.more("  ", n-maxShown, " of "+printable(f.Code))
			}
			continue
		}
		remedies := steps[i]
		if i+1 < len(list) && shown[f.Code] != maxShown {
			remedies = ownRemedies(f.Code, remedies, list[i+1].First().Code, steps[i+1])
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
		t.others(p)
		if len(remedies) > 0 && !sameRemedies(remedies, last) {
			t.remedies(inset, remedies)
			t.more(inset, len(f.NextSteps())-len(t.steps(&f)), " steps")
			last = remedies
		}
	}
	t.emptyLine()
}

// others names the equal findings of a problem, and says what follows from it.
func (t text) others(p *digest.Problem) {
	if n := len(p.Findings) - 1; n > 0 {
		names := texts(p.Findings[1:], digest.Subject)
		t.painted(inset, faint, fmt.Sprintf("the same for %d more: %s", n, first(names, maxJoined)))
	}
	if so := digest.Consequences(p); so != "" {
		t.painted(inset, faint, so+" (-o wide shows them)")
	}
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
	if codes.Is(f.Code, codes.AboutOwnership) && !t.wide {
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
