// SPDX-License-Identifier: Apache-2.0

package evaluate

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/resolve"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

// Aggregate is one of Fleet's objects above the bundle deployments, with the actual totals of its bundle deployments.
type Aggregate struct {
	Kind   string
	Object v1alpha1.Object
	// BundleDeployments are those of its bundle deployments that are in scope; a ClusterGroup has those of its clusters.
	BundleDeployments []*BundleDeployment
	// Clusters are the members of a ClusterGroup.
	Clusters []*Aggregate
	// All counts its bundle deployments, in scope or not.
	All    int
	Actual Actual
	// Complete is true if all its bundle deployments are in scope and could be read. Partial totals cannot be compared with Fleet's.
	Complete bool
	// Unread is true if the objects of one of them could not be read.
	Unread bool
	// Listed is true if all BundleDeployments that may be part of it were read.
	Listed bool
}

// Actual has the actual totals of the bundle deployments of an Aggregate.
type Actual struct {
	BundleDeployments, ReadyBundleDeployments int
	Counts                                    Counts
}

// Key is "namespace/name".
func (a *Aggregate) Key() string { return a.Object.GetNamespace() + "/" + a.Object.GetName() }

// Tree has every Aggregate by kind, in the order in which they were read.
type Tree map[string][]*Aggregate

// newTree computes the totals of the bundle deployments in scope.
func newTree(desired *resolve.DesiredState, scope []*BundleDeployment, whole bool) Tree {
	out, index := Tree{}, map[[2]string]*Aggregate{}
	for _, k := range state.Kinds {
		if k.Name == state.BundleDeployment {
			continue
		}
		for _, o := range k.Of(desired.Fleet) {
			a := &Aggregate{Kind: k.Name, Object: o, Listed: desired.Read(state.BundleDeployment, "")}
			if c, ok := o.(*v1alpha1.Cluster); ok {
				a.Listed = desired.Read(state.BundleDeployment, c.Status.Namespace)
			}
			out[k.Name], index[[2]string{k.Name, a.Key()}] = append(out[k.Name], a), a
		}
	}
	above := func(d *resolve.BundleDeployment, f func(*Aggregate)) {
		for kind, key := range d.Parents() {
			if a := index[[2]string{kind, key}]; a != nil {
				f(a)
			}
		}
	}
	for _, d := range desired.Deployments {
		above(d, func(a *Aggregate) { a.All++ })
	}
	for _, d := range scope {
		above(d.BundleDeployment, func(a *Aggregate) { a.add(d) })
	}
	for kind, all := range out {
		for _, a := range all {
			if kind != state.ClusterGroup {
				a.Complete = a.All == len(a.BundleDeployments) && !a.Unread && (a.All > 0 || whole && a.Listed)
			}
		}
	}
	for _, a := range out[state.ClusterGroup] {
		a.addMembers(out[state.ClusterKind])
		a.Complete = a.Complete && desired.Read(state.ClusterKind, a.Object.GetNamespace()) && (whole || len(a.Clusters) > 0)
	}
	return out
}

func (a *Aggregate) add(d *BundleDeployment) {
	a.BundleDeployments = append(a.BundleDeployments, d)
	a.Actual.BundleDeployments++
	if d.State == Ready {
		a.Actual.ReadyBundleDeployments++
	}
	a.Actual.Counts = a.Actual.Counts.Plus(d.Counts)
	// A bundle deployment that is not installed has no objects to read.
	a.Unread = a.Unread || d.Problem != "" && d.Problem != resolve.NoReleaseRecord
}

// addMembers adds the totals of the clusters of a ClusterGroup: those of its namespace that its selector selects.
func (a *Aggregate) addMembers(clusters []*Aggregate) {
	group, ok := a.Object.(*v1alpha1.ClusterGroup)
	if !ok || group.Spec.Selector == nil {
		return // a group without a selector has no member, but the capture may omit the spec
	}
	selector, err := metav1.LabelSelectorAsSelector(group.Spec.Selector)
	if err != nil {
		return
	}
	a.Complete = true
	for _, c := range clusters {
		if c.Object.GetNamespace() != group.Namespace || !selector.Matches(labels.Set(c.Object.GetLabels())) {
			continue
		}
		a.Clusters = append(a.Clusters, c)
		for _, d := range c.BundleDeployments {
			a.add(d)
		}
		a.All += c.All
		a.Complete = a.Complete && c.Complete
	}
}
