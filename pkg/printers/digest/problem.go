// SPDX-License-Identifier: Apache-2.0

package digest

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

// Problem is one cause: findings that are equal but for their objects and clusters, and the findings that follow.
type Problem struct {
	// Findings are the equal ones, in the order of the report. There is at least one.
	Findings []*report.Finding
	// Follow are the findings that follow from these, in the order of the report.
	Follow []*report.Finding
}

// First is the finding that stands for the problem.
func (p *Problem) First() *report.Finding { return p.Findings[0] }

// Clusters are the clusters with the problem, in the order of the report.
func (p *Problem) Clusters() []string {
	var out []string
	for _, f := range p.Findings {
		for _, c := range Clusters(f) {
			if !slices.Contains(out, c) {
				out = append(out, c)
			}
		}
	}
	return out
}

// Problems arranges findings: those that follow from another one are below it, and more than apart equal ones are one.
// What is urgent comes first, then what is severe, then what is widespread.
func Problems(findings []*report.Finding, apart int) []*Problem {
	roots := rootsOf(findings)
	follow := map[*report.Finding][]*report.Finding{}
	equal := map[kinship][]*report.Finding{}
	for _, f := range findings {
		if root := roots(f); root != f {
			follow[root] = append(follow[root], f)
			continue
		}
		equal[kinshipOf(f)] = append(equal[kinshipOf(f)], f)
	}
	var out []*Problem
	for _, f := range findings {
		if roots(f) != f {
			continue
		}
		all := equal[kinshipOf(f)]
		switch {
		case len(all) <= apart:
			out = append(out, &Problem{Findings: []*report.Finding{f}, Follow: follow[f]})
		case all[0] == f:
			p := &Problem{Findings: all}
			for _, f := range all {
				p.Follow = append(p.Follow, follow[f]...)
			}
			out = append(out, p)
		}
	}
	Sort(out)
	return out
}

// AllProblems arranges all findings of an audit. Equal ones are one problem.
func AllProblems(a *report.Audit) []*Problem {
	findings := make([]*report.Finding, len(a.Findings))
	for i := range a.Findings {
		findings[i] = &a.Findings[i]
	}
	return Problems(findings, 0)
}

// Sort puts the problems first that should be read first.
func Sort(problems []*Problem) { slices.SortStableFunc(problems, (*Problem).compare) }

// rootsOf returns a function that follows a finding to the one from which it follows in the end; the finding itself if
// it follows from none of these.
func rootsOf(findings []*report.Finding) func(*report.Finding) *report.Finding {
	causes := Causes{}
	for _, f := range findings {
		causes.add(f)
	}
	return func(f *report.Finding) *report.Finding {
		seen := map[*report.Finding]bool{}
		for cause := causes.Of(f); cause != nil && !seen[f]; cause = causes.Of(f) {
			seen[f] = true
			f = cause
		}
		return f
	}
}

// compare puts the problem first that should be read first.
func (p *Problem) compare(o *Problem) int {
	x, y := p.First(), o.First()
	return cmp.Or(slices.Index(urgencies, x.Urgency)-slices.Index(urgencies, y.Urgency),
		x.Severity.Compare(y.Severity), cmp.Compare(o.width(), p.width()), cmp.Compare(x.Code, y.Code))
}

// urgencies are the urgencies in their order. A report of an earlier version has none.
var urgencies = []report.Urgency{"", report.Now, report.Later, report.Status}

// width is the number of findings of each cluster that the problem has.
func (p *Problem) width() int {
	n := 0
	for _, f := range p.Findings {
		n += max(1, len(f.Clusters))
	}
	return n
}

// kinship is what equal findings have in common.
type kinship struct{ code, bundle, message string }

// kinshipOf returns what a finding has in common with equal ones. Findings about objects are equal only within a
// bundle.
func kinshipOf(f *report.Finding) kinship {
	out := kinship{code: f.Code, message: withoutNames(f)}
	if !AboutFleet(f) {
		out.bundle = f.Bundle
	}
	return out
}

// AboutFleet reports whether a finding is about an object of Fleet, rather than about one that a bundle deploys.
func AboutFleet(f *report.Finding) bool {
	return strings.HasPrefix(f.Object.APIVersion, "fleet.cattle.io/")
}

// withoutNames returns the message of a finding without the names of its objects, and without times and ages.
func withoutNames(f *report.Finding) string {
	names := []string{}
	namespace, _, _ := strings.Cut(f.BundleDeployment, "/")
	for _, name := range []string{f.BundleDeployment, f.Object.Key().String(), f.Object.Namespace + "/" + f.Object.Name,
		f.Cluster, f.Bundle, namespace} {
		if strings.Trim(name, "/") != "" {
			names = append(names, name, "\x00")
		}
	}
	return numbers.ReplaceAllString(strings.NewReplacer(names...).Replace(f.Message), "0")
}

// numbers are the numbers in a message.
var numbers = regexp.MustCompile(`[0-9]+`)
