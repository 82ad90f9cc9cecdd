// SPDX-License-Identifier: Apache-2.0

package facts

import (
	"iter"
	"slices"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/directory"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

// Read reports whether all objects of a kind in a namespace were read.
func (f *Facts) Read(kind, namespace string) bool { return f.Result.Desired.Read(kind, namespace) }

// ClustersRead reports whether the Clusters were read completely, so that a namespace of BundleDeployments that none
// names has none.
func (f *Facts) ClustersRead() bool { return f.Read(state.ClusterKind, "") }

// Captured reports whether Fleet's objects are from a capture.
func (f *Facts) Captured() bool {
	return len(f.Result.Desired.Clusters) > 0 && f.Result.Desired.Clusters[0].State.Captured
}

// ClusterName returns the name of a cluster if several are read, otherwise the empty string.
func (f *Facts) ClusterName(c *directory.Cluster) string {
	if len(f.Result.Clusters) == 0 {
		return ""
	}
	if found := c.FleetClusters(); len(found) > 0 {
		return found[0]
	}
	return f.sourceOf(c.ID).Name
}

// ObjectsOn iterates over the desired objects in scope on a cluster.
func (f *Facts) ObjectsOn(c *directory.Cluster) iter.Seq2[*evaluate.BundleDeployment, *evaluate.Object] {
	return func(yield func(*evaluate.BundleDeployment, *evaluate.Object) bool) {
		for _, d := range f.Result.Deployments {
			if !d.IsOn(c.ID) {
				continue
			}
			for i := range d.Objects {
				if !yield(d, &d.Objects[i]) {
					return
				}
			}
		}
	}
}

// Candidates returns the bundles, without those in deletion, of which a deployment may be in scope.
func (f *Facts) Candidates() []*v1alpha1.Bundle {
	ofCluster := slices.ContainsFunc(f.Result.Scope.Targets, func(t evaluate.Target) bool {
		return t.Kind == evaluate.TargetCluster
	})
	var out []*v1alpha1.Bundle
	for _, b := range f.Result.Desired.Bundles {
		if included := ofCluster || f.Result.Includes(state.Bundle, b); included && !Deleting(b) {
			out = append(out, b)
		}
	}
	return out
}

// DeploymentInScope reports whether the deployment of a bundle to a cluster ("namespace/name") is in scope, or would be
// if it existed.
func (f *Facts) DeploymentInScope(b *v1alpha1.Bundle, cluster string) bool {
	s := f.Result.Scope
	if s.Selector != nil || s.Namespace != "" && s.Namespace != b.Namespace {
		return false
	}
	return f.Result.Includes(state.Bundle, b) || s.Names(state.ClusterKind, cluster)
}

// Processed reports whether the controller has ever processed a Bundle; true if that is not known.
func (f *Facts) Processed(b *v1alpha1.Bundle) bool {
	written := b.Status.ObservedGeneration > 0 || len(b.Status.Conditions) > 0
	if written || Deleting(b) {
		return true
	}
	return f.DeploymentsOf(Key(b)) > 0 || !f.Read(state.BundleDeployment, "")
}
