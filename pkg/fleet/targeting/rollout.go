// SPDX-License-Identifier: Apache-2.0

package targeting

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
)

// Rollout is the order in which the controller updates the clusters of a bundle, and its limits. Source:
// docs/fleet-behavior.md, 5.7.
type Rollout struct {
	// Partitions are updated one after the other.
	Partitions []Partition
	// Left are the clusters that no partition selects: they are never updated.
	Left []*Cluster
	// MaxUnavailable limits the unavailable clusters of the bundle, MaxUnavailablePartitions the partitions that may be
	// unavailable while the next one is updated.
	MaxUnavailable, MaxUnavailablePartitions int
}

// Partition is a group of clusters that are updated together.
type Partition struct {
	Name           string
	MaxUnavailable int
	Clusters       []*Cluster
}

// rolloutRules are what differs between versions of the controller.
type rolloutRules struct {
	// displayName is that of rules. ungrouped is true if a partition can select a cluster without groups. threshold is
	// true if the number of clusters from which partitions are made can be configured.
	displayName, ungrouped, threshold bool
}

// defaultThreshold is the number of clusters from which partitions are made.
const defaultThreshold = 200

var (
	all     = intstr.FromString("100%")
	quarter = intstr.FromString("25%")
	none    = intstr.FromInt32(0)
)

// Rollout returns the rollout of the bundle. known is false if it depends on something that is not known: a cluster of
// which it is not known whether the bundle targets it, or the version of the controller. The error is why Fleet can
// update no cluster.
func (b *Bundle) Rollout() (out Rollout, known bool, err error) {
	clusters, known := b.clusters()
	if !known {
		return Rollout{}, false, nil
	}
	slices.SortStableFunc(clusters, func(x, y *Cluster) int { return cmp.Compare(x.Name, y.Name) })
	candidates := []rolloutRules{{true, true, true}, {}}
	if v, ok := fleet.ParseVersion(b.fleet.version); ok {
		candidates = []rolloutRules{{rulesOf(v).displayName, !v.Before(13, 0), !v.Before(15, 0)}}
	}
	for i, rules := range candidates {
		x, err := b.rollout(clusters, rules)
		switch {
		case err != nil:
			return Rollout{}, i == 0 && len(candidates) == 1, err
		case i > 0 && !x.same(out):
			return Rollout{}, false, nil
		}
		out = x
	}
	return out, true, nil
}

// clusters returns the clusters of the bundle. known is false if it may have others. The number of targets in its
// status proves that it has no others.
func (b *Bundle) clusters() (out []*Cluster, known bool) {
	for r := range b.Results() {
		switch {
		case r.Outcome == Expected, r.Outcome == Blocked:
			out = append(out, r.Cluster)
		case r.Outcome == Unknown && r.Reason != MappingsUnread:
			return nil, false
		}
	}
	s := b.Status
	counted := s.ObservedGeneration > 0 && s.ObservedGeneration >= b.Generation && s.Summary.DesiredReady == len(out)
	if b.Invalid != nil {
		return out, false
	}
	return out, b.Complete() || counted && b.fleet.read(KindCluster, b.Namespace)
}

func (b *Bundle) rollout(clusters []*Cluster, rules rolloutRules) (Rollout, error) {
	spec := b.Spec.RolloutStrategy
	if spec == nil {
		spec = &v1alpha1.RolloutStrategy{}
	}
	var out Rollout
	var err error
	if out.MaxUnavailable, err = limit(len(clusters), spec.MaxUnavailable, &all); err != nil {
		return out, err
	}
	if len(spec.Partitions) > 0 {
		err = out.stated(spec, clusters, rules)
	} else {
		err = out.automatic(spec, clusters, rules)
	}
	if err != nil {
		return out, err
	}
	out.MaxUnavailablePartitions, err = limit(len(out.Partitions), spec.MaxUnavailablePartitions, &none)
	return out, err
}

// stated adds the partitions of the spec.
func (r *Rollout) stated(spec *v1alpha1.RolloutStrategy, clusters []*Cluster, rules rolloutRules) error {
	selected := map[*Cluster]bool{}
	for i := range spec.Partitions {
		p := &spec.Partitions[i]
		c, err := compile(&p.ClusterTarget)
		if err != nil {
			return fmt.Errorf("rolloutStrategy.partitions[%d].%w", i, err)
		}
		x := Partition{Name: cmp.Or(p.Name, fmt.Sprintf("partitions[%d]", i))}
		for _, cluster := range clusters {
			if c.matchCluster(cluster, rules.displayName) && slices.ContainsFunc(cluster.groups, func(g group) bool {
				return (g.name != "" || rules.ungrouped) && c.matchGroup(g)
			}) {
				x.Clusters, selected[cluster] = append(x.Clusters, cluster), true
			}
		}
		if x.MaxUnavailable, err = limit(len(x.Clusters), p.MaxUnavailable, spec.MaxUnavailable, &all); err != nil {
			return err
		}
		r.Partitions = append(r.Partitions, x)
	}
	for _, cluster := range clusters {
		if !selected[cluster] {
			r.Left = append(r.Left, cluster)
		}
	}
	return nil
}

// automatic adds the partitions that the controller makes of many clusters. The name of one is that in the status of
// the Bundle.
func (r *Rollout) automatic(spec *v1alpha1.RolloutStrategy, clusters []*Cluster, rules rolloutRules) error {
	threshold, size := defaultThreshold, len(clusters)
	if spec.AutoPartitionThreshold != nil && rules.threshold {
		threshold = *spec.AutoPartitionThreshold
	}
	off := spec.AutoPartitionSize != nil && spec.AutoPartitionSize.Type == intstr.Int &&
		spec.AutoPartitionSize.IntVal <= 0
	single := off || threshold <= 0 || len(clusters) < threshold
	if !single {
		var err error
		if size, err = limit(len(clusters), spec.AutoPartitionSize, &quarter); err != nil {
			return err
		}
	}
	for begin := 0; begin < len(clusters) || single && begin == 0; begin += max(size, 1) {
		end := min(begin+max(size, 1), len(clusters))
		x := Partition{Name: fmt.Sprintf("Partition %d - %d", begin, end), Clusters: clusters[begin:end]}
		if single {
			x.Name = "All"
		}
		var err error
		if x.MaxUnavailable, err = limit(len(x.Clusters), spec.MaxUnavailable, &all); err != nil {
			return err
		}
		r.Partitions = append(r.Partitions, x)
	}
	return nil
}

// limit returns how many of some clusters or partitions the first value that is set allows.
func limit(count int, values ...*intstr.IntOrString) (int, error) {
	if count <= 0 {
		return 1, nil
	}
	v := cmp.Or(values...)
	if v.Type == intstr.Int {
		return min(max(int(v.IntVal), 0), count), nil
	}
	if n, err := strconv.Atoi(v.StrVal); err == nil && n > 0 {
		return n, nil
	}
	percent, isPercent := strings.CutSuffix(v.StrVal, "%")
	p, err := strconv.ParseFloat(percent, 64)
	if !isPercent || err != nil {
		return 0, fmt.Errorf("a limit of rolloutStrategy is neither a number nor a percentage")
	}
	return min(max(int(float64(count)*p)/100, 1), count), nil
}

// same reports whether two rollouts have the same effect.
func (r *Rollout) same(o Rollout) bool {
	if r.MaxUnavailable != o.MaxUnavailable || r.MaxUnavailablePartitions != o.MaxUnavailablePartitions {
		return false
	}
	if !slices.Equal(r.Left, o.Left) {
		return false
	}
	return slices.EqualFunc(r.Partitions, o.Partitions, func(x, y Partition) bool {
		return x.MaxUnavailable == y.MaxUnavailable && slices.Equal(x.Clusters, y.Clusters)
	})
}

// Progress is how far a rollout is. Source: docs/fleet-behavior.md, 5.7.
type Progress struct {
	Rollout
	// Unavailable are the clusters of the bundle that are unavailable: their agent has not applied the deployment, or
	// it is not ready.
	Unavailable []*Cluster
	// Of has the progress of each partition.
	Partitions []PartitionProgress
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
func (r Rollout) Progress(deployment func(*Cluster) *v1alpha1.BundleDeployment,
	current func(*v1alpha1.BundleDeployment) bool) Progress {
	out := Progress{Rollout: r}
	counted := map[*Cluster]bool{}
	unavailablePartitions := 0
	for _, p := range r.Partitions {
		x := PartitionProgress{Partition: p, Reached: unavailablePartitions <= r.MaxUnavailablePartitions}
		for _, c := range p.Clusters {
			bd := deployment(c)
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
		out.Partitions = append(out.Partitions, x)
	}
	for _, c := range r.Left {
		if bd := deployment(c); bd != nil && unavailable(bd) {
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
	for i := range p.Partitions {
		x := &p.Partitions[i]
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
	x := &p.Partitions[partition]
	switch {
	case !x.Reached:
		i := slices.IndexFunc(p.Partitions[:partition], func(e PartitionProgress) bool {
			return len(e.Behind) > e.MaxUnavailable
		})
		e := &p.Partitions[i] // there is one: otherwise it would be reached
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
