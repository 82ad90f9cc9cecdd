// SPDX-License-Identifier: Apache-2.0

package check

import (
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

var bundleSummary = Check{
	Code: "FD202", Name: "BundleSummary", Severity: Warning,
	Title: "a Bundle reports another number of ready bundle deployments than it has",
	run:   compareTotals("FD202"),
}

var repoResources = Check{
	Code: "FD203", Name: "RepoResources", Severity: Warning,
	Title: "the counts of a GitRepo or HelmOp are not the total of its bundle deployments",
	run: func(in *Input, report func(Finding)) {
		compareTotals("FD203")(in, report)
		in.stickyLists(report)
	},
}

var repoClusters = Check{
	Code: "FD204", Name: "RepoClusters", Severity: Warning,
	Title: "a GitRepo or HelmOp reports another number of ready clusters than it has",
	run:   compareTotals("FD204"),
}

var clusterCounts = Check{
	Code: "FD205", Name: "ClusterCounts", Severity: Warning,
	Title: "the counts of a Cluster are not the total of its bundle deployments",
	run:   compareTotals("FD205"),
}

var groupCounts = Check{
	Code: "FD206", Name: "GroupCounts", Severity: Warning,
	Title: "the counts of a ClusterGroup are not the total of its Clusters",
	run:   compareTotals("FD206"),
}

// comparison is a row of the table of FD202 to FD206: what the status of a kind counts, and how it is computed again.
type comparison struct {
	code, kind string
	// noun is the kind in a message, of is what the numbers are computed from, lag is why they can be old.
	noun, of, lag string
	// parts returns what the numbers are computed from; ok is false if not all of it is known.
	parts func(*Input, *evaluate.Aggregate) (p parts, ok bool)
	// wrong returns the numbers that are wrong, and completes the finding about them.
	wrong func(*Input, *totals, *Finding) []number
}

const (
	deployments      = "its bundle deployments"
	deploymentChange = "Fleet updates this number some seconds after a bundle deployment changes"
	clusterChange    = "Fleet updates this number some seconds after one of the Clusters changes"
	heartbeat        = "Fleet updates this number at the heartbeat of the agent, not when an object changes"
)

var comparisons = []comparison{
	{"FD202", state.Bundle, "bundle ", deployments, deploymentChange, (*Input).partsOf, (*Input).wrongOfBundle},
	{"FD203", state.GitRepo, "gitrepo ", deployments, deploymentChange, (*Input).partsOf, (*Input).wrongOfRepo},
	{"FD203", state.HelmOp, "helmop ", deployments, deploymentChange, (*Input).partsOf, (*Input).wrongOfRepo},
	{"FD204", state.GitRepo, "gitrepo ", deployments, deploymentChange, (*Input).partsOf, (*Input).wrongClustersOfRepo},
	{"FD204", state.HelmOp, "helmop ", deployments, deploymentChange, (*Input).partsOf, (*Input).wrongClustersOfRepo},
	{"FD205", state.ClusterKind, "cluster ", deployments, heartbeat, (*Input).partsOf, (*Input).wrongOfCluster},
	{"FD206", state.ClusterGroup, "cluster group ", "its clusters", clusterChange, (*Input).clustersOf,
		(*Input).wrongOfGroup},
}

// compareTotals returns the check of a code: it compares each aggregate in the rows of the code.
func compareTotals(code string) func(*Input, func(Finding)) {
	return func(in *Input, report func(Finding)) {
		for _, row := range comparisons {
			if row.code != code {
				continue
			}
			for _, a := range in.Tree[row.kind] {
				p, ok := row.parts(in, a)
				if !ok {
					continue
				}
				t := &totals{Aggregate: a, kind: row.noun, partsAs: row.of, lag: row.lag, parts: &p}
				f := Finding{Remedies: in.describe(a)}
				if wrong := row.wrong(in, t, &f); len(wrong) > 0 {
					report(in.wrongTotals(t, wrong, f))
				}
			}
		}
	}
}
