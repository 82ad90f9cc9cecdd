// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"cmp"
	"maps"
	"slices"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/directory"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
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
func (s *State) Uninstalls(clusters []*state.Cluster,
	selected func(*BundleDeployment) bool) map[object.DeploymentID][]*Uninstall {
	out := map[object.DeploymentID][]*Uninstall{}
	for i, c := range s.Clusters {
		u := uninstaller{cluster: c, state: clusters[i], histories: clusters[i].Histories()}
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
func (s *State) uninstalls(u *uninstaller, histories [][]*state.Record) []*Uninstall {
	var out []*Uninstall
	for _, history := range histories {
		x := u.uninstall(history)
		x.Shared = s.shared(u.cluster.ID, &x.Losses, x.Record)
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
	cluster *directory.Cluster
	state   *state.Cluster
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
			from := owner{last.AgentNamespace, last.BundleID}
			out[from] = append(out[from], u.histories[name])
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
		x.RecordsStay = rec.Name.Name != rec.BundleID
		for _, o := range objectsOf(u.cluster, rec) {
			x.Kept = append(x.Kept, KeptObject{o.Ref, KeptByOption})
		}
	case x.Spared != "":
	case rec.ManifestError != nil:
		x.Problem, x.Detail = directory.RecordUnreadable, rec.ManifestError.Error()
	case rec.Skipped:
		x.Problem, x.Detail = directory.RecordUnreadable, "its manifest was not read"
	case rec.OverBound != "":
		x.Problem, x.Detail = directory.RecordUnreadable, rec.OverBound
	default:
		x.Losses = losses(u.cluster, rec)
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
func (s *State) UninstallUnknown(d *BundleDeployment) (directory.Problem, string) {
	cluster := s.Cluster(d.ClusterID)
	switch {
	case !d.Placed:
		return cmp.Or(d.Problem, directory.ClusterNotRead), d.Detail
	case d.Problem != "" && d.Problem != directory.NoReleaseRecord:
		return d.Problem, d.Detail
	case cluster.State.Captured && d.Release.Name != "":
		return directory.RecordNotCaptured, "the record of its release is not in the snapshot"
	}
	return directory.RecordsProblem(cluster.State, cmp.Or(d.Release.Namespace, d.Options().ReleaseNamespace()))
}
