// SPDX-License-Identifier: Apache-2.0

package printers

import (
	"slices"
	"strings"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

// fitting returns the columns of the table of bundle deployments: all of them if they fit, otherwise those with a
// number, otherwise these with short headers, otherwise one column for all numbers. No line is then longer than the
// terminal is wide. clusters adds a column of clusters.
func (t text) fitting(shown []report.BundleDeployment, clusters bool) []column {
	if t.wide {
		return columns
	}
	all := slices.DeleteFunc(slices.Clone(columns), func(c column) bool {
		return c.wide && (!clusters || c.header != clusterHeader)
	})
	if !t.fits() || t.remaining(all, shown) >= 0 {
		return all
	}
	used := slices.DeleteFunc(slices.Clone(all), func(c column) bool {
		return c.count && !slices.ContainsFunc(shown, func(bd report.BundleDeployment) bool {
			return c.cell(t, &bd) != none
		})
	})
	if t.remaining(used, shown) >= 0 {
		return used
	}
	if brief := shortHeaders(used); t.remaining(brief, shown) >= 0 {
		return brief
	}
	few := slices.DeleteFunc(slices.Clone(all), func(c column) bool { return c.count })
	left := t.remaining(few, shown) - len(gap)
	cut := problems
	cut.cell = func(t text, bd *report.BundleDeployment) string { return begin(problems.cell(t, bd), left) }
	return append(few, cut)
}

// remaining is the number of columns of the terminal that a table leaves, with the shortest names. It is negative if
// the table is wider.
func (t text) remaining(list []column, shown []report.BundleDeployment) int {
	out := t.columns() - minName
	plain := t
	plain.Colour = false
	for _, c := range list[1:] {
		widest := span(c.header)
		for i := range shown {
			widest = max(widest, span(c.cell(plain, &shown[i])))
		}
		out -= len(gap) + widest
	}
	return out
}

// begin shortens a list of words to n columns. It keeps the beginning.
func begin(s string, n int) string {
	if span(s) <= n {
		return s
	}
	for i := strings.LastIndex(s, ", "); i >= 0; i = strings.LastIndex(s[:i], ", ") {
		if span(s[:i])+len(", …") <= n {
			return s[:i] + ", …"
		}
	}
	return "…"
}
