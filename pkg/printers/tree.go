// SPDX-License-Identifier: Apache-2.0

package printers

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

// trees shows each GitRepo and HelmOp that the scope names, with its bundles, their clusters and the objects that are not ready. Each level has the
// actual numbers and those that Fleet reports.
func (t text) trees(b *bytes.Buffer, a *report.Audit) error {
	g := t.grid([]column{{header: "TREE"}, {header: "READY", right: true}, {header: "FLEET REPORTS", right: true},
		{header: "DEPLOYMENTS", right: true}, {header: "FLEET REPORTS", right: true}})
	for _, level := range []struct {
		kind string
		list []report.Aggregate
		of   func(*report.BundleDeployment) string
	}{
		{"gitrepo", a.GitRepos, func(bd *report.BundleDeployment) string { return bd.GitRepo }},
		{"helmop", a.HelmOps, func(bd *report.BundleDeployment) string { return bd.HelmOp }},
	} {
		members := map[string][]*report.BundleDeployment{}
		for i := range a.BundleDeployments {
			bd := &a.BundleDeployments[i]
			if _, name, _ := strings.Cut(level.of(bd), "/"); name != "" && slices.Contains(a.Scope.Targets, level.kind+"/"+name) {
				members[level.of(bd)] = append(members[level.of(bd)], bd)
			}
		}
		for _, key := range slices.Sorted(maps.Keys(members)) {
			g.rows = append(g.rows, aggregateRow(level.kind, key, level.list))
			g.rows = append(g.rows, t.bundleRows(a, members[key])...)
		}
	}
	if len(g.rows) == 0 {
		return nil
	}
	if !t.wide {
		g.cutNames()
	}
	rows, err := g.lines()
	if err != nil {
		return err
	}
	fmt.Fprintf(b, "%s\n\n", strings.Join(rows, "\n"))
	return nil
}

// bundleRows returns the rows of bundles with their clusters and objects.
func (t text) bundleRows(a *report.Audit, members []*report.BundleDeployment) [][]string {
	slices.SortStableFunc(members, func(x, y *report.BundleDeployment) int {
		return cmp.Or(cmp.Compare(x.Bundle, y.Bundle), cmp.Compare(x.Cluster, y.Cluster))
	})
	var out [][]string
	for i, bd := range members {
		if i == 0 || bd.Bundle != members[i-1].Bundle {
			out = append(out, aggregateRow("  bundle", bd.Bundle, a.Bundles))
		}
		reported := "-"
		if bd.Reported != nil && bd.Reported.State != "" {
			reported = t.bounded(bd.Reported.State)
		}
		out = append(out, []string{"    cluster " + printable(cmp.Or(bd.Cluster, "unknown")), ready(t, bd), fleetReports(t, bd), string(bd.State), reported})
		bad := bd.Resources
		if !t.All {
			bad = slices.DeleteFunc(slices.Clone(bad), func(r report.Resource) bool { return r.State == report.Ready })
		}
		for _, r := range limited(t, bad) {
			out = append(out, []string{"      " + printable(r.Key().String()), string(r.State), "", "", ""})
		}
		if n := len(bad) - len(limited(t, bad)); n > 0 {
			out = append(out, []string{fmt.Sprintf("      … and %d more (-o wide shows them)", n), "", "", "", ""})
		}
	}
	return out
}

// aggregateRow returns the row of an aggregate ("namespace/name"): its objects and its bundle deployments, both as they are and as Fleet reports them.
// An aggregate of which not all bundle deployments could be read is not in the list, and has no numbers.
func aggregateRow(kind, key string, list []report.Aggregate) []string {
	row := []string{kind + " " + printable(key), "?", "-", "?", "-"}
	i := slices.IndexFunc(list, func(s report.Aggregate) bool { return s.Namespace+"/"+s.Name == key })
	if i < 0 {
		return row
	}
	s := &list[i]
	row[1] = fraction(s.Actual.Counts.Ready, s.Actual.Counts.Desired)
	row[3] = fraction(s.Actual.ReadyBundleDeployments, s.Actual.BundleDeployments)
	if r := s.Reported; r != nil {
		if r.Ready != nil && r.DesiredReady != nil {
			row[2] = fraction(*r.Ready, *r.DesiredReady)
		}
		if r.ReadyBundleDeployments != nil && r.BundleDeployments != nil {
			row[4] = fraction(*r.ReadyBundleDeployments, *r.BundleDeployments)
		}
	}
	return row
}
