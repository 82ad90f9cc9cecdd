// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"fmt"
	"maps"
	"slices"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/ownership"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/release"
)

// findHomes finds out which BundleDeployments are of the cluster at hand. An agent's Secret says it outright, also if it names a namespace
// that is not here: that of another manager. Where it does not (it could not be read, or a capture left its value out), the release records
// here may prove it; see byHeartbeat and byReleases.
func (a *assembler) findHomes() {
	a.homes = map[string]string{}
	namespaces := map[string]bool{}
	for _, bd := range a.deployments {
		namespaces[bd.Namespace] = true
	}
	for _, c := range a.clusters {
		namespaces[c.Status.Namespace] = true
	}
	for agent, ns := range a.agentSecrets {
		if namespaces[ns] && a.mayReport(agent, ns) {
			a.homes[agent] = ns
		}
	}
	if len(a.homes) > 0 {
		return // a cluster is not two Clusters of one manager
	}
	unknown := map[string][]*record{}
	for _, name := range slices.Sorted(maps.Keys(a.histories)) {
		for _, r := range a.histories[name] {
			if _, said := a.agentSecrets[r.AgentNamespace]; !said && r.AgentNamespace != "" {
				unknown[r.AgentNamespace] = append(unknown[r.AgentNamespace], r)
			}
		}
	}
	for agent, records := range unknown {
		a.byHeartbeat(agent, records)
		if _, known := a.homes[agent]; !known {
			a.byReleases(agent, records)
		}
	}
}

// mayReport says whether an agent may be the one of a Cluster: one that reports from another namespace has moved, or its Secret is not Fleet's.
func (a *assembler) mayReport(agent, deployments string) bool {
	c := a.clusterOf(deployments)
	return c == nil || c.Status.Agent.Namespace == "" || c.Status.Agent.Namespace == agent
}

// byHeartbeat recognises the cluster at hand by the record of a BundleDeployment's release, if the agent that made the record lives in the
// namespace that the BundleDeployment's Cluster reports. If that would prove it of two clusters, it proves nothing.
func (a *assembler) byHeartbeat(agent string, records []*record) {
	here, proven := releasesOf(records), map[string]bool{}
	for _, bd := range a.deployments {
		named, err := release.ParseName(bd.Status.Release)
		c := a.clusterOf(bd.Namespace)
		if err == nil && c != nil && c.Status.Agent.Namespace == agent && here[madeRelease{bd.Name, named.Release()}] {
			proven[bd.Namespace] = true
		}
	}
	if len(proven) == 1 {
		a.homes[agent] = slices.Collect(maps.Keys(proven))[0]
	} else if len(proven) > 1 {
		a.inv.Notes = append(a.inv.Notes, "more than one managed cluster has an agent in namespace "+agent+
			" and bundles with releases of these names: which of them is this cluster cannot be told without the Secret "+agent+"/fleet-agent")
	}
}

// byReleases recognises the cluster at hand by its releases alone, for an agent that never reported its namespace to a Cluster: every installed
// BundleDeployment of one cluster has its release here, by bundle id, release name and namespace, and no BundleDeployment of another one has.
func (a *assembler) byReleases(agent string, records []*record) {
	here := releasesOf(slices.DeleteFunc(slices.Clone(records), func(r *record) bool { return r != latest(a.histories[r.Release()]) }))
	matched, missed := map[string]int{}, map[string]bool{}
	for _, bd := range a.deployments {
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
	c := a.clusterOf(home)
	if c == nil || c.Status.Agent.Namespace != "" || missed[home] {
		return // without a Cluster, nothing says that its agent never reported
	}
	a.homes[agent] = home
	a.inv.Notes = append(a.inv.Notes, fmt.Sprintf("cluster %s/%s was recognised by its releases: the agent in namespace %s has never reported to it, "+
		"and the bundle ids, release names and namespaces of its installed bundle deployments (%d) are in the release records here, those of no other cluster are",
		c.Namespace, c.Name, agent, matched[home]))
}

// madeRelease is a release with the bundle that it was made for.
type madeRelease struct{ bundleID, release string }

func releasesOf(records []*record) map[madeRelease]bool {
	out := map[madeRelease]bool{}
	for _, r := range records {
		out[madeRelease{r.BundleID, r.Release()}] = true
	}
	return out
}

// agentOf returns the namespace of the agent on this cluster that deploys a BundleDeployment. An agent that was moved may leave its Secret
// behind, so the one that reports to the Cluster comes first, and then the one that made the release.
func (a *assembler) agentOf(bd *v1alpha1.BundleDeployment) (agent string, here bool) {
	namespace := bd.Namespace
	if c := a.clusterOf(namespace); c != nil && a.homes[c.Status.Agent.Namespace] == namespace {
		return c.Status.Agent.Namespace, true
	}
	if named, err := release.ParseName(bd.Status.Release); err == nil {
		if r := a.records[named]; r != nil && a.homes[r.AgentNamespace] == namespace {
			return r.AgentNamespace, true
		}
	}
	for _, agent := range slices.Sorted(maps.Keys(a.homes)) {
		if a.homes[agent] == namespace {
			return agent, true
		}
	}
	return "", false
}

// statedOwnership returns Fleet's marks as the first object of the manifest carries them.
func statedOwnership(r *record) ownership.Metadata {
	if r == nil {
		return ownership.Metadata{}
	}
	for _, o := range r.objects {
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

// releasesAlone adds a deployment for each release of an agent whose BundleDeployments are not known: this is its cluster, and another
// one manages it, or they could not be read. Where they are known, a release that none of them accounts for is a leftover.
func (a *assembler) releasesAlone() {
	accounted := map[string]bool{}
	for _, d := range a.inv.Deployments {
		if d.BD != nil && d.Problem != ClusterNotRead {
			accounted[d.Release.Release()] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(a.histories)) {
		history := a.histories[name]
		last := latest(history)
		if accounted[name] {
			continue
		}
		if last == nil {
			a.inv.Unreadable = append(a.inv.Unreadable, &history[len(history)-1].Record)
			a.inv.SetsComplete = false
			continue
		}
		home, known := a.homes[last.AgentNamespace]
		switch {
		case known && a.wanted(home, last):
		case a.noAgent(last.AgentNamespace):
			a.inv.Leftovers = append(a.inv.Leftovers, &last.Record)
			a.leftoverSet(last)
		case !known || !a.BundleDeployments(home):
			a.releaseAlone(history, last)
		default:
			a.inv.Leftovers = append(a.inv.Leftovers, &last.Record)
			a.leftoverSet(last)
		}
	}
}

// noAgent says whether it is known that no agent lives in a namespace: all agents' Secrets were read, others have one, and this one has neither
// Secret nor workload. Nothing deploys the release that a record names such an agent for.
func (a *assembler) noAgent(namespace string) bool {
	agents := a.agentNamespaces()
	return a.AgentSecrets && len(a.agentSecrets)+len(a.blankSecrets) > 0 && !agents[namespace]
}

// leftoverSet makes the objects of a leftover release known as that release's, so that they are not called nobody's.
func (a *assembler) leftoverSet(r *record) {
	d := &Deployment{Name: r.BundleID, Release: r.Name, Problem: NoReleaseRecord, Detail: "its BundleDeployment is gone"}
	id := fleet.SetID(r.BundleID, a.inv.agents[r.AgentNamespace].Scope)
	if stated := statedOwnership(r); stated.SetID != "" {
		id = stated.SetID
	}
	d.Ownership = ownership.Desired(id, r.Name.Name, r.Namespace)
	a.inv.addSet(d)
}

// wanted says whether a BundleDeployment in the agent's namespace may still be about to say that the release is its own.
func (a *assembler) wanted(home string, r *record) bool {
	return slices.ContainsFunc(a.deployments, func(bd *v1alpha1.BundleDeployment) bool {
		return bd.Namespace == home && bd.Name == r.BundleID && bd.Status.Release == ""
	})
}

// latest returns the highest deployed revision, else the highest that could be decoded, nil if none could.
func latest(history []*record) *record {
	var last *record
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

func (a *assembler) releaseAlone(history []*record, last *record) {
	d := &Deployment{Name: last.BundleID, Release: last.Name}
	a.inv.Deployments = append(a.inv.Deployments, d)
	if last.Status != release.StatusDeployed {
		a.trouble(d, history)
		a.marks(d, last, last.AgentNamespace)
		d.Problem, d.Detail = NoReleaseRecord, "no revision of release "+last.Release()+" is deployed"
		return
	}
	a.desired(d, last.AgentNamespace)
}
