// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"slices"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/directory"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/ownership"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

// State is everything that is desired on the clusters of one management cluster. It is immutable, except that
// DropManifests drops what is no longer needed.
type State struct {
	*directory.Directory
	// Deployments are those of the Directory, in its order, with their desired objects.
	Deployments []*BundleDeployment
	// Removals are the releases that the garbage collection of an agent uninstalls, in the order of the collection.
	Removals []*Removal
	// Notes are information for the reader about rendered bundles.
	Notes []string

	byID map[object.DeploymentID]*BundleDeployment
	// claiming are the bundle deployments that claims have.
	claiming []*BundleDeployment
	// claims have the desired objects, ordered by bundle deployment, and the bundle deployments by the hash of their
	// set, also those that are only known by their release.
	claims *Claims[*Object, *BundleDeployment]
	// evidence confirms the release records of the bundle deployments that were evaluated, if they need any.
	evidence map[object.DeploymentID]ownership.Evidence
}

// Input is the input of Resolve.
type Input struct {
	Directory *directory.Directory
	// Clusters are the states from which the Directory was made, with their release records.
	Clusters []*state.Cluster
	// Renderings replace the desired objects of the release records.
	Renderings []*Rendering
	// Removals are the releases that garbage collection uninstalls.
	Removals []*Removal
	// Before is an earlier state, which must not be used any more. Unchanged are those of its bundle deployments of
	// which the records and all that decides about their objects are the same. Clusters have their records in brief.
	Before    *State
	Unchanged map[object.DeploymentID]bool
}

// Resolve computes the desired state.
func Resolve(in Input) *State {
	histories := map[object.ClusterID]map[string][]*state.Record{}
	for _, c := range in.Clusters {
		histories[object.ClusterID(c.Name)] = c.Histories()
	}
	var deployments []*BundleDeployment
	for _, d := range in.Directory.Deployments {
		if in.Unchanged[d.ID()] {
			deployments = append(deployments, in.Before.byID[d.ID()].with(d))
			continue
		}
		x := &BundleDeployment{Deployment: *d}
		if cluster := in.Directory.Cluster(d.ClusterID); d.Placed {
			x.recorded(histories[d.ClusterID][d.Release.Release()], cluster.State.Namespaced)
		}
		deployments = append(deployments, x)
	}
	notes := render(deployments, in.Renderings, in.Directory)
	out := index(in.Directory, deployments, in.Before)
	out.Notes = notes
	for _, before := range in.Removals {
		x := *before
		x.Shared = out.shared(x.ClusterID, &x.Losses, x.Record)
		out.Removals = append(out.Removals, &x)
	}
	return out
}

// IndexState returns the desired state of bundle deployments whose desired objects are known.
func IndexState(in *directory.Directory, deployments []*BundleDeployment) *State {
	return index(in, deployments, nil)
}

// index is IndexState. It takes the claims from an earlier state if there is one.
func index(in *directory.Directory, deployments []*BundleDeployment, before *State) *State {
	out := &State{Directory: in, Deployments: deployments, byID: map[object.DeploymentID]*BundleDeployment{}}
	for _, d := range deployments {
		out.byID[d.ID()] = d
		if d.Placed {
			out.claiming = append(out.claiming, d)
		}
	}
	for _, d := range in.LeftoverSets {
		out.claiming = append(out.claiming, &BundleDeployment{Deployment: *d})
	}
	if before == nil {
		before = &State{claims: NewClaims(objectsInOrder, inOrder)}
	}
	out.claims = before.claims
	out.claims.Replace(without(before.claiming, out.claiming), without(out.claiming, before.claiming))
	return out
}

// without returns those that are not among others, in their order.
func without(all, others []*BundleDeployment) []*BundleDeployment {
	in := map[*BundleDeployment]bool{}
	for _, d := range others {
		in[d] = true
	}
	return slices.DeleteFunc(slices.Clone(all), func(d *BundleDeployment) bool { return in[d] })
}

// WithFleet returns the desired state with more data of the management cluster, on which it does not depend.
func (s *State) WithFleet(f *state.Fleet) *State {
	out, d := *s, *s.Directory
	d.Fleet = f
	out.Directory = &d
	return &out
}

// WithEvidence returns the desired state with what live objects show about the release records that need it.
func (s *State) WithEvidence(e map[object.DeploymentID]ownership.Evidence) *State {
	out := *s
	out.evidence = e
	return &out
}

// Contested reports whether there is more than one claim to an object, also by release records that are not confirmed.
func (s *State) Contested(id object.ID) bool { return s.claims.Contested(id) }

// DropManifests drops the JSON of the desired objects on a cluster whose live objects were evaluated: it is most of the
// memory of a run over many clusters. Those of bundles with comparePatches stay, because checks apply these to them,
// and those of a release with a newer revision, because they are compared with it. The caller must not use the
// manifests of the same cluster concurrently.
func (s *State) DropManifests(c object.ClusterID) {
	for _, d := range s.Deployments {
		if d.IsOn(c) {
			d.DropManifests()
		}
	}
}

// On returns what is desired on a cluster that is read.
func (s *State) On(id object.ClusterID) OnCluster {
	return OnCluster{s.Cluster(id), s.byID, s.claims, s.evidence}
}

// Deployment returns a bundle deployment; nil if it does not exist.
func (s *State) Deployment(id object.DeploymentID) *BundleDeployment { return s.byID[id] }

// shared returns those of the deleted objects that other releases desire.
func (s *State) shared(cluster object.ClusterID, l *Losses, rec *state.Record) []*Object {
	var out []*Object
	for _, ref := range l.Deletes {
		for _, o := range s.On(cluster).Of(ref.Key()) {
			if s.Deployment(o.Deployment).Release.Release() != rec.Release() {
				out = append(out, o)
			}
		}
	}
	return out
}

// Select returns bundle deployments by their identity.
func (s *State) Select(ids []object.DeploymentID) []*BundleDeployment {
	out := make([]*BundleDeployment, len(ids))
	for i, id := range ids {
		out[i] = s.byID[id]
	}
	return out
}

// Secrets returns the Secrets in manifests as JSON: their values must not be shown.
func (s *State) Secrets() [][]byte {
	var out [][]byte
	for _, d := range s.Deployments {
		if d.From == FromRelease {
			continue // they are those of the release records
		}
		out = append(out, d.Rendering.Secrets...)
		for _, o := range d.Desired {
			if o.IsSecret() {
				out = append(out, o.Raw)
			}
		}
	}
	return out
}
