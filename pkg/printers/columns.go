// SPDX-License-Identifier: Apache-2.0

package printers

import (
	"cmp"
	"strconv"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/printers/digest"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

var columns = []column{
	{header: "BUNDLEDEPLOYMENT", cell: func(t text, bd *report.BundleDeployment) string {
		if t.wide {
			return printable(bd.Key())
		}
		return printable(bd.Name)
	}}, // shortened to the remaining width
	{header: clusterHeader, wide: true, cell: func(t text, bd *report.BundleDeployment) string {
		return t.atMost(bd.Cluster, maxCluster)
	}},
	{header: "STATE", wide: true, cell: func(_ text, bd *report.BundleDeployment) string { return string(bd.State) }},
	{header: "READY", right: true, cell: ready},
	{header: "FLEET REPORTS", short: "FLEET", right: true, cell: fleetReports},
	number("MISSING", "MISS", red, func(c report.Counts) int { return c.Missing }),
	number("UNOWNED", "UNOWN", red, func(c report.Counts) int { return c.Unowned }),
	number("MODIFIED", "MODIF", yellow, func(c report.Counts) int { return c.Modified }),
	number("ORPHANED", "ORPH", yellow, func(c report.Counts) int { return c.Orphaned }),
	number("NOTREADY", "NOTRDY", yellow, func(c report.Counts) int { return c.NotReady }),
	number("UNKNOWN", "UNKN", yellow, func(c report.Counts) int { return c.Unknown }),
	{header: "FLEET STATE", wide: true, cell: func(_ text, bd *report.BundleDeployment) string {
		return printable(cmp.Or(bd.Reported, &report.Reported{}).State)
	}},
	{header: "RELEASE", wide: true, cell: func(_ text, bd *report.BundleDeployment) string {
		return printable(bd.Release)
	}},
	{header: "SET ID", wide: true, cell: func(_ text, bd *report.BundleDeployment) string {
		return printable(bd.SetID)
	}},
}

// clusterHeader is the header of the column of clusters. On a terminal, its names have at most maxCluster columns.
const clusterHeader, maxCluster = "CLUSTER", 24

func ready(t text, bd *report.BundleDeployment) string {
	switch c := bd.Counts; {
	case bd.WithoutResult():
		return t.colour(yellow, "?")
	case c.Ready+c.Unknown < c.Desired:
		return t.colour(red, fraction(c.Ready, c.Desired))
	case c.Unknown > 0:
		return t.colour(yellow, fraction(c.Ready, c.Desired))
	}
	return t.colour(green, fraction(bd.Counts.Ready, bd.Counts.Desired))
}

// fleetReports shows the numbers of the status, or its state if it has none. It also shows a state that the numbers do
// not: that of a deployment without a result, and one such as WaitApplied, in which all objects of the deployment
// before are ready.
func fleetReports(t text, bd *report.BundleDeployment) string {
	switch r := bd.Reported; {
	case r == nil || r.Ready == nil && r.State == "":
		return none
	case r.Ready == nil || r.DesiredReady == nil:
		return t.bounded(r.State)
	case !t.wide && showsState(bd):
		return t.bounded(r.State) + " " + reportedFraction(r)
	default:
		return reportedFraction(r)
	}
}

// showsState reports whether Fleet reports a state that its numbers do not show.
func showsState(bd *report.BundleDeployment) bool {
	switch bd.Reported.State {
	case "", string(report.Ready):
		return false
	}
	allReady := bd.Counts.Ready == bd.Counts.Desired
	return bd.Reason != "" || allReady && bd.State != report.Ready
}

// reportedFraction writes the numbers that Fleet reports, and whether they are old.
func reportedFraction(r *report.Reported) string {
	out := digest.ReportedFraction(r)
	if r.Stale {
		out += " (old)"
	}
	return out
}

// bounded shortens a state, which may be any text, to the length of Fleet's states.
func (t text) bounded(state string) string { return t.atMost(state, len("WaitCheckIn")) }

// number is the column of a number of objects.
func number(header, short, colour string, of func(report.Counts) int) column {
	return column{header: header, short: short, right: true, count: true,
		cell: func(t text, bd *report.BundleDeployment) string {
			n := of(bd.Counts)
			if n == 0 {
				return none
			}
			return t.colour(colour, strconv.Itoa(n))
		}}
}

// problemsHeader is the header of the column that replaces the columns of counts on a narrow terminal.
const problemsHeader = "NOT READY"
