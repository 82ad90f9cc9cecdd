// SPDX-License-Identifier: Apache-2.0

package state

import (
	"iter"
	"maps"
	"slices"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
)

// A user with all rights in one namespace can make a Deployment fleet-controller, a Secret fleet-agent or a Cluster
// there. What is in the namespaces of Fleet counts before them.

// AddController adds the Deployment of one of Fleet's controllers, given as JSON. That of fleet-controller shows where
// Fleet is installed: in one of its usual namespaces, otherwise in the only one with such a Deployment.
func (f *Fleet) AddController(raw []byte) error {
	namespace, name, w, err := readWorkload(kindDeployment, raw)
	if err != nil {
		return err
	}
	if f.controllers[name] == nil {
		put(&f.controllers, name, map[string]Workload{})
	}
	f.controllers[name][namespace] = w
	if name == fleet.ControllerName {
		at := installed(f.controllers[name])
		w := f.controllers[name][at]
		f.ControllerVersion, f.Agents.ControllerNamespace = w.Version, at
		f.ImageScan, f.Scheduling = w.ImageScan, w.Scheduling
	}
	return nil
}

// installed returns the namespace in which Fleet is installed; empty if several are possible.
func installed(controllers map[string]Workload) string {
	for _, namespace := range slices.Sorted(maps.Keys(controllers)) {
		if fleet.IsSystemNamespace(namespace) || len(controllers) == 1 {
			return namespace
		}
	}
	return ""
}

// ControllersRead records that all Deployments with the name of a controller were read.
func (f *Fleet) ControllersRead(name string) { put(&f.controllersRead, name, true) }

// Controller returns the Deployment of one of Fleet's controllers; nil if it does not exist. known is false if it was
// not read, or if it is not known where Fleet is installed.
func (f *Fleet) Controller(name string) (w *Workload, known bool) {
	at := f.Agents.ControllerNamespace
	if found, ok := f.controllers[name][at]; ok {
		return &found, true
	}
	return nil, f.controllersRead[name] && (at != "" || len(f.controllers[name]) == 0)
}

// KeepOwnDeployments removes the BundleDeployments whose namespace has no name that Fleet gives, if others are in such
// namespaces. No agent deploys them, but their labels and statuses can name the Clusters, Bundles and releases of
// others.
func (f *Fleet) KeepOwnDeployments() {
	own := func(bd *v1alpha1.BundleDeployment) bool { return fleet.IsClusterNamespace(bd.Namespace) }
	if slices.ContainsFunc(f.BundleDeployments, own) {
		f.BundleDeployments = slices.DeleteFunc(f.BundleDeployments, func(bd *v1alpha1.BundleDeployment) bool {
			return !own(bd)
		})
	}
}

// KeepOwnClusters removes the namespace of BundleDeployments from the status of each Cluster for which Fleet did not
// make it, if another Cluster has the same one.
func (f *Fleet) KeepOwnClusters() {
	own := map[string]*v1alpha1.Cluster{}
	for _, c := range f.Clusters {
		if c.Status.Namespace != "" && c.Status.Namespace == fleet.ClusterNamespace(c.Namespace, c.Name) {
			own[c.Status.Namespace] = c
		}
	}
	for _, c := range f.Clusters {
		if o := own[c.Status.Namespace]; o != nil && o != c {
			c.Status.Namespace = ""
		}
	}
}

// KeepOwnAgents removes the agents that only pretend: one of Fleet's is known, and theirs deploys the same
// BundleDeployments, those of a known Cluster, none, or what is in a namespace that Fleet does not make for a Cluster.
func (c *Cluster) KeepOwnAgents(f *Fleet) {
	isOwn := c.ownAgents(f)
	deploys := map[string]bool{} // the namespaces of BundleDeployments that own agents, or no agents here, deploy
	for agent := range c.knownAgents(f) {
		if isOwn(agent) {
			deploys[c.AgentSecrets[agent]] = true
		}
	}
	if len(deploys) == 0 && len(f.Clusters) == 0 {
		return // nothing here shows which agents are Fleet's
	}
	for _, namespace := range f.ClusterNamespaces() {
		deploys[namespace] = true
	}
	pretends := func(agent string) bool {
		if isOwn(agent) || c.HiddenAgentSecrets[agent] {
			return false
		}
		namespace := c.AgentSecrets[agent]
		return deploys[namespace] || !fleet.IsClusterNamespace(namespace)
	}
	maps.DeleteFunc(c.Workloads, func(agent string, _ Workload) bool { return pretends(agent) })
	maps.DeleteFunc(c.AgentSecrets, func(agent, _ string) bool { return pretends(agent) })
}

// knownAgents returns the namespaces of the agents that exist as far as it is known: those with a workload. On a
// management cluster a Secret is enough: its agent may not run, or its workload may not have been read, and the
// Clusters of users must not be believed then.
func (c *Cluster) knownAgents(f *Fleet) map[string]bool {
	out := map[string]bool{}
	for agent := range c.Workloads {
		out[agent] = true
	}
	if len(f.Clusters) == 0 {
		return out
	}
	for _, agents := range []iter.Seq[string]{maps.Keys(c.AgentSecrets), maps.Keys(c.HiddenAgentSecrets)} {
		for agent := range agents {
			out[agent] = true
		}
	}
	return out
}

// ownAgents returns which agents are Fleet's, by their namespaces: those in its usual namespaces, and those that report
// to a Cluster. If one in a usual namespace has a workload, the other ones were moved from there: it must have the
// BundleDeployments of that Cluster. A user who registers a cluster can let its Cluster report any namespace, so
// without an agent in a usual namespace, only a Cluster in one of Fleet's own workspaces counts.
func (c *Cluster) ownAgents(f *Fleet) func(namespace string) bool {
	usual, moved := false, map[string]bool{}
	for agent := range c.knownAgents(f) {
		usual = usual || fleet.IsSystemNamespace(agent)
	}
	for agent, deployments := range c.AgentSecrets {
		moved[deployments] = moved[deployments] || fleet.IsSystemNamespace(agent)
	}
	reported := map[string]bool{}
	for _, o := range f.Clusters {
		vouches := !usual && fleet.IsDefaultWorkspace(o.Namespace)
		if vouches || moved[o.Status.Namespace] {
			reported[o.Status.Agent.Namespace] = true
		}
	}
	return func(namespace string) bool { return fleet.IsSystemNamespace(namespace) || reported[namespace] }
}
