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

// findWatches finds out which BundleDeployments are deployed to this cluster. An agent's Secret names their namespace; a namespace that is not
// known is one of another management cluster. If the Secret does not show it (it could not be read, or a capture omits the value), the release
// records may prove it; see byHeartbeat and byReleases.
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
		return // one cluster cannot be two Clusters of the same management cluster
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

// mayReport reports whether an agent may be the agent of a Cluster. If the Cluster reports another namespace, the agent was moved, or its Secret is
// not Fleet's.
func (r *resolver) mayReport(agent, deployments string) bool {
	c := r.byNamespace[deployments]
	return c == nil || c.Status.Agent.Namespace == "" || c.Status.Agent.Namespace == agent
}

// byHeartbeat identifies this cluster by the record of a BundleDeployment's release, if the agent that made the record runs in the namespace that
// the BundleDeployment's Cluster reports. If two clusters match, it proves nothing.
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
			" and bundles with releases of these names: without the Secret "+agent+"/fleet-agent, it is not known which of them is this cluster")
	}
}

// byReleases identifies this cluster by its releases alone, for an agent that never reported its namespace to a Cluster. Every installed
// BundleDeployment of that cluster must have its release here, by bundle id, release name and namespace, and no BundleDeployment of another one.
func (r *resolver) byReleases(agent string, records []*state.Record) {
	here := releasesOf(slices.DeleteFunc(slices.Clone(records), func(rec *state.Record) bool { return rec != latest(r.histories[rec.Release()]) }))
	matched, missed := map[string]int{}, map[string]bool{}
	for _, bd := range r.BundleDeployments {
		named, err := release.ParseName(bd.Status.Release)
		if err != nil {
			continue // nothing is installed, so it proves nothing
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
	watched := slices.Collect(maps.Keys(matched))[0]
	c := r.byNamespace[watched]
	if missed[watched] {
		return
	}
	clustersRead, deploymentsRead := r.Needed(state.ClusterKind).Whole(), r.Read(state.BundleDeployment, "")
	var cluster, reports string
	switch {
	case c == nil && (clustersRead || !deploymentsRead):
		return // it is another cluster, or its BundleDeployments were not read
	case c == nil:
		cluster, reports = "the cluster of namespace "+watched, "no Cluster was read that shows its agent"
	case c.Status.Agent.Namespace != "":
		return
	default:
		cluster, reports = "cluster "+c.Namespace+"/"+c.Name, "the agent in namespace "+agent+" has never reported to it"
	}
	r.out.watches[agent] = watched
	r.out.Notes = append(r.out.Notes, fmt.Sprintf("%s was identified by its releases: %s; "+
		"the bundle ids, release names and namespaces of its installed bundle deployments (%d) match the release records here, and no other cluster matches",
		cluster, reports, matched[watched]))
}

// madeRelease is a release and its bundle.
type madeRelease struct{ bundleID, release string }

func releasesOf(records []*state.Record) map[madeRelease]bool {
	out := map[madeRelease]bool{}
	for _, r := range records {
		out[madeRelease{r.BundleID, r.Release()}] = true
	}
	return out
}

// agentOf returns the namespace of the agent on this cluster that deploys a BundleDeployment. An agent that was moved may leave its Secret
// behind, so agentOf prefers the agent that reports to the Cluster, then the one that made the release.
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
	agent = r.out.AgentOf(namespace)
	return agent, agent != ""
}

// releaseOwnership returns the ownership metadata of the first object in the manifest that has any.
func releaseOwnership(r *state.Record) ownership.Metadata {
	if r == nil {
		return ownership.Metadata{}
	}
	for _, o := range r.Objects {
		m, err := object.ReadMeta(o.Raw)
		if err != nil {
			continue
		}
		if metadata := ownership.MetadataOf(m.Metadata.Labels, m.Metadata.Annotations); metadata.Hash != "" {
			return metadata
		}
	}
	return ownership.Metadata{}
}

// releasesAlone returns a bundle deployment for each release of an agent if the BundleDeployments of that agent are not known, because they could
// not be read or are on another management cluster. If they are known, a release that none of them names is a leftover.
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

// noAgent reports whether it is known that no agent runs in a namespace: all agents' Secrets were read, there is at least one, and the namespace has
// neither Secret nor workload of an agent. No agent deploys a release if its record names such a namespace.
func (r *resolver) noAgent(namespace string) bool {
	return r.State.Coverage.AgentSecrets.Whole() && len(r.State.AgentSecrets)+len(r.State.HiddenAgentSecrets) > 0 && !r.State.AgentNamespaces()[namespace]
}

// leftoverSet adds the set of a leftover release, so that its objects are not reported as objects of an unknown set.
func (r *resolver) leftoverSet(rec *state.Record) {
	d := &BundleDeployment{Name: rec.BundleID, Release: rec.Name, On: r.out, Problem: NoReleaseRecord, Detail: "its BundleDeployment is gone"}
	id := fleet.SetID(rec.BundleID, r.out.Scopes[rec.AgentNamespace].Scope)
	if released := releaseOwnership(rec); released.SetID != "" {
		id = released.SetID
	}
	d.Ownership = ownership.Desired(id, rec.Name.Name, rec.Namespace)
	r.out.claim(d)
}

// pending reports whether a BundleDeployment in the namespace that the agent watches may still name the release in its status later.
func (r *resolver) pending(watched string, rec *state.Record) bool {
	return slices.ContainsFunc(r.BundleDeployments, func(bd *v1alpha1.BundleDeployment) bool {
		return bd.Namespace == watched && bd.Name == rec.BundleID && bd.Status.Release == ""
	})
}

// latest returns the highest deployed revision, otherwise the highest one that could be decoded; nil if no revision could be decoded.
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
	d := &BundleDeployment{Name: last.BundleID, Release: last.Name, On: r.out, Cluster: r.State.Name}
	if found := r.out.FleetClusters(); len(found) > 0 && d.Cluster != "" {
		d.Cluster = found[0]
	}
	if last.Status == release.StatusDeployed {
		r.desired(d, last.AgentNamespace)
		return d
	}
	d.addRecordProblems(history)
	r.ownership(d, last, last.AgentNamespace)
	d.Problem, d.Detail = NoReleaseRecord, "no revision of release "+last.Release()+" is deployed"
	return d
}
