// SPDX-License-Identifier: Apache-2.0

package digest

import (
	"cmp"
	"slices"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

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
		name string
		list []report.Aggregate
		of   func(*report.BundleDeployment) string
	}{
		{"GitRepo", a.GitRepos, func(bd *report.BundleDeployment) string { return bd.GitRepo }},
		{"HelmOp", a.HelmOps, func(bd *report.BundleDeployment) string { return bd.HelmOp }},
		{"Cluster", a.Clusters, func(bd *report.BundleDeployment) string { return bd.Cluster }},
		{"ClusterGroup", a.ClusterGroups, func(*report.BundleDeployment) string { return "" }},
	} {
		unread := map[string]int{}
		var names []string
		for i := range a.BundleDeployments {
			bd := &a.BundleDeployments[i]
			name := kind.of(bd)
			if _, known := unread[name]; !known && name != "" {
				unread[name] = 0
				names = append(names, name)
			}
			if bd.WithoutResult() {
				unread[name]++
			}
		}
		rows := make([]Aggregate, 0, len(kind.list))
		listed := map[string]bool{}
		for i := range kind.list {
			row := newAggregate(kind.name, &kind.list[i], unread)
			rows, listed[row.Name] = append(rows, row), true
		}
		for _, name := range names {
			if !listed[name] {
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
