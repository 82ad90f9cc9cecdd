// SPDX-License-Identifier: Apache-2.0

package targeting

import (
	"slices"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
)

// Progress is how far a rollout is. Source: docs/fleet-behavior.md, 5.7.
type Progress struct {
	Rollout
	// Unavailable are the clusters of the bundle that are unavailable: their agent has not applied the deployment, or
	// it is not ready.
	Unavailable []*Cluster
	// Of has the progress of each partition.
	Of []PartitionProgress
}

// PartitionProgress is how far the rollout of a partition is.
type PartitionProgress struct {
	Partition
	// Reached is false if partitions before it must become available first.
	Reached bool
	// Unavailable are its unavailable clusters. Behind are those and the ones that are not updated yet: if there are
	// more than MaxUnavailable, the partition itself is unavailable.
	Unavailable, Behind []*Cluster
}

// Progress returns the progress of a rollout. of returns the BundleDeployment of a cluster, nil if it has none. current
// reports whether the contents of the bundle are staged in a BundleDeployment; it is true if that is not known.
func (r Rollout) Progress(of func(*Cluster) *v1alpha1.BundleDeployment,
	current func(*v1alpha1.BundleDeployment) bool) Progress {
	out := Progress{Rollout: r}
	counted := map[*Cluster]bool{}
	unavailablePartitions := 0
	for _, p := range r.Partitions {
		x := PartitionProgress{Partition: p, Reached: unavailablePartitions <= r.MaxUnavailablePartitions}
		for _, c := range p.Clusters {
			bd := of(c)
			if bd != nil && unavailable(bd) {
				x.Unavailable = append(x.Unavailable, c)
				if !counted[c] {
					out.Unavailable, counted[c] = append(out.Unavailable, c), true
				}
			}
			upToDate := func() bool { return current(bd) && bd.Spec.DeploymentID == bd.Spec.StagedDeploymentID }
			if bd == nil || unavailable(bd) || !upToDate() {
				x.Behind = append(x.Behind, c)
			}
		}
		if len(x.Behind) > p.MaxUnavailable {
			unavailablePartitions++
		}
		out.Of = append(out.Of, x)
	}
	for _, c := range r.Left {
		if bd := of(c); bd != nil && unavailable(bd) {
			out.Unavailable = append(out.Unavailable, c)
		}
	}
	return out
}

// unavailable reports whether Fleet counts a BundleDeployment as unavailable.
func unavailable(bd *v1alpha1.BundleDeployment) bool {
	return bd.Status.AppliedDeploymentID != bd.Spec.DeploymentID || !bd.Status.Ready
}

// Hold is why a rollout does not update a cluster now.
type Hold struct {
	Reason HoldReason
	// Partition is the partition of the cluster; empty for NoPartition and BundleLimit.
	Partition string
	// Max is the limit, and By are the clusters that use it up, or that must be updated first.
	Max int
	By  []*Cluster
	// Before is, for EarlierPartition, the first partition that must become available.
	Before string
}

// HoldReason is the reason of a Hold.
type HoldReason string

// The reasons. NotHeld means that no limit prevents the update.
const (
	NotHeld          HoldReason = ""
	NoPartition      HoldReason = "NoPartition"
	EarlierPartition HoldReason = "EarlierPartition"
	BundleLimit      HoldReason = "BundleLimit"
	PartitionLimit   HoldReason = "PartitionLimit"
)

// Hold returns why the update of a cluster is held back. bd is its BundleDeployment, nil if it has none. A cluster in
// several partitions is held only if each of them holds it.
func (p *Progress) Hold(c *Cluster, bd *v1alpha1.BundleDeployment) Hold {
	first := Hold{Reason: NoPartition}
	found := false
	for i := range p.Of {
		x := &p.Of[i]
		if !slices.Contains(x.Clusters, c) {
			continue
		}
		h := p.hold(i, bd)
		if h.Reason == NotHeld {
			return h
		}
		if !found {
			first, found = h, true
		}
	}
	return first
}

// hold returns why a partition holds back a cluster in it.
func (p *Progress) hold(partition int, bd *v1alpha1.BundleDeployment) Hold {
	x := &p.Of[partition]
	switch {
	case !x.Reached:
		i := slices.IndexFunc(p.Of[:partition], func(e PartitionProgress) bool {
			return len(e.Behind) > e.MaxUnavailable
		})
		e := &p.Of[i] // there is one: otherwise it would be reached
		return Hold{Reason: EarlierPartition, Partition: x.Name, Before: e.Name, Max: e.MaxUnavailable, By: e.Behind}
	case bd == nil || unavailable(bd):
		return Hold{} // the limits are about available clusters
	case len(p.Unavailable) >= p.MaxUnavailable:
		return Hold{Reason: BundleLimit, Max: p.MaxUnavailable, By: p.Unavailable}
	case len(x.Unavailable) >= x.MaxUnavailable:
		return Hold{Reason: PartitionLimit, Partition: x.Name, Max: x.MaxUnavailable, By: x.Unavailable}
	}
	return Hold{}
}
