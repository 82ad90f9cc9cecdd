// SPDX-License-Identifier: Apache-2.0

package check

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/facts"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/remedy"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/targeting"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/settle"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

var orphan = Check{
	Code: "FD303", Name: "Orphan", Severity: Error,
	Title: "a BundleDeployment has no Bundle or no Cluster, or the namespace of a cluster or the bundle of an agent " +
		"has no Cluster",
	run: func(in *Input, report func(Finding)) {
		for _, d := range in.Deployments {
			if d.BD == nil || facts.Deleting(d.BD) || in.Young(d.BD) {
				continue
			}
			if without := in.without(d); without != "" {
				f := onDeployment(d, "bundle deployment %s has no %s", d.Key(), without)
				f.Evidence = []string{uninstalls(d)}
				workspace, name, _ := strings.Cut(d.Bundle, "/")
				f.Settle = in.Unchanged(d.Ref(), facts.Ref(state.Bundle, workspace, name),
					facts.Ref(state.ClusterKind, d.BD.Labels[fleet.ClusterNamespaceLabel],
						d.BD.Labels[fleet.ClusterLabel]))
				f.Remedies = []remedy.Remedy{in.Commands.Describe(d.Ref())}
				report(f)
			}
		}
		in.orphanedAgents(report)
		in.orphanedNamespaces(report)
	},
}

// without returns what a bundle deployment lacks: its Bundle or its Cluster; empty if it lacks nothing, or if that is
// not known.
func (in *Input) without(d *evaluate.BundleDeployment) string {
	workspace, name, _ := strings.Cut(d.Bundle, "/")
	if workspace == "" || name == "" {
		return ""
	}
	b := in.Bundle(d.Bundle)
	switch {
	case b == nil && in.Read(state.Bundle, workspace):
		return "Bundle: " + d.Bundle + " does not exist"
	case b != nil && !facts.Deleting(b) && b.Name != d.Name:
		return "Bundle: its labels name " + d.Bundle + ", but the BundleDeployments of that Bundle have another name"
	}
	if found := in.OfCluster(d.Namespace); found || !in.ClustersRead() {
		return ""
	}
	for _, c := range in.Desired.Fleet.Clusters {
		// The status of a Cluster can be lost, for example when it was restored from a backup.
		if c.Namespace == d.BD.Labels[fleet.ClusterNamespaceLabel] && c.Name == d.BD.Labels[fleet.ClusterLabel] &&
			c.Status.Namespace == "" {
			return ""
		}
	}
	return "Cluster: no Cluster has the namespace " + d.Namespace
}

// orphanedAgents reports the bundles of the agents of clusters that do not exist.
func (in *Input) orphanedAgents(report func(Finding)) {
	agents := map[string]bool{} // the agent bundles of the clusters
	for _, c := range in.Desired.Fleet.Clusters {
		agents[c.Namespace+"/"+targeting.AgentBundleOf(c.Name)] = true
	}
	for _, b := range in.BundlesInScope() {
		if !targeting.IsAgentBundle(b) || agents[facts.Key(b)] {
			continue
		}
		if in.Young(b) || !in.Read(state.ClusterKind, b.Namespace) {
			continue
		}
		ref := facts.Ref(state.Bundle, b.Namespace, b.Name)
		report(Finding{
			Object:  ref,
			Message: fmt.Sprintf("bundle %s deploys the agent of a cluster that does not exist", facts.Key(b)),
			Remedies: []remedy.Remedy{in.Commands.List("clusters", b.Namespace,
				"lists the Clusters that exist in the namespace of the bundle")},
			Settle: in.Unchanged(ref),
		})
	}
}

// orphanedNamespaces reports the namespaces of clusters that do not exist.
func (in *Input) orphanedNamespaces(report func(Finding)) {
	found := in.Desired.ClusterNamespacesFound
	if len(found) == 0 || !in.Whole || !in.ClustersRead() {
		return
	}
	clusters, deployments := map[string]bool{}, map[string]int{}
	for _, c := range in.Desired.Fleet.Clusters {
		clusters[facts.Key(c)] = true
	}
	for _, bd := range in.Desired.BundleDeployments {
		deployments[bd.Namespace]++
	}
	for _, name := range slices.Sorted(maps.Keys(found)) {
		ns := found[name]
		cluster := ns.Workspace + "/" + ns.Cluster
		young := !ns.Created.IsZero() && in.Now().Sub(ns.Created) < facts.Settling
		if young || in.OfCluster(name) || clusters[cluster] {
			continue
		}
		ref := object.Ref{APIVersion: "v1", Kind: state.Namespace, Name: name}
		f := Finding{Object: ref, Message: fmt.Sprintf("namespace %s is of cluster %s, which does not exist", name,
			cluster),
			Remedies: []remedy.Remedy{in.Commands.Show(ref,
				"shows its labels and annotations, which name the Cluster")},
			Settle: append(in.Unchanged(facts.Ref(state.ClusterKind, ns.Workspace, ns.Cluster)), settle.Exists(ref))}
		if n := deployments[name]; n > 0 {
			f.Evidence = []string{"it has " + facts.Count(n, "BundleDeployment") +
				": if an agent still reads them, it keeps deploying them"}
		}
		report(f)
	}
}
