// SPDX-License-Identifier: Apache-2.0

package facts

import (
	"fmt"
	"iter"
	"slices"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/directory"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/agentconfig"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

// Registration is how the agent of a Cluster without a kubeconfig Secret registers itself. It is zero for a Cluster
// without a clientID, for one that is being deleted, and for one that another Fleet manages. Source:
// docs/fleet-behavior.md, 7.2.
type Registration struct {
	// Found is the newest ClusterRegistration with the clientID of the Cluster; nil without one.
	Found *v1alpha1.ClusterRegistration
	// Same are the names of other Clusters of the namespace with the same clientID.
	Same []string
	// others are the registrations in the namespace with a clientID that no Cluster had, so that the controller made
	// one for it.
	others []*v1alpha1.ClusterRegistration
	// registers is true if the agent registers itself, and read if all registrations in the namespace were read.
	registers, read bool
}

// RegistrationOf returns how the agent of a Cluster registers itself.
func (f *Facts) RegistrationOf(c *v1alpha1.Cluster) Registration {
	id := c.Spec.ClientID
	imported := c.Spec.KubeConfigSecret != "" || agentconfig.Skipped(c)
	if id == "" || imported || Deleting(c) {
		return Registration{}
	}
	out := Registration{registers: true, read: f.Read(state.ClusterRegistration, c.Namespace)}
	for _, o := range f.Result.Desired.Fleet.Clusters {
		if o != c && o.Namespace == c.Namespace && o.Spec.ClientID == id {
			out.Same = append(out.Same, o.Name)
		}
	}
	slices.Sort(out.Same)
	for _, r := range f.Result.Desired.Registrations {
		switch {
		case r.Namespace != c.Namespace:
		case r.Spec.ClientID == id:
			if out.Found == nil || out.Found.CreationTimestamp.Before(&r.CreationTimestamp) {
				out.Found = r
			}
		case r.Status.ClusterName == fleet.RegisteredName(r.Spec.ClientID):
			out.others = append(out.others, r)
		}
	}
	return out
}

// Elsewhere reports whether the agent with the clientID of a Cluster that never reported has registered for another
// Cluster. It never reports for this one.
func (r Registration) Elsewhere(a evaluate.Agent) bool {
	return a.Heartbeat.State == agentconfig.Never && r.Found != nil && r.of(a.Cluster) != ""
}

// Granted reports whether the controller granted a registration for a Cluster.
func (r Registration) Granted(c *v1alpha1.Cluster) bool {
	return r.Found != nil && r.Found.Status.Granted && r.of(c) == ""
}

// of returns the other Cluster of the registration; empty if it is of this one, or of none yet.
func (r Registration) of(c *v1alpha1.Cluster) string {
	if name := r.Found.Status.ClusterName; name != c.Name {
		return name
	}
	return ""
}

// Why returns what the registrations show about a Cluster whose agent never reported, as a sentence; empty if they show
// nothing.
func (r Registration) Why(c *v1alpha1.Cluster) string {
	switch {
	case !r.registers || !r.read && r.Found == nil:
		return ""
	case r.Found == nil:
		return fmt.Sprintf("no ClusterRegistration in namespace %s has its clientID %q", c.Namespace, c.Spec.ClientID)
	case r.of(c) != "":
		return fmt.Sprintf("ClusterRegistration %s with its clientID %q is of cluster %s/%s", r.Found.Name,
			c.Spec.ClientID, c.Namespace, r.of(c))
	case !r.Found.Status.Granted:
		return fmt.Sprintf("ClusterRegistration %s with its clientID is not granted", r.Found.Name)
	}
	return ""
}

// Others returns, as sentences, which other Clusters the agent may be of.
func (r Registration) Others(c *v1alpha1.Cluster) []string {
	var out []string
	if len(r.Same) > 0 {
		out = append(out, "other Clusters have the same clientID, and an agent registers for one of them: "+
			List(r.Same))
	}
	if !r.registers || r.Found != nil {
		return out
	}
	if !r.read {
		return append(out, "the ClusterRegistrations in namespace "+c.Namespace+" were not read")
	}
	var made []string
	for _, o := range r.others {
		made = append(made, fmt.Sprintf("%s with the clientID %q has Cluster %s", o.Name, o.Spec.ClientID,
			o.Status.ClusterName))
	}
	slices.Sort(made)
	if len(made) > 0 {
		out = append(out, "for a clientID that no Cluster has, the controller makes a Cluster: ClusterRegistration "+
			List(made))
	}
	return out
}

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
