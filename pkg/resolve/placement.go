// SPDX-License-Identifier: Apache-2.0

package resolve

import (
	"fmt"
	"maps"
	"slices"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/ownership"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/release"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

// findWatches finds out which BundleDeployments are of the cluster at hand. An agent's Secret says it outright, also if it names a namespace
// that is not here: that of another manager. Where it does not (it could not be read, or a capture left its value out), the release records
// here may prove it; see byHeartbeat and byReleases.
func (r *resolver) findWatches() {
	r.out.watches = map[string]string{}
	namespaces := map[string]bool{}
	for _, bd := range r.BundleDeployments {
		namespaces[bd.Namespace] = true
	}
	for _, c := range r.Clusters {
		namespaces[c.Status.Namespace] = true
	}
	for agent, ns := range r.State.AgentSecrets {
		if namespaces[ns] && r.mayReport(agent, ns) {
			r.out.watches[agent] = ns
		}
	}
	if len(r.out.watches) > 0 {
		return // a cluster is not two Clusters of one manager
	}
	unknown := map[string][]*state.Record{}
	for _, name := range slices.Sorted(maps.Keys(r.histories)) {
		for _, rec := range r.histories[name] {
			if _, shown := r.State.AgentSecrets[rec.AgentNamespace]; !shown && rec.AgentNamespace != "" {
				unknown[rec.AgentNamespace] = append(unknown[rec.AgentNamespace], rec)
			}
		}
	}
	for agent, records := range unknown {
		r.byHeartbeat(agent, records)
		if _, known := r.out.watches[agent]; !known {
			r.byReleases(agent, records)
		}
	}
}

// mayReport says whether an agent may be the one of a Cluster: one that reports from another namespace has moved, or its Secret is not Fleet's.
func (r *resolver) mayReport(agent, deployments string) bool {
	c := r.byNamespace[deployments]
	return c == nil || c.Status.Agent.Namespace == "" || c.Status.Agent.Namespace == agent
}

// byHeartbeat recognises the cluster at hand by the record of a BundleDeployment's release, if the agent that made the record lives in the
// namespace that the BundleDeployment's Cluster reports. If that would prove it of two clusters, it proves nothing.
func (r *resolver) byHeartbeat(agent string, records []*state.Record) {
	here, proven := releasesOf(records), map[string]bool{}
	for _, bd := range r.BundleDeployments {
		named, err := release.ParseName(bd.Status.Release)
		c := r.byNamespace[bd.Namespace]
		if err == nil && c != nil && c.Status.Agent.Namespace == agent && here[madeRelease{bd.Name, named.Release()}] {
			proven[bd.Namespace] = true
		}
	}
	if len(proven) == 1 {
		r.out.watches[agent] = slices.Collect(maps.Keys(proven))[0]
	} else if len(proven) > 1 {
		r.out.Notes = append(r.out.Notes, "more than one managed cluster has an agent in namespace "+agent+
			" and bundles with releases of these names: which of them is this cluster cannot be told without the Secret "+agent+"/fleet-agent")
	}
}

// byReleases recognises the cluster at hand by its releases alone, for an agent that never reported its namespace to a Cluster: every installed
// BundleDeployment of one cluster has its release here, by bundle id, release name and namespace, and no BundleDeployment of another one has.
func (r *resolver) byReleases(agent string, records []*state.Record) {
	here := releasesOf(slices.DeleteFunc(slices.Clone(records), func(rec *state.Record) bool { return rec != latest(r.histories[rec.Release()]) }))
	matched, missed := map[string]int{}, map[string]bool{}
	for _, bd := range r.BundleDeployments {
		named, err := release.ParseName(bd.Status.Release)
		if err != nil {
			continue // nothing is installed: it proves neither
		}
		if here[madeRelease{bd.Name, named.Release()}] {
			matched[bd.Namespace]++
		} else {
			missed[bd.Namespace] = true
		}
	}
	if len(matched) != 1 {
		return
	}
	home := slices.Collect(maps.Keys(matched))[0]
	c := r.byNamespace[home]
	if c == nil || c.Status.Agent.Namespace != "" || missed[home] {
		return // without a Cluster, nothing says that its agent never reported
	}
	r.out.watches[agent] = home
	r.out.Notes = append(r.out.Notes, fmt.Sprintf("cluster %s/%s was recognised by its releases: the agent in namespace %s has never reported to it, "+
		"and the bundle ids, release names and namespaces of its installed bundle deployments (%d) are in the release records here, those of no other cluster are",
		c.Namespace, c.Name, agent, matched[home]))
}

// madeRelease is a release with the bundle that it was made for.
type madeRelease struct{ bundleID, release string }

func releasesOf(records []*state.Record) map[madeRelease]bool {
	out := map[madeRelease]bool{}
	for _, r := range records {
		out[madeRelease{r.BundleID, r.Release()}] = true
	}
	return out
}

// agentOf returns the namespace of the agent on this cluster that deploys a BundleDeployment. An agent that was moved may leave its Secret
// behind, so the one that reports to the Cluster comes first, and then the one that made the release.
func (r *resolver) agentOf(bd *v1alpha1.BundleDeployment) (agent string, here bool) {
	namespace := bd.Namespace
	if c := r.byNamespace[namespace]; c != nil && r.out.watches[c.Status.Agent.Namespace] == namespace {
		return c.Status.Agent.Namespace, true
	}
	if named, err := release.ParseName(bd.Status.Release); err == nil {
		if rec := r.State.Records[named]; rec != nil && r.out.watches[rec.AgentNamespace] == namespace {
			return rec.AgentNamespace, true
		}
	}
	for _, agent := range slices.Sorted(maps.Keys(r.out.watches)) {
		if r.out.watches[agent] == namespace {
			return agent, true
		}
	}
	return "", false
}

// statedOwnership returns Fleet's marks as the first object of the manifest carries them.
func statedOwnership(r *state.Record) ownership.Metadata {
	if r == nil {
		return ownership.Metadata{}
	}
	for _, o := range r.Objects {
		m, err := object.ReadMeta(o.Raw)
		if err != nil {
			continue
		}
		if marks := ownership.MetadataOf(m.Metadata.Labels, m.Metadata.Annotations); marks.Hash != "" {
			return marks
		}
	}
	return ownership.Metadata{}
}

// releasesAlone returns a bundle deployment for each release of an agent whose BundleDeployments are not known: another management cluster
// manages this one, or they could not be read. Where they are known, a release that none of them accounts for is a leftover.
func (r *resolver) releasesAlone(deployments []*BundleDeployment) []*BundleDeployment {
	accounted := map[string]bool{}
	for _, d := range deployments {
		if d.BD != nil && d.On == r.out {
			accounted[d.Release.Release()] = true
		}
	}
	var out []*BundleDeployment
	for _, name := range slices.Sorted(maps.Keys(r.histories)) {
		history := r.histories[name]
		last := latest(history)
		if accounted[name] {
			continue
		}
		if last == nil {
			r.out.Unreadable = append(r.out.Unreadable, history[len(history)-1].Identity())
			r.out.SetsComplete = false
			continue
		}
		watched, known := r.out.watches[last.AgentNamespace]
		switch {
		case known && r.pending(watched, last):
		case !r.noAgent(last.AgentNamespace) && (!known || !r.Read(state.BundleDeployment, watched)):
			out = append(out, r.releaseAlone(history, last))
		default:
			r.out.Leftovers = append(r.out.Leftovers, last.Identity())
			r.leftoverSet(last)
		}
	}
	return out
}

// noAgent says whether it is known that no agent lives in a namespace: all agents' Secrets were read, others have one, and this one has neither
// Secret nor workload. Nothing deploys the release that a record names such an agent for.
func (r *resolver) noAgent(namespace string) bool {
	return covered(r.State.Coverage.AgentSecrets) && len(r.State.AgentSecrets)+len(r.State.HiddenAgentSecrets) > 0 && !r.State.AgentNamespaces()[namespace]
}

// leftoverSet makes the set of a leftover release known, so that its objects are not called nobody's.
func (r *resolver) leftoverSet(rec *state.Record) {
	d := &BundleDeployment{Name: rec.BundleID, Release: rec.Name, On: r.out, Problem: NoReleaseRecord, Detail: "its BundleDeployment is gone"}
	id := fleet.SetID(rec.BundleID, r.out.scopes[rec.AgentNamespace].Scope)
	if stated := statedOwnership(rec); stated.SetID != "" {
		id = stated.SetID
	}
	d.Ownership = ownership.Desired(id, rec.Name.Name, rec.Namespace)
	r.out.index(d)
}

// pending says whether a BundleDeployment in the namespace that the agent watches may still name the release as its own.
func (r *resolver) pending(watched string, rec *state.Record) bool {
	return slices.ContainsFunc(r.BundleDeployments, func(bd *v1alpha1.BundleDeployment) bool {
		return bd.Namespace == watched && bd.Name == rec.BundleID && bd.Status.Release == ""
	})
}

// latest returns the highest deployed revision, else the highest that could be decoded, nil if none could.
func latest(history []*state.Record) *state.Record {
	var last *state.Record
	for _, r := range history {
		if r.Damaged != "" {
			continue
		}
		if last == nil || r.Status == release.StatusDeployed || last.Status != release.StatusDeployed {
			last = r
		}
	}
	return last
}

func (r *resolver) releaseAlone(history []*state.Record, last *state.Record) *BundleDeployment {
	d := &BundleDeployment{Name: last.BundleID, Release: last.Name, On: r.out}
	if last.Status == release.StatusDeployed {
		r.desired(d, last.AgentNamespace)
		return d
	}
	d.addRecordProblems(history)
	r.ownership(d, last, last.AgentNamespace)
	d.Problem, d.Detail = NoReleaseRecord, "no revision of release "+last.Release()+" is deployed"
	return d
}
