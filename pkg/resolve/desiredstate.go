// SPDX-License-Identifier: Apache-2.0

// Package resolve computes the desired objects of the bundle deployments in a directory.Directory, and what follows
// from them: who desires an object, and what the removal of a release deletes. It is a pure function of the data that
// was read, without live objects.
package resolve

import (
	"crypto/sha256"
	"slices"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/desired"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/directory"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

// DesiredState is everything that is desired on the clusters of one management cluster. It is immutable.
type DesiredState struct {
	*directory.Directory
	// Deployments are those of the Directory, in its order, with their desired objects.
	Deployments []*BundleDeployment
	// Removals are the releases that the garbage collection of an agent uninstalls, in the order of the collection.
	Removals []*Removal
	// Notes are information for the reader about rendered bundles.
	Notes []string

	// claims have the desired objects, ordered by bundle deployment, and the bundle deployments by the hash of their
	// set, also those that are only known by their release.
	claims *desired.Claims[*Object, *BundleDeployment]
}

// BundleDeployment is one bundle on one cluster, with its desired objects.
type BundleDeployment struct {
	directory.Deployment

	// Desired are the distinct objects of the manifest in its order. Of duplicates, the last one counts. From is their
	// source.
	Desired []*Object
	From    DesiredFrom
	// OtherVersions is true if duplicates are in different versions of a kind. Fleet counts each version.
	OtherVersions bool
	// Rendering is the result of rendering the bundle; zero if it was not rendered.
	Rendering Rendering
	// Recorded are the objects in the release record as JSON, if Desired comes from another source.
	Recorded map[object.Key][]byte
	// Removed are the objects of the release, if Desired comes from another source: a deploy deletes those that are no
	// longer desired, unless they are kept.
	Removed []*Object
	// Earlier are the objects of the earlier revisions that are still recorded, Hooks those of the release's hooks.
	Earlier, Hooks map[KindName]bool
	// Next are the hashes of the manifests of the newest revision, if it is newer than that of the Desired objects; nil
	// if they are not known.
	Next map[object.Key][sha256.Size]byte
	// EarlierKnown is true if the previous revision was read or does not exist.
	EarlierKnown bool

	// claimed are the objects of its record if they are not in Desired.
	claimed []*Object
}

// Object is one desired object of one bundle deployment.
type Object struct {
	object.Ref
	Deployment *BundleDeployment
	// Raw is the object's JSON in the manifest.
	Raw []byte
	// Namespaced reports whether the kind has namespaces.
	Namespaced bool
	// Index is its index in the deployment's Desired.
	Index int
	// Document and Alone are those of the release.Object.
	Document int
	Alone    bool
	// Unstable are JSON pointers of fields that differ each time the bundle is rendered.
	Unstable []string
}

// Cell identifies the object.
func (o *Object) Cell() object.CellID {
	return object.CellID{Deployment: o.Deployment.ID(), Object: o.Key()}
}

// Kept reports whether the manifest tells Helm to keep the object when its release no longer needs it.
func (o *Object) Kept() bool {
	m, err := object.ReadMeta(o.Raw)
	return err == nil && m.Metadata.Annotations[fleet.ResourcePolicyAnnotation] == "keep"
}

// KindName identifies an object of an earlier revision. Fleet compares nothing else (docs/fleet-behavior.md, 3.5).
type KindName struct{ Kind, Name string }

// Claimed returns the desired objects, and those of its record if the desired ones are not known.
func (d *BundleDeployment) Claimed() []*Object { return slices.Concat(d.claimed, d.Desired) }

// Input is the input of Resolve.
type Input struct {
	Directory *directory.Directory
	// Clusters are the states from which the Directory was made, with their release records.
	Clusters []*state.Cluster
	// Renderings replace the desired objects of the release records.
	Renderings []*Rendering
	// Removals are the releases that garbage collection uninstalls.
	Removals []*Removal
}

// Resolve computes the desired state.
func Resolve(in Input) *DesiredState {
	histories := map[object.ClusterID]map[string][]*state.Record{}
	for _, c := range in.Clusters {
		histories[object.ClusterID(c.Name)] = c.Histories()
	}
	var deployments []*BundleDeployment
	for _, d := range in.Directory.Deployments {
		x := &BundleDeployment{Deployment: *d}
		if d.On != nil {
			x.recorded(histories[d.On.ID][d.Release.Release()])
		}
		deployments = append(deployments, x)
	}
	notes := render(deployments, in.Renderings)
	out := Index(in.Directory, deployments)
	out.Notes = notes
	for _, before := range in.Removals {
		x := *before
		x.Shared = out.shared(x.On, &x.Losses, x.Record)
		out.Removals = append(out.Removals, &x)
	}
	return out
}

// Index returns the desired state of bundle deployments whose desired objects are known.
func Index(in *directory.Directory, deployments []*BundleDeployment) *DesiredState {
	out := &DesiredState{Directory: in, Deployments: deployments, claims: desired.NewClaims(objectsInOrder, inOrder)}
	all := slices.DeleteFunc(slices.Clone(deployments), func(d *BundleDeployment) bool { return d.On == nil })
	for _, d := range in.LeftoverSets {
		all = append(all, &BundleDeployment{Deployment: *d})
	}
	out.claims.Replace(nil, all)
	return out
}

// WithFleet returns the desired state with more data of the management cluster, on which it does not depend.
func (s *DesiredState) WithFleet(f *state.Fleet) *DesiredState {
	out, d := *s, *s.Directory
	d.Fleet = f
	out.Directory = &d
	return &out
}

// Select returns bundle deployments by their identity.
func (s *DesiredState) Select(ids []object.DeploymentID) []*BundleDeployment {
	byID := map[object.DeploymentID]*BundleDeployment{}
	for _, d := range s.Deployments {
		byID[d.ID()] = d
	}
	out := make([]*BundleDeployment, len(ids))
	for i, id := range ids {
		out[i] = byID[id]
	}
	return out
}

// Desires implements desired.Claimant. The bundle deployment is on a cluster that is read.
func (d *BundleDeployment) Desires(yield func(desired.Key, *Object) bool) {
	for _, o := range d.Claimed() {
		if !yield(desired.KeyOf(object.ID{Cluster: d.On.ID, Key: o.Key()}), o) {
			return
		}
	}
}

// OwnSet implements desired.Claimant.
func (d *BundleDeployment) OwnSet() desired.Set {
	return desired.Set{Cluster: d.On.ID, Hash: d.Ownership.Hash}
}

// inOrder compares bundle deployments by namespace, name and release.
func inOrder(a, b *BundleDeployment) int { return a.Compare(&b.Deployment) }

func objectsInOrder(a, b *Object) int { return inOrder(a.Deployment, b.Deployment) }

// Secrets returns the Secrets in manifests as JSON: their values must not be shown.
func (s *DesiredState) Secrets() [][]byte {
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
