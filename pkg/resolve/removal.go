// SPDX-License-Identifier: Apache-2.0

package resolve

import (
	"cmp"
	"maps"
	"reflect"
	"slices"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/release"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

// Removal is a Helm release that the garbage collection of an agent uninstalls (docs/fleet-behavior.md, 1.6 and 1.9).
type Removal struct {
	// Record is the newest record of the release, which decides, without its objects.
	Record *state.Record
	// Watched is the namespace of the BundleDeployments of the agent.
	Watched string
	// Expects is the BundleDeployment of the release, which expects another one; nil if it does not exist. Expected is the release that it expects:
	// "namespace/name".
	Expects  *v1alpha1.BundleDeployment
	Expected string
	// Converted is true if the BundleDeployment expects this release, but an agent of this version compares with the name that is not converted.
	Converted bool
	// Cycle is the number of the agent's cycle, from 1, that removes the release at the earliest.
	Cycle int
	// BlockedBy is a release ("namespace/name") whose record the agent cannot remove: each of its cycles ends there. It is empty without one.
	BlockedBy string
	// Losses are empty if the objects are not known.
	Losses
	// CustomResources are the number of objects of the CustomKinds that could be counted, by the name of the definition.
	CustomResources map[string]int
	// Confirmed is true if the record and the absence of the BundleDeployment were read again, or if the data is a capture, which does not change.
	Confirmed bool
}

// RemovalKey identifies a Removal. Watched distinguishes clusters: agents of several clusters run in namespaces of the same name.
type RemovalKey struct{ Agent, Watched, Release string }

// Key identifies the removal.
func (x *Removal) Key() RemovalKey {
	return RemovalKey{x.Record.AgentNamespace, x.Watched, x.Record.Release()}
}

// RemovalFacts are read after a Removal was found.
type RemovalFacts struct {
	// Confirmed is true if a second read shows the same. Undone is true if it shows that the release is not removed.
	Confirmed, Undone bool
	CustomResources   map[string]int
}

// helm4List is the first minor version of Fleet whose garbage collection sees releases in every state. Before, it sees those that are deployed or
// failed (docs/fleet-behavior.md, 1.9).
const helm4List = 15

// removals finds the releases that garbage collection uninstalls. A release counts only if all data that decides was read.
func (r *resolver) removals(deployments []*BundleDeployment, facts map[RemovalKey]RemovalFacts) {
	known := map[[2]string]*BundleDeployment{}
	collecting := map[string]bool{}
	for _, d := range deployments {
		if d.BD != nil {
			known[[2]string{d.Namespace, d.Name}] = d
			collecting[d.Namespace] = collecting[d.Namespace] || !d.BD.Spec.Paused && !d.BD.Spec.OffSchedule
		}
	}
	agents := map[string][]*state.Record{}
	for _, history := range r.histories {
		if rec := r.collected(history); rec != nil && collecting[r.out.watches[rec.AgentNamespace]] {
			agents[rec.AgentNamespace] = append(agents[rec.AgentNamespace], rec)
		}
	}
	for _, agent := range slices.Sorted(maps.Keys(agents)) {
		records := agents[agent]
		slices.SortFunc(records, func(x, y *state.Record) int {
			return cmp.Or(cmp.Compare(x.Name.Name, y.Name.Name), cmp.Compare(x.Namespace, y.Namespace))
		})
		r.collect(records, known, facts)
	}
}

// collect goes through the releases of one agent in the order of its garbage collection.
func (r *resolver) collect(records []*state.Record, known map[[2]string]*BundleDeployment, facts map[RemovalKey]RemovalFacts) {
	cycle, blockedBy := 1, ""
	for _, rec := range records {
		x := r.removal(rec, known[[2]string{r.out.watches[rec.AgentNamespace], rec.BundleID}])
		if x == nil {
			continue
		}
		x.Cycle, x.BlockedBy = cycle, blockedBy
		if x.Expects == nil { // the cycle ends after it
			cycle++
		}
		if rec.KeepResources || fleet.IsAgentBundle(rec.BundleID) { // only records are removed, and only those with the name of the bundle id
			if x.Expects == nil && rec.Name.Name != rec.BundleID && blockedBy == "" {
				blockedBy = rec.Release()
			}
			continue
		}
		f := facts[x.Key()]
		if f.Undone {
			continue
		}
		x.Confirmed, x.CustomResources = f.Confirmed || r.State.Captured, f.CustomResources
		x.Losses = r.losses(rec)
		r.out.Removals = append(r.out.Removals, x)
	}
}

// collected returns the record of a release that an agent's garbage collection sees; nil if it sees none, or if that is not known.
func (r *resolver) collected(history []*state.Record) *state.Record {
	rec := history[len(history)-1]
	if rec.Damaged != "" || rec.OverBound != "" || rec.BundleID == "" || rec.AgentNamespace == "" {
		return nil // Helm may decode a record that this program does not
	}
	if last := r.State.Latest[rec.Release()]; last == nil || last.Revision != rec.Revision {
		return nil
	}
	watched, known := r.out.watches[rec.AgentNamespace]
	if _, all := r.State.Coverage.Records.Of(rec.Namespace); !known || !all || !r.Read(state.BundleDeployment, watched) || !r.agentSeen(rec.AgentNamespace) {
		return nil
	}
	agent, parsed := fleet.ParseVersion(r.State.Workloads[rec.AgentNamespace].Version)
	switch rec.Status {
	case release.StatusDeployed, release.StatusFailed:
		return rec
	case release.StatusUninstalling, release.StatusSuperseded:
	default:
		if !rec.Pending() {
			return nil
		}
	}
	if parsed && !agent.Before(helm4List, 0) {
		return rec
	}
	return nil
}

// agentSeen reports whether an agent is installed in a namespace: its workload exists, or it has reported to its Cluster. The Secret of an agent alone
// may be left over.
func (r *resolver) agentSeen(namespace string) bool {
	c := r.byNamespace[r.out.watches[namespace]]
	_, workload := r.State.Workloads[namespace]
	return workload || c != nil && c.Status.Agent.Namespace == namespace
}

// removal returns the removal of the release of a record; nil if it is not removed, or if that is not known. d is its bundle deployment, nil if the
// BundleDeployment does not exist.
func (r *resolver) removal(rec *state.Record, d *BundleDeployment) *Removal {
	x := &Removal{Record: rec.Identity(), Watched: r.out.watches[rec.AgentNamespace]}
	switch {
	case d == nil:
		return x
	case reflect.DeepEqual(d.BD.Spec.Options, v1alpha1.Options{}):
		return nil // Fleet rarely writes empty options, so a capture may have left them out
	}
	x.Expects, x.Expected = d.BD, ExpectedRelease(d.BD, true)
	if unconverted := ExpectedRelease(d.BD, false); unconverted != x.Expected {
		agent, known := fleet.ParseVersion(r.State.Workloads[rec.AgentNamespace].Version)
		switch {
		case !known && (rec.Release() == x.Expected || rec.Release() == unconverted):
			return nil
		case known && agent.CollectsByBundleName():
			x.Converted = rec.Release() == x.Expected
			x.Expected = unconverted
		}
	}
	if rec.Release() == x.Expected || !x.Converted && appliedAs(d, rec) {
		return nil
	}
	return x
}

// appliedAs reports whether the agent states that it deployed the present options as this release. If the options then seem to name another release, a
// capture has left them out.
func appliedAs(d *BundleDeployment, rec *state.Record) bool {
	named, err := release.ParseName(d.BD.Status.Release)
	return err == nil && named.Release() == rec.Release() && d.BD.Spec.DeploymentID == d.BD.Status.AppliedDeploymentID
}

// ExpectedRelease returns the release ("namespace/name") that the garbage collection of an agent expects of a BundleDeployment. Agents before 0.15.6,
// and of 0.16.0, do not convert its name to a valid name for Helm (docs/fleet-behavior.md, 1.6).
func ExpectedRelease(bd *v1alpha1.BundleDeployment, converted bool) string {
	o := &bd.Spec.Options
	name := bd.Name
	switch {
	case o.Helm != nil && o.Helm.ReleaseName != "":
		name = o.Helm.ReleaseName
	case converted:
		name = fleet.HelmReleaseName(name)
	}
	return o.ReleaseNamespace() + "/" + name
}
