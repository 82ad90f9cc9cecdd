// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"cmp"
	"maps"
	"slices"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/directory"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/ownership"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/release"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

// Uninstall is a release of a bundle deployment that its agent removes when the BundleDeployment is deleted
// (docs/fleet-behavior.md, 1.8 and 1.11).
type Uninstall struct {
	// Record is the newest record of the release, which decides, without its objects. Hooks are those of the record.
	Record *state.Record
	Hooks  []release.Hook
	// First is true for the release that the agent removes at once. Garbage collection removes the others.
	First bool
	// Spared is the reason why all objects stay; empty if Losses apply.
	Spared Spared
	// RecordsStay is true if the agent cannot find the records that it should remove.
	RecordsStay bool
	// Problem is the reason why it is not known what is removed. Detail is the same as a sentence.
	Problem directory.Problem
	Detail  string
	Losses
}

// Spared is the reason why an agent removes no object of a release.
type Spared string

// The reasons.
const (
	SparedByOption Spared = "KeepResources" // the release was deployed with keepResources
	SparedAgent    Spared = "AgentBundle"   // the bundle deploys the agent, which is never uninstalled
	SparedUnseen   Spared = "NotListed"     // the agent does not find the release
	SparedAlready  Spared = "Uninstalled"   // Helm has uninstalled it before
)

// VersionUnknown is the problem of a release that only some versions of the agent find.
const VersionUnknown directory.Problem = "VersionUnknown"

// Uninstalls finds the releases that the agents remove with the selected bundle deployments, ordered by name. clusters
// are the states from which the Directory was made.
func (s *DesiredState) Uninstalls(clusters []*state.Cluster,
	selected func(*BundleDeployment) bool) map[object.DeploymentID][]*Uninstall {
	out := map[object.DeploymentID][]*Uninstall{}
	for i, c := range s.Clusters {
		u := uninstaller{on: c, state: clusters[i], histories: clusters[i].Histories()}
		byOwner := u.byOwner()
		for _, d := range s.Deployments {
			if d.IsOn(c.ID) && selected(d) {
				out[d.ID()] = s.uninstalls(&u, byOwner[u.ownerOf(d)])
			}
		}
	}
	return out
}

// uninstalls returns the uninstalls of the releases of one bundle deployment.
func (s *DesiredState) uninstalls(u *uninstaller, histories [][]*state.Record) []*Uninstall {
	var out []*Uninstall
	for _, history := range histories {
		x := u.uninstall(history)
		x.Shared = s.shared(u.on.ID, &x.Losses, x.Record)
		out = append(out, x)
	}
	slices.SortFunc(out, func(x, y *Uninstall) int { return byName(x.Record, y.Record) })
	if i := slices.IndexFunc(out, func(x *Uninstall) bool { return x.Spared != SparedUnseen }); i >= 0 {
		out[i].First = true
	}
	return out
}

// uninstaller predicts the uninstalls on one cluster.
type uninstaller struct {
	on    *directory.Cluster
	state *state.Cluster
	// histories are the revisions of each release ("namespace/name"), ascending.
	histories map[string][]*state.Record
}

// owner is the agent and the bundle of a release.
type owner struct{ agent, bundleID string }

// byOwner returns the histories of the releases of each owner, ordered by release.
func (u *uninstaller) byOwner() map[owner][][]*state.Record {
	out := map[owner][][]*state.Record{}
	for _, name := range slices.Sorted(maps.Keys(u.histories)) {
		if last := directory.Latest(u.histories[name]); last != nil {
			of := owner{last.AgentNamespace, last.BundleID}
			out[of] = append(out[of], u.histories[name])
		}
	}
	return out
}

func (u *uninstaller) ownerOf(d *BundleDeployment) owner {
	if last := directory.Latest(u.histories[d.Release.Release()]); d.BD == nil && last != nil {
		return owner{last.AgentNamespace, d.Name}
	}
	return owner{d.Agent, d.Name}
}

func (u *uninstaller) uninstall(history []*state.Record) *Uninstall {
	rec := history[len(history)-1]
	x := &Uninstall{Record: rec.Identity(), Hooks: rec.Hooks}
	if last := u.state.Latest[rec.Release()]; last != nil && last.Revision > rec.Revision {
		x.Spared = SparedUnseen // the newest revision is not Fleet's
		return x
	}
	x.Spared, x.Problem = u.spared(rec)
	switch {
	case rec.Damaged != "":
		x.Spared, x.Problem, x.Detail = "", directory.RecordUnreadable, rec.Damaged
	case x.Problem == VersionUnknown:
		x.Detail = "its newest record is " + rec.Status +
			", which only agents of some versions find, and the version of the agent is not known"
	case x.Spared == SparedByOption, x.Spared == SparedAgent:
		x.RecordsStay, x.Losses = rec.Name.Name != rec.BundleID, spares(u.on, rec)
	case x.Spared != "":
	case rec.ManifestError != nil:
		x.Problem, x.Detail = directory.RecordUnreadable, rec.ManifestError.Error()
	case rec.Skipped:
		x.Problem, x.Detail = directory.RecordUnreadable, "its manifest was not read"
	case rec.OverBound != "":
		x.Problem, x.Detail = directory.RecordUnreadable, rec.OverBound
	default:
		x.Losses = losses(u.on, rec)
	}
	return x
}

// spared returns why no object of a release is removed, or the problem that this is not known.
func (u *uninstaller) spared(rec *state.Record) (Spared, directory.Problem) {
	if rec.Status != release.StatusDeployed && rec.Status != release.StatusFailed {
		switch agent, known := fleet.ParseVersion(u.state.Workloads[rec.AgentNamespace].Version); {
		case !known:
			return "", VersionUnknown
		case agent.Before(helm4List, 0):
			return SparedUnseen, ""
		}
	}
	switch {
	case fleet.IsAgentBundle(rec.BundleID):
		return SparedAgent, ""
	case rec.KeepResources:
		return SparedByOption, ""
	case rec.Status == release.StatusUninstalled:
		return SparedAlready, ""
	}
	return "", ""
}

// UninstallUnknown returns the reason why it is not known which releases of a bundle deployment are removed, if none
// was found. Both are empty if there are none.
func (s *DesiredState) UninstallUnknown(d *BundleDeployment) (directory.Problem, string) {
	on := s.Cluster(d.ClusterID)
	switch {
	case !d.Placed:
		return cmp.Or(d.Problem, directory.ClusterNotRead), d.Detail
	case d.Problem != "" && d.Problem != directory.NoReleaseRecord:
		return d.Problem, d.Detail
	case on.State.Captured && d.Release.Name != "":
		return directory.RecordNotCaptured, "the record of its release is not in the snapshot"
	}
	return directory.RecordsProblem(on.State, cmp.Or(d.Release.Namespace, d.Options().ReleaseNamespace()))
}

// DesiredState is everything that is desired on the clusters of one management cluster. It is immutable, except that
// DropManifests drops what is no longer needed.
type DesiredState struct {
	*directory.Directory
	// Deployments are those of the Directory, in its order, with their desired objects.
	Deployments []*BundleDeployment
	// Removals are the releases that the garbage collection of an agent uninstalls, in the order of the collection.
	Removals []*Removal
	// Notes are information for the reader about rendered bundles.
	Notes []string

	byID map[object.DeploymentID]*BundleDeployment
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
		if on := in.Directory.Cluster(d.ClusterID); d.Placed {
			x.recorded(histories[d.ClusterID][d.Release.Release()], on.State.Namespaced)
		}
		deployments = append(deployments, x)
	}
	notes := render(deployments, in.Renderings, in.Directory)
	out := IndexState(in.Directory, deployments)
	out.Notes = notes
	for _, before := range in.Removals {
		x := *before
		x.Shared = out.shared(x.ClusterID, &x.Losses, x.Record)
		out.Removals = append(out.Removals, &x)
	}
	return out
}

// IndexState returns the desired state of bundle deployments whose desired objects are known.
func IndexState(in *directory.Directory, deployments []*BundleDeployment) *DesiredState {
	out := &DesiredState{Directory: in, Deployments: deployments, byID: map[object.DeploymentID]*BundleDeployment{},
		claims: NewClaims(objectsInOrder, inOrder)}
	var all []*BundleDeployment
	for _, d := range deployments {
		out.byID[d.ID()] = d
		if d.Placed {
			all = append(all, d)
		}
	}
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

// WithEvidence returns the desired state with what live objects show about the release records that need it.
func (s *DesiredState) WithEvidence(e map[object.DeploymentID]ownership.Evidence) *DesiredState {
	out := *s
	out.evidence = e
	return &out
}

// DropManifests drops the JSON of the desired objects on a cluster whose live objects were evaluated: it is most of the
// memory of a run over many clusters. Those of bundles with comparePatches stay, because checks apply these to them,
// and those of a release with a newer revision, because they are compared with it. The caller must not use the
// manifests of the same cluster concurrently.
func (s *DesiredState) DropManifests(c object.ClusterID) {
	for _, d := range s.Deployments {
		if d.IsOn(c) {
			d.DropManifests()
		}
	}
}

// DropManifests drops the JSON of the desired objects, unless something else needs it.
func (d *BundleDeployment) DropManifests() {
	for _, o := range d.Claimed() {
		d.DropManifest(o)
	}
}

// DropManifest drops the JSON of a desired object, unless something else needs it.
func (d *BundleDeployment) DropManifest(o *Object) {
	if len(d.ComparePatches()) == 0 && d.Next == nil {
		o.Raw = nil
	}
}

// On returns what is desired on a cluster that is read.
func (s *DesiredState) On(id object.ClusterID) OnCluster {
	return OnCluster{s.Cluster(id), s.byID, s.claims, s.evidence}
}

// Deployment returns a bundle deployment; nil if it does not exist.
func (s *DesiredState) Deployment(id object.DeploymentID) *BundleDeployment { return s.byID[id] }

// shared returns those of the deleted objects that other releases desire.
func (s *DesiredState) shared(on object.ClusterID, l *Losses, rec *state.Record) []*Object {
	var out []*Object
	for _, ref := range l.Deletes {
		for _, o := range s.On(on).Of(ref.Key()) {
			if s.Deployment(o.Deployment).Release.Release() != rec.Release() {
				out = append(out, o)
			}
		}
	}
	return out
}

// Select returns bundle deployments by their identity.
func (s *DesiredState) Select(ids []object.DeploymentID) []*BundleDeployment {
	out := make([]*BundleDeployment, len(ids))
	for i, id := range ids {
		out[i] = s.byID[id]
	}
	return out
}

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
