// SPDX-License-Identifier: Apache-2.0

package check

import (
	"cmp"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/facts"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/remedy"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

// wrongOfBundle returns the wrong numbers of a Bundle: it counts its targets by the state of their bundle deployments.
func (in *Input) wrongOfBundle(t *totals, _ *Finding) []number {
	p := t.parts
	if !written(t.Aggregate) || len(p.actual) == 0 {
		return nil
	}
	reported := *t.Object.Reported().Summary
	expected, actual := fleet.Summarize(p.reported), fleet.Summarize(p.actual)
	// Its targets are not its deployments if one of them is left over, absent or being deleted.
	if reported.DesiredReady-reported.Pending != actual.DesiredReady {
		if reported.Ready <= actual.Ready {
			return nil
		}
		p.quiet = false
	}
	expected.DesiredReady, actual.DesiredReady = reported.DesiredReady, reported.DesiredReady
	return wrongSummary(&reported, expected, actual)
}

// wrongOfCluster returns the wrong numbers of a Cluster: its objects, bundle deployments, GitRepos and HelmOps.
func (in *Input) wrongOfCluster(t *totals, f *Finding) []number {
	cluster, ok := t.Object.(*v1alpha1.Cluster)
	if !ok || cluster.Status.Namespace == "" || !t.parts.countsKnown {
		return nil
	}
	s, p := &cluster.Status, t.parts
	if s.Summary.DesiredReady > len(p.actual) && in.Facts.Captured() && !in.Facts.Read(state.BundleDeployment, "") {
		return nil // the capture may be limited to some bundles, as that of fleet dump --gitrepo is
	}
	f.Cluster = t.Key()
	f.Remedies = []remedy.Remedy{in.Steps.Commands.List("bundledeployments", s.Namespace,
		"lists the bundle deployments of the cluster with their states")}
	if s.Agent.LastSeen != "" {
		f.Evidence = []string{"the agent's last heartbeat was at " + s.Agent.LastSeen}
	}
	reported, actual := fleet.TotalsOfCluster(in.existing(p.reported)), fleet.TotalsOfCluster(in.existing(p.actual))
	objects := wrongCounts(&s.ResourceCounts, reported.Counts, actual.Counts, p)
	if len(objects) > 0 && objects[0].reported.desired != objects[0].expected.desired {
		objects[0].bugs = append(objects[0].bugs, &fleet.BugClusterCounts)
	}
	deployments := wrongSummary(&s.Summary, reported.Summary, actual.Summary)
	return slices.Concat(objects, deployments, in.wrongRepos(s, reported, actual, fleet.TotalsOfCluster(p.actual)))
}

// wrongRepos returns the numbers of GitRepos and HelmOps of a cluster that are wrong. Fleet counts one as ready if any
// of its bundle deployments is. left are the numbers with those that were deleted and whose bundles are left, which
// FD304 reports.
func (in *Input) wrongRepos(s *v1alpha1.ClusterStatus, reported, actual, left fleet.ClusterTotals) []number {
	var out []number
	add := func(kind, what string, desired *int, ready int, expected, actual, left share) {
		if desired == nil || !in.Result.Desired.Read(kind, "") || left == (share{ready, *desired}) {
			return
		}
		if n := of(what, share{ready, *desired}, expected, actual); n.reported != n.actual {
			out = append(out, n)
		}
	}
	add(state.GitRepo, "GitRepos ready", s.DesiredReadyGitRepos, s.ReadyGitRepos,
		share{reported.ReadyGitRepos, reported.DesiredReadyGitRepos}, share{actual.ReadyGitRepos,
			actual.DesiredReadyGitRepos}, share{left.ReadyGitRepos, left.DesiredReadyGitRepos})
	add(state.HelmOp, "HelmOps ready", s.DesiredReadyHelmOps, s.ReadyHelmOps,
		share{reported.ReadyHelmOps, reported.DesiredReadyHelmOps}, share{actual.ReadyHelmOps,
			actual.DesiredReadyHelmOps}, share{left.ReadyHelmOps, left.DesiredReadyHelmOps})
	return out
}

// existing returns members without the names of GitRepos and HelmOps that were deleted: a Cluster does not count these.
func (in *Input) existing(members []fleet.Member) []fleet.Member {
	out := slices.Clone(members)
	for i := range out {
		if in.Facts.GitRepo(out[i].GitRepo) == nil {
			out[i].GitRepo = ""
		}
		if in.Facts.Object(facts.Named(state.HelmOp, out[i].HelmOp)) == nil {
			out[i].HelmOp = ""
		}
	}
	return out
}

// clustersOf returns the parts of a ClusterGroup, which are Clusters; ok is false if it is not known which ones it
// selects.
func (in *Input) clustersOf(a *evaluate.Aggregate) (p parts, ok bool) {
	group, ok := a.Object.(*v1alpha1.ClusterGroup)
	return parts{countsKnown: true}, ok && a.InScope && in.membersKnown(group)
}

// wrongOfGroup returns the wrong numbers of a ClusterGroup: the totals of its Clusters, and the Clusters themselves.
func (in *Input) wrongOfGroup(t *totals, f *Finding) []number {
	group, ok := t.Object.(*v1alpha1.ClusterGroup)
	if !ok {
		return nil
	}
	if s := &group.Status; s.ClusterCount == nil && !written(t.Aggregate) {
		return nil
	}
	f.Remedies = []remedy.Remedy{remedy.Run(in.Steps.Commands.Kubectl+remedy.InNamespace(group.Namespace)+
		" get clusters.fleet.cattle.io --show-labels",
		"lists the Clusters that the group can select, with their labels")}
	var sum v1alpha1.ResourceCounts
	var summaries []v1alpha1.Summary
	var notReady []string
	for _, c := range t.Clusters {
		r := c.Object.Reported()
		sum, summaries = sum.Plus(*r.Counts), append(summaries, *r.Summary)
		if r.Summary.Ready != r.Summary.DesiredReady {
			notReady = append(notReady, c.Object.GetName())
		}
	}
	summary, r := fleet.SummarizeAll(summaries), t.Object.Reported()
	return slices.Concat(wrongCounts(r.Counts, sum, sum, t.parts), wrongSummary(r.Summary, summary, summary),
		wrongMembers(&group.Status, len(t.Clusters), notReady))
}

// membersKnown reports whether it is known which Clusters a group selects.
func (in *Input) membersKnown(group *v1alpha1.ClusterGroup) bool {
	if group.Spec.Selector == nil || !in.Facts.Read(state.ClusterKind, group.Namespace) {
		return false
	}
	_, err := metav1.LabelSelectorAsSelector(group.Spec.Selector)
	return err == nil // otherwise Fleet does not count
}

// wrongMembers returns the number of ready Clusters of a group if it is wrong, or if the group lists others as not
// ready. notReady are the names of those that are not.
func wrongMembers(s *v1alpha1.ClusterGroupStatus, clusters int, notReady []string) []number {
	if s.ClusterCount == nil {
		return nil
	}
	slices.Sort(notReady)
	actual := share{clusters - len(notReady), clusters}
	n := of(clustersReady, share{*s.ClusterCount - s.NonReadyClusterCount, *s.ClusterCount}, actual, actual)
	listed := notReady[:min(len(notReady), fleet.MaxListed)]
	switch {
	case n.reported != n.actual:
	case slices.Equal(s.NonReadyClusters, listed):
		return nil
	default:
		n.actualText += fmt.Sprintf(", with %s not ready instead of %s",
			cmp.Or(facts.List(listed), "none"), cmp.Or(facts.List(s.NonReadyClusters), "none"))
	}
	return []number{n}
}
