// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"maps"
	"slices"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/ownership"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/release"
)

// findHomes finds out which BundleDeployments are of the cluster at hand. An agent's Secret says it outright, also if it names a namespace
// that is not here: that of another manager. Where it does not (it may not
// be read, or was left out of a snapshot), a release record here with a BundleDeployment's bundle id proves it, if the agent that made the
// record lives in the namespace that the BundleDeployment's Cluster reports. If that would prove it of two clusters, it proves nothing.
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
		if namespaces[ns] {
			a.homes[agent] = ns
		}
	}
	proven := map[string]map[string]bool{}
	made := map[[2]string]bool{}
	for _, r := range a.records {
		made[[2]string{r.AgentNamespace, r.BundleID}] = true
	}
	for _, bd := range a.deployments {
		c := a.clusterOf(bd.Namespace)
		if c == nil || c.Status.Agent.Namespace == "" {
			continue
		}
		agent := c.Status.Agent.Namespace
		if _, said := a.agentSecrets[agent]; !said && made[[2]string{agent, bd.Name}] {
			if proven[agent] == nil {
				proven[agent] = map[string]bool{}
			}
			proven[agent][bd.Namespace] = true
		}
	}
	for agent, in := range proven {
		if len(in) == 1 {
			a.homes[agent] = slices.Collect(maps.Keys(in))[0]
			continue
		}
		a.inv.Notes = append(a.inv.Notes, "more than one managed cluster has an agent in namespace "+agent+
			" and bundles with releases of these names: which of them is this cluster cannot be told without the Secret "+agent+"/fleet-agent")
	}
}

// agentOf returns the namespace of the agent on this cluster whose BundleDeployments are in that namespace. An agent that was moved may leave
// its Secret behind, so the one that reports to the Cluster comes first.
func (a *assembler) agentOf(namespace string) (agent string, here bool) {
	if c := a.clusterOf(namespace); c != nil && a.homes[c.Status.Agent.Namespace] == namespace {
		return c.Status.Agent.Namespace, true
	}
	for _, agent := range slices.Sorted(maps.Keys(a.homes)) {
		if a.homes[agent] == namespace {
			return agent, true
		}
	}
	return "", false
}

// scopeOf returns the scope of an agent and where it was read; from is empty where it could not be (Fleet's facts, ownership 1.5).
func (a *assembler) scopeOf(agent, namespace string) (scope, from string) {
	if w, ok := a.workloads[agent]; ok && w.isAgent {
		return w.scope, "the agent's environment in namespace " + agent
	}
	if c := a.clusterOf(namespace); namespace != "" && c != nil && c.Spec.KubeConfigSecret != "" {
		return c.Spec.AgentNamespace, "the agentNamespace of cluster " + c.Namespace + "/" + c.Name
	}
	return "", ""
}

// statedMarks returns Fleet's marks as the first object of the manifest carries them.
func statedMarks(r *record) ownership.Marks {
	if r == nil {
		return ownership.Marks{}
	}
	for _, o := range r.objects {
		m, err := object.ReadMeta(o.Raw)
		if err != nil {
			continue
		}
		if marks := ownership.MarksOf(m.Metadata.Labels, m.Metadata.Annotations); marks.Hash != "" {
			return marks
		}
	}
	return ownership.Marks{}
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
		case !known || !a.BundleDeployments(home):
			a.releaseAlone(history, last)
		default:
			a.inv.Leftovers = append(a.inv.Leftovers, &last.Record)
			a.leftoverSet(last, home)
		}
	}
}

// leftoverSet makes the objects of a leftover release known as that release's, so that they are not called nobody's.
func (a *assembler) leftoverSet(r *record, home string) {
	d := &Deployment{Name: r.BundleID, Release: r.Name, Problem: NoReleaseRecord, Detail: "its BundleDeployment is gone"}
	scope, _ := a.scopeOf(r.AgentNamespace, home)
	id := fleet.SetID(r.BundleID, scope)
	if stated := statedMarks(r); stated.SetID != "" {
		id = stated.SetID
	}
	d.Want = ownership.Wanted(id, r.Name.Name, r.Namespace)
	a.inv.Sets[d.Want.Hash] = append(a.inv.Sets[d.Want.Hash], d)
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
		d.Problem, d.Detail = NoReleaseRecord, "no revision of release "+last.Release()+" is deployed"
		return
	}
	a.desired(d, last.AgentNamespace)
}
