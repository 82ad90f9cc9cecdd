// SPDX-License-Identifier: Apache-2.0

package printers

import (
	"cmp"
	"slices"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/printers/digest"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

// fitting returns the table of bundle deployments with the columns that have a number, otherwise with short headers,
// otherwise with one column for all numbers. No line is then longer than the terminal is wide. clusters adds a column
// of clusters, which replaces that of the names if these are equal.
func (t text) fitting(shown []report.BundleDeployment, clusters bool) grid {
	filled := func(list []column) grid {
		g := t.grid(list)
		for i := range shown {
			var row []string
			for _, c := range list {
				row = append(row, c.cell(t, &shown[i]))
			}
			g.rows = append(g.rows, row)
		}
		return g
	}
	if t.wide {
		return filled(columns)
	}
	all := slices.DeleteFunc(slices.Clone(columns), func(c column) bool {
		return c.wide && (!clusters || c.header != clusterHeader)
	})
	if clusters && sameName(shown) {
		all = all[1:]
		all[0].cell = func(_ text, bd *report.BundleDeployment) string {
			return printable(cmp.Or(bd.Cluster, "unknown"))
		}
	}
	g := filled(all)
	for i := len(g.columns) - 1; i > 0; i-- {
		if g.columns[i].count && g.empty(i) {
			g.removeAt(i)
		}
	}
	if g.narrow() {
		g.columns = shortHeaders(g.columns)
	}
	if !g.narrow() {
		return g
	}
	few := filled(slices.DeleteFunc(all, func(c column) bool { return c.count }))
	return g.orWords(few, problemsHeader, texts(shown, func(bd report.BundleDeployment) string {
		return cmp.Or(digest.NotReady(bd.Counts), none)
	}))
}

// sameName reports whether bundle deployments have one name: they are those of one bundle.
func sameName(all []report.BundleDeployment) bool {
	return !slices.ContainsFunc(all, func(bd report.BundleDeployment) bool { return bd.Name != all[0].Name })
}
