// SPDX-License-Identifier: Apache-2.0

package directory

import (
	"maps"
	"slices"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/ownership"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/release"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

// releasesAlone returns a bundle deployment for each release of an agent if the BundleDeployments of that agent are not
// known, because they could not be read or are on another management cluster. If they are known, a release that none
// of them names is a leftover.
func (b *builder) releasesAlone(deployments []*Deployment) []*Deployment {
	accounted := map[string]bool{}
	for _, d := range deployments {
		if d.BD != nil && d.IsOn(b.out.ID) {
			accounted[d.Release.Release()] = true
		}
	}
	var out []*Deployment
	for _, name := range slices.Sorted(maps.Keys(b.histories)) {
		history := b.histories[name]
		last := Latest(history)
		switch {
		case accounted[name]:
		case last == nil:
			b.out.Unreadable = append(b.out.Unreadable, history[len(history)-1].Identity())
		case b.pending(last):
		case b.mayDeploy(last.AgentNamespace):
			out = append(out, b.releaseAlone(history, last))
		default:
			b.out.Leftovers = append(b.out.Leftovers, last.Identity())
			b.leftoverSets = append(b.leftoverSets, b.leftoverSet(last))
		}
	}
	return out
}

// pending reports whether a BundleDeployment in the namespace that the agent watches may still name the release in its
// status later.
func (b *builder) pending(rec *state.Record) bool {
	watched, known := b.out.watches[rec.AgentNamespace]
	return known && slices.ContainsFunc(b.fleet.BundleDeployments, func(bd *v1alpha1.BundleDeployment) bool {
		return bd.Namespace == watched && bd.Name == rec.BundleID && bd.Status.Release == ""
	})
}

// mayDeploy reports whether an agent in a namespace may deploy BundleDeployments that are not known.
func (b *builder) mayDeploy(agent string) bool {
	if b.noAgent(agent) {
		return false
	}
	watched, known := b.out.watches[agent]
	return !known || !b.fleet.Read(state.BundleDeployment, watched)
}

// noAgent reports whether it is known that no agent runs in a namespace: all agents' Secrets were read, there is at
// least one, and the namespace has neither Secret nor workload of an agent. No agent deploys a release if its record
// names such a namespace.
func (b *builder) noAgent(namespace string) bool {
	secrets := len(b.state.AgentSecrets) + len(b.state.HiddenAgentSecrets)
	return b.state.Coverage.AgentSecrets.Whole() && secrets > 0 && !b.state.AgentNamespaces()[namespace]
}

func (b *builder) releaseAlone(history []*state.Record, last *state.Record) *Deployment {
	d := &Deployment{Name: last.BundleID, Release: last.Name, Agent: last.AgentNamespace, Cluster: b.state.Name}
	b.out.place(d)
	if found := b.out.FleetClusters(); len(found) > 0 && d.Cluster != "" {
		d.Cluster = found[0]
	}
	if last.Status == release.StatusDeployed {
		b.released(d, last.AgentNamespace)
		return d
	}
	d.addRecordProblems(history, b.state.Latest)
	b.ownership(d, last, last.AgentNamespace)
	d.Problem, d.Detail = NoReleaseRecord, "no revision of release "+last.Release()+" is deployed"
	return d
}

// leftoverSet returns the set of a leftover release.
func (b *builder) leftoverSet(rec *state.Record) *Deployment {
	id := fleet.SetID(rec.BundleID, b.out.Scopes[rec.AgentNamespace].Scope)
	if released := releaseOwnership(rec); released.SetID != "" {
		id = released.SetID
	}
	d := &Deployment{Name: rec.BundleID, Release: rec.Name, Problem: NoReleaseRecord,
		Detail: "its BundleDeployment is gone", Ownership: ownership.Desired(id, rec.Name.Name, rec.Namespace)}
	b.out.place(d)
	return d
}
