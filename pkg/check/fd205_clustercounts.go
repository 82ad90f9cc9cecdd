// SPDX-License-Identifier: Apache-2.0

package check

import (
	"slices"
	"strings"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/facts"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/remedy"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

var clusterCounts = Check{
	Code: "FD205", Name: "ClusterCounts", Severity: Warning,
	Title: "the counts of a Cluster are not the total of its bundle deployments",
	run: func(in *Input, report func(Finding)) {
		for _, a := range in.Tree[state.ClusterKind] {
			in.checkCluster(a, report)
		}
	},
}

func (in *Input) checkCluster(a *evaluate.Aggregate, report func(Finding)) {
	cluster, ok := a.Object.(*v1alpha1.Cluster)
	if !ok || cluster.Status.Namespace == "" {
		return
	}
	p, ok := in.partsOf(a)
	if !ok || !p.countsKnown {
		return
	}
	s := &cluster.Status
	if s.Summary.DesiredReady > len(p.actual) && in.Captured() && !in.Read(state.BundleDeployment, "") {
		return // the capture may be limited to some bundles, as that of fleet dump --gitrepo is
	}
	f := Finding{Cluster: a.Key(), Remedies: []remedy.Remedy{in.Commands.List("bundledeployments", s.Namespace, "lists the bundle deployments of the cluster with their states")}}
	if s.Agent.LastSeen != "" {
		f.Evidence = []string{"the agent's last heartbeat was at " + s.Agent.LastSeen}
	}
	reported, actual := fleet.TotalsOfCluster(in.existing(p.reported)), fleet.TotalsOfCluster(in.existing(p.actual))
	t := newTotals(a, "cluster ", &p)
	t.cluster, t.recomputed = cluster, s.Agent.LastSeen
	t.lag = "Fleet updates this number at the heartbeat of the agent, not when an object changes"
	t.bugs = func(n number) []*fleet.Bug {
		bugs := p.truncatedCounts(n)
		if n.what == objectsReady && n.reported.desired != n.expected.desired {
			bugs = append(bugs, &fleet.BugClusterCounts)
		}
		return bugs
	}
	wrong := slices.Concat(wrongCounts(&s.ResourceCounts, reported.Counts, actual.Counts, &p), wrongSummary(&s.Summary, reported.Summary, actual.Summary),
		in.wrongRepos(s, reported, actual))
	in.reportWrong(t, wrong, f, report)
}

// wrongRepos returns the numbers of GitRepos and HelmOps of a cluster that are wrong. Fleet counts one as ready if any of its bundle deployments is.
func (in *Input) wrongRepos(s *v1alpha1.ClusterStatus, reported, actual fleet.ClusterTotals) []number {
	var out []number
	add := func(kind, what string, desired *int, ready int, expected, actual share) {
		if desired == nil || !in.Desired.Read(kind, "") {
			return
		}
		if n := of(what, share{ready, *desired}, expected, actual); n.reported != n.actual {
			out = append(out, n)
		}
	}
	add(state.GitRepo, "GitRepos ready", s.DesiredReadyGitRepos, s.ReadyGitRepos,
		share{reported.ReadyGitRepos, reported.DesiredReadyGitRepos}, share{actual.ReadyGitRepos, actual.DesiredReadyGitRepos})
	add(state.HelmOp, "HelmOps ready", s.DesiredReadyHelmOps, s.ReadyHelmOps,
		share{reported.ReadyHelmOps, reported.DesiredReadyHelmOps}, share{actual.ReadyHelmOps, actual.DesiredReadyHelmOps})
	return out
}

// existing returns members without the names of GitRepos and HelmOps that were deleted: a Cluster does not count these.
func (in *Input) existing(members []fleet.Member) []fleet.Member {
	out := slices.Clone(members)
	for i := range out {
		if !in.existsNamed(state.GitRepo, out[i].GitRepo) {
			out[i].GitRepo = ""
		}
		if !in.existsNamed(state.HelmOp, out[i].HelmOp) {
			out[i].HelmOp = ""
		}
	}
	return out
}

// existsNamed reports whether a GitRepo or HelmOp ("namespace/name") was read.
func (in *Input) existsNamed(kind, key string) bool {
	namespace, name, _ := strings.Cut(key, "/")
	return in.Exists(facts.Ref(kind, namespace, name))
}
