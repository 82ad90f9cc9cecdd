// SPDX-License-Identifier: Apache-2.0

package digest

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/codes"
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
		out = append(out, Clusters(f)...)
	}
	return namesIn(out, itself)
}

// namesIn are the different names of the elements of a list, in their order.
func namesIn[T any, N comparable](list []T, name func(T) N) []N {
	var out []N
	known := map[N]bool{}
	for _, x := range list {
		if n := name(x); !known[n] {
			known[n] = true
			out = append(out, n)
		}
	}
	return out
}

func itself(s string) string { return s }

// Severity is the highest one of the findings, and of those that follow.
func (p *Problem) Severity() report.Severity {
	out := p.First().Severity
	for _, f := range p.Follow {
		if f.Severity.Compare(out) < 0 {
			out = f.Severity
		}
	}
	return out
}

// Problems arranges findings: those that follow from another one are below it, and more than apart equal ones are one.
// What is urgent comes first, then what is widespread, then what is severe.
func Problems(findings []*report.Finding, apart int) []*Problem {
	roots := rootsOf(findings)
	follow := map[*report.Finding][]*report.Finding{}
	equal := map[kinship][]*report.Finding{}
	var order []kinship
	for _, f := range findings {
		if root := roots(f); root != f {
			follow[root] = append(follow[root], f)
			continue
		}
		k := kinshipOf(f)
		if equal[k] == nil {
			order = append(order, k)
		}
		equal[k] = append(equal[k], f)
	}
	var out []*Problem
	for _, k := range order {
		together := len(equal[k])
		if together <= apart {
			together = 1
		}
		for some := range slices.Chunk(equal[k], together) {
			p := &Problem{Findings: some}
			for _, f := range some {
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
	return cmp.Or(p.urgency()-o.urgency(), cmp.Compare(o.width(), p.width()), p.Severity().Compare(o.Severity()),
		cmp.Compare(p.First().Code, o.First().Code))
}

// urgencies are the urgencies in their order. A report of an earlier version has none.
var urgencies = []report.Urgency{"", report.Now, report.Later, report.Status}

// urgency is the place of the highest urgency of the findings, and of those that follow.
func (p *Problem) urgency() int {
	out := slices.Index(urgencies, p.First().Urgency)
	for _, f := range p.Follow {
		out = min(out, slices.Index(urgencies, f.Urgency))
	}
	return out
}

// width is the number of findings of each cluster, with those that follow. Numbers of Fleet do not count.
func (p *Problem) width() int {
	n := 0
	for _, f := range p.Findings {
		n += max(1, len(f.Clusters))
	}
	for _, f := range p.Follow {
		if f.Urgency != report.Status {
			n += max(1, len(f.Clusters))
		}
	}
	return n
}

// kinship is what equal findings have in common.
type kinship struct{ code, bundle, message string }

// kinshipOf returns what a finding has in common with equal ones. Findings about objects are equal only within a
// bundle, except what Fleet reports of clusters that are not read: a table says which bundles that is about.
func kinshipOf(f *report.Finding) kinship {
	out := kinship{code: f.Code, message: numbers.ReplaceAllString(withoutNames(f), "0")}
	if !AboutFleet(f) && !codes.Is(f.Code, codes.SameForBundles) {
		out.bundle = f.Bundle
	}
	return out
}

// AboutFleet reports whether a finding is about an object of Fleet, rather than about one that a bundle deploys.
func AboutFleet(f *report.Finding) bool {
	return strings.HasPrefix(f.Object.APIVersion, "fleet.cattle.io/")
}

// withoutNames returns the message of a finding without the names of its objects.
func withoutNames(f *report.Finding) string {
	names := []string{}
	namespace, _, _ := strings.Cut(f.BundleDeployment, "/")
	for _, name := range []string{f.BundleDeployment, f.Object.Key().String(), f.Object.Namespace + "/" + f.Object.Name,
		f.Cluster, f.Bundle, namespace} {
		if strings.Trim(name, "/") != "" {
			names = append(names, name, "\x00")
		}
	}
	return strings.NewReplacer(names...).Replace(f.Message)
}

// withoutTimes returns a message without the times in it.
func withoutTimes(message string) string { return times.ReplaceAllString(message, "") }

// numbers are the numbers in a message, and times its times.
var (
	numbers = regexp.MustCompile(`[0-9]+`)
	times   = regexp.MustCompile(`[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]+Z`)
)

// Causes are the findings of a report by their identities.
type Causes map[string]*report.Finding

// NewCauses returns the findings of an audit by their identities.
func NewCauses(a *report.Audit) Causes {
	out := Causes{}
	for i := range a.Findings {
		out.add(&a.Findings[i])
	}
	return out
}

func (c Causes) add(f *report.Finding) {
	c[f.ID] = f
	for _, id := range f.IDs {
		c[id] = f
	}
}

// Of returns the finding from which another one follows; nil if it follows from none of these.
func (c Causes) Of(f *report.Finding) *report.Finding {
	if f.CausedBy == nil {
		return nil
	}
	return c[f.CausedBy.ID]
}

// Covers reports whether a finding follows from another one that is at least as severe. A format may then show it as
// less severe than it is, because the cause is shown.
func (c Causes) Covers(f *report.Finding) bool {
	cause := c.Of(f)
	return cause != nil && cause.Severity.Compare(f.Severity) <= 0
}

// Text says from which finding another one follows; empty if it follows from none of these.
func (c Causes) Text(f *report.Finding) string {
	cause := c.Of(f)
	if cause == nil {
		return ""
	}
	return "follows from " + cause.Code + ": " + cause.Message
}

// Step is the verb of this program with which a user proceeds after a finding: that of its first remedy with a command
// of this program. Without one, it is the verb that explains the finding. An audit has an option that tells it from the
// one that was made.
func Step(f *report.Finding) string {
	for _, r := range f.NextSteps() {
		if verb := verbOf(r.Command); verb != "" {
			return verb
		}
	}
	return "explain"
}

// Repairable reports whether a finding has a remedy that repairs it.
func Repairable(f *report.Finding) bool {
	return slices.ContainsFunc(f.NextSteps(), func(r report.Remedy) bool { return verbOf(r.Command) == "repair" })
}

// verbOf is the verb of a command of this program; empty for another program.
func verbOf(command string) string {
	rest, ours := strings.CutPrefix(command, "kubectl fleetdoctor ")
	words := strings.Fields(rest)
	switch n := len(words); {
	case !ours || n == 0:
		return ""
	case words[0] != "audit":
		return words[0]
	case strings.HasPrefix(words[n-1], "--"):
		return "audit " + words[n-1]
	case n > 2 && words[n-2] == "-o":
		return "audit -o " + words[n-1]
	}
	return words[0]
}
