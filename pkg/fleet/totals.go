// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"cmp"
	"slices"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
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

// MaxListed is the number of entries at which Fleet truncates the lists of a status.
const MaxListed = 10

// CountObjects returns the counts that an agent computes from its lists before it truncates them. live are the live
// objects that it owns (docs/fleet-behavior.md, 4.2).
func CountObjects(live []v1alpha1.ObjectKey, modified []v1alpha1.ModifiedStatus,
	notReady []v1alpha1.NonReadyStatus) v1alpha1.ResourceCounts {
	rest, missing := map[v1alpha1.ObjectKey]bool{}, map[v1alpha1.ObjectKey]bool{}
	for _, k := range live {
		rest[k] = true
	}
	out := v1alpha1.ResourceCounts{DesiredReady: len(rest)}
	for i := range modified {
		switch m := &modified[i]; {
		case m.Missing:
			out.Missing++
			if !rest[m.Key()] {
				missing[m.Key()] = true
			}
		case m.Delete:
			out.Orphaned++
		default:
			out.Modified++
		}
	}
	out.DesiredReady += len(missing)
	for i := range modified {
		delete(rest, modified[i].Key())
	}
	for _, n := range notReady {
		if k := n.Key(); rest[k] {
			delete(rest, k)
			out.NotReady++
		}
	}
	out.Ready = len(rest)
	return out
}

// ReportedCounts returns the counts in the status of a BundleDeployment. Agents before 0.12 report lists only; known is
// false if these may be truncated.
func ReportedCounts(s *v1alpha1.BundleDeploymentStatus) (counts v1alpha1.ResourceCounts, known bool) {
	if kept := cmp.Or(s.ResourceCounts, s.ListedCounts); kept != nil {
		return *kept, true
	}
	var live []v1alpha1.ObjectKey
	truncated := len(s.ModifiedStatus) >= MaxListed || len(s.NonReadyStatus) >= MaxListed
	if truncated || s.IncompleteState || len(s.Resources) == 0 {
		return v1alpha1.ResourceCounts{}, false
	}
	if object.Into(s.Resources, &live) != nil {
		return v1alpha1.ResourceCounts{}, false
	}
	return CountObjects(live, s.ModifiedStatus, s.NonReadyStatus), true
}

// Trim replaces the list of resources in a status by the counts that follow from it. A management cluster can list
// millions of resources.
func Trim(s *v1alpha1.BundleDeploymentStatus) {
	if counts, known := ReportedCounts(s); known && s.ResourceCounts == nil {
		s.ListedCounts = &counts
	}
	s.Resources = nil
}

// BundleState is the state of a BundleDeployment in Fleet's own terms. Newer versions of Fleet can have states that are
// not listed here.
type BundleState string

// The states.
const (
	Ready       BundleState = "Ready"
	NotReady    BundleState = "NotReady"
	Pending     BundleState = "Pending" // a target of a Bundle that has no BundleDeployment yet
	OutOfSync   BundleState = "OutOfSync"
	Modified    BundleState = "Modified"
	WaitApplied BundleState = "WaitApplied"
	ErrApplied  BundleState = "ErrApplied"
)

// ranks are the states from best to worst.
var ranks = []BundleState{Ready, NotReady, Pending, OutOfSync, Modified, WaitApplied, ErrApplied}

// Rank is higher for a worse state: 1 for Ready, 7 for ErrApplied, 0 for a state that is not known
// (docs/fleet-behavior.md, 4.3).
func (s BundleState) Rank() int { return slices.Index(ranks, s) + 1 }

// States are the states from best to worst.
func States() []BundleState { return slices.Clone(ranks) }

// StateOf returns the state that Fleet computes from the spec and the status of a BundleDeployment. The function is the
// same in all versions (docs/fleet-behavior.md, 4.3).
func StateOf(d *v1alpha1.BundleDeployment) BundleState {
	spec, status := &d.Spec, &d.Status
	switch {
	case status.AppliedDeploymentID != spec.DeploymentID:
		if slices.ContainsFunc(status.Conditions, func(c v1alpha1.Condition) bool {
			return c.Type == "Deployed" && c.Status == "False"
		}) {
			return ErrApplied
		}
		return WaitApplied
	case !status.Ready:
		return NotReady
	case spec.DeploymentID != spec.StagedDeploymentID:
		return OutOfSync
	case !status.NonModified:
		return Modified
	}
	return Ready
}

// ReportedState returns the state in the columns of kubectl. That one stays Ready while a deployment is not applied
// yet, or is not the staged one: in this case, ReportedState returns StateOf.
func ReportedState(d *v1alpha1.BundleDeployment) BundleState {
	is, actual := ShownState(d), StateOf(d)
	if is == Ready && slices.Contains([]BundleState{WaitApplied, ErrApplied, OutOfSync}, actual) {
		return actual
	}
	return is
}

// ShownState returns the state in the columns of kubectl, also if this program does not know it. If there is none, it
// returns StateOf.
func ShownState(d *v1alpha1.BundleDeployment) BundleState {
	if s := d.Status.Display.State; s != "" {
		return BundleState(s)
	}
	return StateOf(d)
}
