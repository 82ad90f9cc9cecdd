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

// findings adds the problems bundle by bundle, the most urgent bundle first. Those of several bundles, or of none,
// have parts of their own.
func findings(l *layout, a *report.Audit) {
	deployments := map[bundleKey]*report.BundleDeployment{}
	for i := range a.BundleDeployments {
		deployments[keyOf(&a.BundleDeployments[i])] = &a.BundleDeployments[i]
	}
	for _, part := range grouped(problems(l, a), func(p *digest.Problem) string { return titleOf(p, deployments) }) {
		partTitle(l, titleOf(part[0], deployments))
		f := part[0].First()
		group(l, part, differences(deployments[bundleKey{f.Cluster, f.BundleDeployment}]))
	}
}

// problems arranges the findings that are shown. Without limits, and with the
// values of fields, each finding is shown by itself.
func problems(l *layout, a *report.Audit) []*digest.Problem {
	visible := visibleIn(l, a)
	if l.limits() && !l.Diff {
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

// partTitle adds the title of a part, in several lines if a terminal is too narrow.
func partTitle(l *layout, s string) {
	if l.Width <= 0 {
		l.title(s)
		return
	}
	l.add(paragraph{words: wordsOf(s), rest: len(gap), style: strong})
}

func groupTitle(bd *report.BundleDeployment) string {
	title := "bundle deployment " + bd.Key()
	if bd.Cluster != "" {
		title = "bundle " + bd.Bundle + " on cluster " + bd.Cluster
	}
	return title
}

// differences are the fields that differ by their object.
func differences(bd *report.BundleDeployment) map[object.Ref][]report.Difference {
	out := map[object.Ref][]report.Difference{}
	if bd == nil {
		return out
	}
	for _, r := range bd.Resources {
		out[r.Ref] = r.Differences
	}
	return out
}

// group shows the problems of one part, at most maxShown of each code.
func group(l *layout, list []*digest.Problem, diffs map[object.Ref][]report.Difference) {
	shown := map[string]int{}
	total := map[string]int{}
	for _, p := range list {
		total[p.First().Code]++
	}
	steps := make([][]report.Remedy, len(list))
	for i, p := range list {
		steps[i] = stepsOf(l, p.First())
	}
	var last []report.Remedy
	for i, p := range list {
		f := *p.First()
		shown[f.Code]++
		if n := shown[f.Code]; n > maxShown && l.limits() {
			if n == total[f.Code] {
				l.more("  ", n-maxShown, " of "+f.Code)
			}
			continue
		}
		own := steps[i]
		if i+1 < len(list) && shown[f.Code] != maxShown {
			own = ownRemedies(f.Code, own, list[i+1].First().Code, steps[i+1])
		}
		if l.Diff && digest.AboutFields(&f) && len(diffs[f.Object]) > 0 {
			f.Evidence = otherEvidence(f.Evidence, diffs[f.Object])
			own = slices.DeleteFunc(slices.Clone(own), func(r report.Remedy) bool {
				return strings.HasSuffix(r.Command, " --diff")
			})
			finding(l, f)
			diff(l, f.Cluster, f.Object, diffs[f.Object])
		} else {
			finding(l, f)
		}
		others(l, p)
		if len(own) > 0 && !sameRemedies(own, last) {
			remedies(l, inset, own)
			l.more(inset, len(f.NextSteps())-len(stepsOf(l, &f)), " steps")
			last = own
		}
	}
	l.end()
}

// ownRemedies returns the remedies of a finding that are shown before the next finding. The others are shown after it,
// because it has them too: all of them, or some of them if it has the same code.
func ownRemedies(code string, own []report.Remedy, nextCode string, next []report.Remedy) []report.Remedy {
	if code != nextCode && !sameRemedies(own, next) {
		return own
	}
	return slices.DeleteFunc(slices.Clone(own), func(r report.Remedy) bool {
		same := func(n report.Remedy) bool { return r.Command == n.Command && r.Text == n.Text }
		return slices.ContainsFunc(next, same)
	})
}

// others names the equal findings of a problem, and says what follows from it.
func others(l *layout, p *digest.Problem) {
	if n := len(p.Findings) - 1; n > 0 {
		names := texts(p.Findings[1:], digest.Subject)
		l.paint(inset, dim, fmt.Sprintf("the same for %d more: %s", n, first(names, maxJoined)))
	}
	if so := digest.Consequences(p); so != "" {
		l.paint(inset, dim, so+" (-o wide shows them)")
	}
}

// stepsOf returns the ways to proceed that are shown. Without -o wide or --all, they are those of at most maxRepeated
// clusters.
func stepsOf(l *layout, f *report.Finding) []report.Remedy {
	short := *f
	if l.limits() {
		short.PerCluster = f.PerCluster[:min(len(f.PerCluster), maxRepeated)]
	}
	return short.NextSteps()
}

func finding(l *layout, f report.Finding) {
	problem(l, f.Severity, f.Code, f.Message)
	evidence := f.Described()
	if codes.Is(f.Code, codes.AboutOwnership) && !l.wide {
		evidence = nil // up to five labels and annotations; adopt shows them
	}
	if n := len(f.Clusters); n > 0 {
		clusters := strings.Join(limited(l, f.Clusters), ", ")
		l.paint(inset, dim, fmt.Sprintf("the same on %d clusters: %s", n, clusters))
	}
	for _, e := range evidence {
		l.paint(inset, dim, e)
	}
}
