// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
)

// Member is a BundleDeployment, or a target of a Bundle without one, as Fleet counts it in a status above.
type Member struct {
	// Name is its name in the list of those that are not ready.
	Name string
	// Cluster, GitRepo and HelmOp are "namespace/name", empty if a label is missing.
	Cluster, GitRepo, HelmOp string
	State                    BundleState
	Counts                   v1alpha1.ResourceCounts
}

// Summarize counts members by state, and lists the first ten that are not ready (docs/fleet-behavior.md, 4.4).
func Summarize(members []Member) v1alpha1.Summary {
	var out v1alpha1.Summary
	for _, m := range members {
		out.DesiredReady++
		if n := counterOf(&out, m.State); n != nil {
			*n++
		}
		if m.State != Ready && len(out.NonReadyResources) < MaxListed {
			out.NonReadyResources = append(out.NonReadyResources, v1alpha1.NonReadyResource{Name: m.Name,
				State: string(m.State)})
		}
	}
	return out
}

// counterOf returns the counter of a state; nil for a state that is not known.
func counterOf(s *v1alpha1.Summary, state BundleState) *int {
	switch state {
	case Ready:
		return &s.Ready
	case NotReady:
		return &s.NotReady
	case Pending:
		return &s.Pending
	case OutOfSync:
		return &s.OutOfSync
	case Modified:
		return &s.Modified
	case WaitApplied:
		return &s.WaitApplied
	case ErrApplied:
		return &s.ErrApplied
	}
	return nil
}

// SummarizeAll returns the summary of a ClusterGroup: the sum of those of its Clusters. Fleet appends the whole list of
// a Cluster as long as there are fewer than ten entries, so there can be 19.
func SummarizeAll(clusters []v1alpha1.Summary) v1alpha1.Summary {
	var out v1alpha1.Summary
	for _, c := range clusters {
		out.DesiredReady += c.DesiredReady
		for _, s := range ranks {
			*counterOf(&out, s) += *counterOf(&c, s)
		}
		if len(out.NonReadyResources) < MaxListed {
			out.NonReadyResources = append(out.NonReadyResources, c.NonReadyResources...)
		}
	}
	return out
}

// RepoTotals are the totals of a GitRepo or HelmOp.
type RepoTotals struct {
	Summary v1alpha1.Summary
	Counts  v1alpha1.ResourceCounts
	// PerCluster are the counts by cluster; BundleDeployments without labels of a cluster are in "/".
	PerCluster map[string]v1alpha1.ResourceCounts
	// DesiredReadyClusters are the clusters of the BundleDeployments that have labels of a cluster; ReadyClusters those
	// on which all are ready.
	DesiredReadyClusters, ReadyClusters int
}

// TotalsOfRepo returns the totals of the BundleDeployments of a GitRepo or HelmOp, as Fleet computes them since 0.11
// (clusters) and 0.12 (counts).
func TotalsOfRepo(members []Member) RepoTotals {
	out := RepoTotals{Summary: Summarize(members), PerCluster: map[string]v1alpha1.ResourceCounts{}}
	ready := map[string]bool{}
	for _, m := range members {
		out.Counts = out.Counts.Plus(m.Counts)
		if m.Cluster == "" {
			out.PerCluster["/"] = out.PerCluster["/"].Plus(m.Counts)
			continue
		}
		out.PerCluster[m.Cluster] = out.PerCluster[m.Cluster].Plus(m.Counts)
		before, seen := ready[m.Cluster]
		ready[m.Cluster] = m.State == Ready && (before || !seen)
	}
	out.DesiredReadyClusters, out.ReadyClusters = len(ready), countTrue(ready)
	return out
}

// ClusterTotals are the totals of a Cluster.
type ClusterTotals struct {
	Summary v1alpha1.Summary
	Counts  v1alpha1.ResourceCounts
	// A GitRepo or HelmOp is ready on a cluster if any of its BundleDeployments there is.
	DesiredReadyGitRepos, ReadyGitRepos int
	DesiredReadyHelmOps, ReadyHelmOps   int
}

// TotalsOfCluster returns the totals of the BundleDeployments of a Cluster, as Fleet computes them since 0.12.
func TotalsOfCluster(members []Member) ClusterTotals {
	out := ClusterTotals{Summary: Summarize(members)}
	repos, helmOps := map[string]bool{}, map[string]bool{}
	for _, m := range members {
		out.Counts = out.Counts.Plus(m.Counts)
		if m.GitRepo != "" {
			repos[m.GitRepo] = repos[m.GitRepo] || m.State == Ready
		} else if m.HelmOp != "" {
			helmOps[m.HelmOp] = helmOps[m.HelmOp] || m.State == Ready
		}
	}
	out.DesiredReadyGitRepos, out.ReadyGitRepos = len(repos), countTrue(repos)
	out.DesiredReadyHelmOps, out.ReadyHelmOps = len(helmOps), countTrue(helmOps)
	return out
}

func countTrue(m map[string]bool) int {
	n := 0
	for _, v := range m {
		if v {
			n++
		}
	}
	return n
}
