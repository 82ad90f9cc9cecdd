// SPDX-License-Identifier: Apache-2.0

// Package digest arranges the report of an audit for formats that are documents: the verdict, problems first, and the
// ways to proceed. A format decides only how it writes them.
package digest

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

// Level says how a part of a report is presented.
type Level string

// The levels. What could not be read is never Good.
const (
	Good    Level = "good"
	Bad     Level = "bad"
	Unknown Level = "unknown"
)

// Verdict returns the result of an audit in a few words. It is Good only if everything was read, every bundle
// deployment is ready, and no findings are left out of the report.
func Verdict(a *report.Audit) (Level, string) {
	unread, all := a.WithoutResult(), len(a.BundleDeployments)
	isReady := func(bd report.BundleDeployment) bool { return bd.State == report.Ready }
	other := ""
	if a.Summary.Ignored > 0 {
		other = "other "
	}
	switch {
	case a.Summary.Findings.Error+a.Summary.Findings.Warning > 0:
		return Bad, "Problems found"
	case all == 0:
		return Unknown, "No bundle deployments in this scope"
	case all == unread:
		return Unknown, "No bundle deployment has a result"
	case a.Filter != nil && a.Filter.Hidden.Total() > 0:
		return Unknown, "No errors or warnings among the selected findings"
	case a.Summary.Counts.Unknown+unread+len(a.Gaps) > 0:
		return Unknown, "No " + other + "problems in what could be read"
	case other != "":
		return Unknown, "No other problems found"
	case report.Count(a.BundleDeployments, isReady) < all:
		return Unknown, "No errors or warnings, but not everything is ready"
	}
	return Good, "No problems found"
}

// ReadyIn is the sentence with the number of ready objects; empty if no bundle deployment has a result.
func ReadyIn(a *report.Audit) string {
	c, all := a.Summary.Counts, len(a.BundleDeployments)
	if all <= a.WithoutResult() {
		return ""
	}
	return fmt.Sprintf("%s in %s%s.", readyObjects(c), report.Plural(all, "bundle deployment"), otherObjects(c))
}

// WithoutResult is the sentence with the number of bundle deployments without a result; empty if there are none.
func WithoutResult(a *report.Audit) string {
	n := a.WithoutResult()
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("No result for %d of %s.", n, report.Plural(len(a.BundleDeployments), "bundle deployment"))
}

// Result returns the sentences that say what is ready.
func Result(a *report.Audit) []string {
	if all := Fleetwide(a); all != "" {
		return []string{all}
	}
	return NonEmpty(ReadyIn(a), WithoutResult(a))
}

// Totals returns the sentences with the totals.
func Totals(a *report.Audit) string {
	out := Result(a)
	if n := len(a.Gaps); n > 0 {
		out = append(out, fmt.Sprintf("%s not read.", report.Plural(n, "item")))
	}
	f := a.Summary.Findings
	out = append(out, fmt.Sprintf("%s, %s, %d informational.", report.Plural(f.Error, "error"),
		report.Plural(f.Warning, "warning"), f.Info))
	for _, l := range a.LeftOut() {
		out = append(out, l.Text+".")
	}
	return strings.Join(out, " ")
}

// LevelOf returns the level of a bundle deployment.
func LevelOf(bd *report.BundleDeployment) Level {
	switch {
	case bd.WithoutResult():
		return Unknown
	case bd.State == report.Ready && bd.Counts.Ready == bd.Counts.Desired && bd.Counts.Orphaned == 0:
		return Good
	case bd.Counts.Unknown > 0 && bd.Counts.Ready+bd.Counts.Unknown == bd.Counts.Desired && bd.Counts.Orphaned == 0:
		return Unknown
	}
	return Bad
}

// Deployments returns the bundle deployments with problems first, then those that are unknown.
func Deployments(a *report.Audit) []*report.BundleDeployment {
	out := make([]*report.BundleDeployment, len(a.BundleDeployments))
	for i := range a.BundleDeployments {
		out[i] = &a.BundleDeployments[i]
	}
	slices.SortStableFunc(out, func(x, y *report.BundleDeployment) int {
		return cmp.Compare(rankOf[LevelOf(x)], rankOf[LevelOf(y)])
	})
	return out
}

var rankOf = map[Level]int{Bad: 0, Unknown: 1, Good: 2}

// Explanation is the address of the page that explains the code of findings; empty if it is not known.
func Explanation(findings ...*report.Finding) string {
	for _, f := range findings {
		for _, r := range f.Remedies {
			if strings.HasPrefix(r.URL, "https://") {
				return r.URL
			}
		}
	}
	return ""
}

// Clusters returns the clusters with a finding.
func Clusters(f *report.Finding) []string {
	if len(f.Clusters) > 0 {
		return f.Clusters
	}
	if f.Cluster == "" {
		return nil
	}
	return []string{f.Cluster}
}

// About names what a finding is about: its bundle, the GitRepo or HelmOp, and the clusters. write writes a name.
func About(f *report.Finding, write func(string) string) string {
	return strings.Join(NonEmpty(Worded("bundle", write(f.Bundle)), Worded("GitRepo", write(f.GitRepo)),
		Worded("HelmOp", write(f.HelmOp)), Worded("cluster", write(strings.Join(Clusters(f), ", ")))), ", ")
}

// Properties are the names and texts of a finding that are not empty, without its clusters.
func Properties(f *report.Finding) map[string]string {
	out := map[string]string{"bundle": f.Bundle, "bundleDeployment": f.BundleDeployment, "gitRepo": f.GitRepo,
		"helmOp": f.HelmOp, "asOf": f.AsOf, "cause": string(f.Cause)}
	maps.DeleteFunc(out, func(_, value string) bool { return value == "" })
	return out
}

// Title names the source of an audit.
func Title(s *report.Source) string {
	switch {
	case s.Kind == "cluster" && s.Context != "":
		return "context " + s.Context
	case s.Kind == "cluster":
		return "cluster " + s.Server
	case s.Kind == "metrics":
		return "metrics in " + s.Server
	}
	return "snapshot " + s.Path
}

// Facts are the time, the versions, the scope and the other clusters of an audit, as far as they are known.
func Facts(a *report.Audit) []string {
	clusters := ""
	if n := len(a.Source.Clusters); n > 0 {
		clusters = report.Plural(n, "other cluster")
	}
	return NonEmpty(
		Worded("taken at", a.TakenAt),
		Worded("Kubernetes", a.Source.KubernetesVersion),
		FleetVersion(a.Source.FleetVersions),
		Worded("namespace", strings.Join(a.Scope.Namespaces, ", ")),
		Worded("selector", strings.Join(a.Scope.Selectors, ", ")),
		Worded("scope", strings.Join(a.Scope.Targets, ", ")),
		Worded("with", clusters))
}

// Worded is a value with the word for it; empty without a value.
func Worded(word, value string) string {
	if value == "" {
		return ""
	}
	return word + " " + value
}

// FleetVersion is the version of the controller or, on a downstream cluster, of the agents; "" if it is not known.
func FleetVersion(v *report.FleetVersions) string {
	switch {
	case v == nil:
		return ""
	case v.Controller != "":
		return "Fleet " + v.Controller
	}
	agents := slices.Compact(slices.Sorted(maps.Values(v.Agents)))
	switch len(agents) {
	case 0:
		return ""
	case 1:
		return "Fleet agent " + agents[0]
	}
	return "Fleet agents " + strings.Join(agents, " / ")
}

// What names what a gap is about.
func What(g *report.Gap) string {
	if g.Cluster != "" {
		return "cluster " + g.Cluster + ": " + g.What
	}
	return g.What
}

// Fraction writes two numbers as a fraction.
func Fraction(n, all int) string { return fmt.Sprintf("%d/%d", n, all) }

// ReportedFraction is the fraction of ready objects that Fleet reports, "" if it reports none.
func ReportedFraction(r *report.Reported) string {
	if r == nil || r.Ready == nil || r.DesiredReady == nil {
		return ""
	}
	return Fraction(*r.Ready, *r.DesiredReady)
}

// Aggregate is an aggregate with what is known about its numbers.
type Aggregate struct {
	Kind string
	// Name is "namespace/name".
	Name  string
	Level Level
	// Numbers are the numbers of the aggregate; nil if it was not read.
	Numbers *report.Aggregate
	// Ready is the fraction of ready objects, "?" if it is not known. Statuses is then that of the statuses of its
	// bundle deployments, if it is known.
	Ready, Statuses string
	// Evaluated is false if no bundle deployment has a result.
	Evaluated bool
	// Unread counts the bundle deployments without a result. Those of a ClusterGroup are not known.
	Unread int
	// Differs is true if Fleet reports other numbers of ready objects: other than the actual ones, or than those of the
	// statuses.
	Differs bool
}

// Aggregates returns the GitRepos, HelmOps, Clusters and ClusterGroups of an audit by their kind, with problems first.
func Aggregates(a *report.Audit) []Aggregate {
	var out []Aggregate
	for _, kind := range []struct {
		name  string
		list  []report.Aggregate
		owner func(*report.BundleDeployment) string
	}{
		{"GitRepo", a.GitRepos, func(bd *report.BundleDeployment) string { return bd.GitRepo }},
		{"HelmOp", a.HelmOps, func(bd *report.BundleDeployment) string { return bd.HelmOp }},
		{"Cluster", a.Clusters, func(bd *report.BundleDeployment) string { return bd.Cluster }},
		{"ClusterGroup", a.ClusterGroups, func(*report.BundleDeployment) string { return "" }},
	} {
		unread := map[string]int{}
		for i := range a.BundleDeployments {
			if bd := &a.BundleDeployments[i]; bd.WithoutResult() {
				unread[kind.owner(bd)]++
			}
		}
		rows := make([]Aggregate, 0, len(kind.list))
		listed := map[string]bool{"": true}
		for i := range kind.list {
			row := newAggregate(kind.name, &kind.list[i], unread)
			rows, listed[row.Name] = append(rows, row), true
		}
		for i := range a.BundleDeployments {
			if name := kind.owner(&a.BundleDeployments[i]); !listed[name] {
				listed[name] = true
				rows = append(rows, Aggregate{Kind: kind.name, Name: name, Level: Unknown, Ready: "?"})
			}
		}
		slices.SortStableFunc(rows, func(x, y Aggregate) int { return cmp.Compare(x.order(), y.order()) })
		out = append(out, rows...)
	}
	return out
}

// order puts aggregates with problems first.
func (x Aggregate) order() int {
	switch {
	case x.Level == Bad:
		return 0
	case x.Differs:
		return 1
	case x.Level == Unknown:
		return 2
	}
	return 3
}

// Well reports whether an aggregate has no problem, and Fleet reports the same.
func (x Aggregate) Well() bool { return x.Level == Good && !x.Differs }

func newAggregate(kind string, x *report.Aggregate, unread map[string]int) Aggregate {
	out := Aggregate{Kind: kind, Name: x.Namespace + "/" + x.Name, Numbers: x, Level: Unknown, Ready: "?"}
	out.Unread = unread[out.Name]
	said := ReportedFraction(x.Reported)
	if x.Actual == nil {
		out.Statuses = ReportedFraction(x.Statuses)
		known := said != "" && out.Statuses != ""
		out.Differs = known && !x.OutOfScope && said != out.Statuses
		return out
	}
	counts, all := x.Actual.Counts, x.Actual.BundleDeployments
	counted := counts.Unknown < counts.Desired || x.Actual.ReadyBundleDeployments > 0
	out.Evaluated = all == 0 || out.Unread < all && counted
	placed := kind != "ClusterGroup" || unread[""] == 0 // any group may have one on an unknown cluster
	complete := out.Evaluated && out.Unread == 0 && placed
	switch {
	case out.Evaluated && counts.Ready+counts.Unknown < counts.Desired:
		out.Level = Bad
	case complete && counts.Unknown == 0 && x.Actual.ReadyBundleDeployments == all:
		out.Level = Good
	}
	if out.Evaluated {
		out.Ready = Fraction(counts.Ready, counts.Desired)
	}
	out.Differs = complete && said != "" && said != Fraction(counts.Ready, counts.Desired)
	return out
}

// Reported is what Fleet reports of the aggregate; nil if that is not known.
func (x Aggregate) Reported() *report.Reported {
	if x.Numbers == nil {
		return nil
	}
	return x.Numbers.Reported
}
