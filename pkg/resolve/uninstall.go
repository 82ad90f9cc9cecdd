// SPDX-License-Identifier: Apache-2.0

package resolve

import (
	"cmp"
	"maps"
	"slices"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/release"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

// Uninstall is a release of a bundle deployment that its agent removes when the BundleDeployment is deleted (docs/fleet-behavior.md, 1.8 and 1.11).
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
	Problem Problem
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
const VersionUnknown Problem = "VersionUnknown"

// uninstalls finds the releases that the agents remove with the selected bundle deployments.
func (r *resolver) uninstalls(deployments []*BundleDeployment, selected func(*BundleDeployment) bool) {
	type owner struct{ agent, bundleID string }
	histories := map[owner][][]*state.Record{}
	for _, name := range slices.Sorted(maps.Keys(r.histories)) {
		if last := latest(r.histories[name]); last != nil {
			of := owner{last.AgentNamespace, last.BundleID}
			histories[of] = append(histories[of], r.histories[name])
		}
	}
	for _, d := range deployments {
		if d.On != r.out || !selected(d) {
			continue
		}
		agent := d.Agent
		if last := latest(r.histories[d.Release.Release()]); d.BD == nil && last != nil {
			agent = last.AgentNamespace
		}
		for _, history := range histories[owner{agent, d.Name}] {
			d.Uninstalls = append(d.Uninstalls, r.uninstall(history))
		}
		slices.SortFunc(d.Uninstalls, func(x, y *Uninstall) int {
			return cmp.Or(cmp.Compare(x.Record.Name.Name, y.Record.Name.Name), cmp.Compare(x.Record.Namespace, y.Record.Namespace))
		})
		for _, x := range d.Uninstalls {
			if x.Spared != SparedUnseen {
				x.First = true
				break
			}
		}
	}
}

func (r *resolver) uninstall(history []*state.Record) *Uninstall {
	rec := history[len(history)-1]
	x := &Uninstall{Record: rec.Identity(), Hooks: rec.Hooks}
	if last := r.State.Latest[rec.Release()]; last != nil && last.Revision > rec.Revision {
		x.Spared = SparedUnseen // the newest revision is not Fleet's
		return x
	}
	x.Spared, x.Problem = r.spared(rec)
	switch {
	case rec.Damaged != "":
		x.Spared, x.Problem, x.Detail = "", RecordUnreadable, rec.Damaged
	case x.Problem == VersionUnknown:
		x.Detail = "its newest record is " + rec.Status + ", which only agents of some versions find, and the version of the agent is not known"
	case x.Spared == SparedByOption, x.Spared == SparedAgent:
		x.RecordsStay, x.Losses = rec.Name.Name != rec.BundleID, r.spares(rec)
	case x.Spared != "":
	case rec.ManifestError != nil:
		x.Problem, x.Detail = RecordUnreadable, rec.ManifestError.Error()
	case rec.Skipped:
		x.Problem, x.Detail = RecordUnreadable, "its manifest was not read"
	case rec.OverBound != "":
		x.Problem, x.Detail = RecordUnreadable, rec.OverBound
	default:
		x.Losses = r.losses(rec)
	}
	return x
}

// spared returns why no object of a release is removed, or the problem that this is not known.
func (r *resolver) spared(rec *state.Record) (Spared, Problem) {
	if rec.Status != release.StatusDeployed && rec.Status != release.StatusFailed {
		switch agent, known := fleet.ParseVersion(r.State.Workloads[rec.AgentNamespace].Version); {
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

// UninstallUnknown returns the reason why it is not known which releases of a bundle deployment are removed, if none was found. Both are empty if there
// are none.
func (d *BundleDeployment) UninstallUnknown() (Problem, string) {
	switch {
	case d.On == nil:
		return cmp.Or(d.Problem, ClusterNotRead), d.Detail
	case d.Problem != "" && d.Problem != NoReleaseRecord:
		return d.Problem, d.Detail
	case d.On.State.Captured && d.Release.Name != "":
		return RecordNotCaptured, "the record of its release is not in the snapshot"
	}
	return RecordsProblem(d.On.State, cmp.Or(d.Release.Namespace, d.Options().ReleaseNamespace()))
}
