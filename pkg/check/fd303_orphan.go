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
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/settle"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

func (in *Input) orphan(out *found, d *evaluate.BundleDeployment) {
	if d.BD == nil || facts.Deleting(d.BD) || in.Facts.Young(d.BD) {
		return
	}
	without := in.without(d)
	if without == "" {
		return
	}
	f := onDeployment(d, "bundle deployment %s has no %s", d.Key(), without)
	f.Evidence = []string{uninstalls(d)}
	workspace, name, _ := strings.Cut(d.Bundle, "/")
	f.Settle = in.Facts.Unchanged(d.Ref(), facts.Ref(state.Bundle, workspace, name),
		facts.Ref(state.ClusterKind, d.BD.Labels[fleet.ClusterNamespaceLabel], d.BD.Labels[fleet.ClusterLabel]))
	out.report(f, in.Steps.Commands.Describe(d.Ref()), remedy.Make(remedy.Step{Kind: remedy.StepRemove, Object: d.Ref(),
		Effect: uninstalls(d) + ", which an undo does not bring back"},
		"deletes the BundleDeployment; "+uninstalls(d)))
}

// without returns what a bundle deployment lacks: its Bundle or its Cluster; empty if it lacks nothing, or if that is
// not known.
func (in *Input) without(d *evaluate.BundleDeployment) string {
	workspace, name, _ := strings.Cut(d.Bundle, "/")
	if workspace == "" || name == "" {
		return ""
	}
	b := in.Facts.Bundle(d.Bundle)
	switch {
	case b == nil && in.Facts.Read(state.Bundle, workspace):
		return "Bundle: " + d.Bundle + " does not exist"
	case b != nil && !facts.Deleting(b) && b.Name != d.Name:
		return "Bundle: its labels name " + d.Bundle + ", but the BundleDeployments of that Bundle have another name"
	}
	// The status of a Cluster can be lost, for example when it was restored from a backup.
	lost := slices.ContainsFunc(in.Result.Desired.Fleet.Clusters, func(c *v1alpha1.Cluster) bool {
		named := c.Namespace == d.BD.Labels[fleet.ClusterNamespaceLabel] && c.Name == d.BD.Labels[fleet.ClusterLabel]
		return named && c.Status.Namespace == ""
	})
	if lost || in.Facts.OfCluster(d.Namespace) || !in.Facts.ClustersRead() {
		return ""
	}
	return "Cluster: no Cluster has the namespace " + d.Namespace
}

// orphanedAgent reports the bundle of the agent of a cluster that does not exist.
func (in *Input) orphanedAgent(out *found, b *v1alpha1.Bundle) {
	if !targeting.IsAgentBundle(b) || in.Facts.Young(b) || !in.Facts.Read(state.ClusterKind, b.Namespace) {
		return
	}
	for _, c := range in.Result.Desired.Fleet.Clusters {
		if c.Namespace == b.Namespace && targeting.AgentBundleOf(c.Name) == b.Name {
			return
		}
	}
	ref := facts.RefTo(b)
	out.report(Finding{
		Object:  ref,
		Message: fmt.Sprintf("bundle %s deploys the agent of a cluster that does not exist", facts.Key(b)),
		Settle:  in.Facts.Unchanged(ref),
	}, in.Steps.Commands.List("clusters", b.Namespace, "lists the Clusters that exist in the namespace of the bundle"))
}

// orphanedNamespaces reports the namespaces of clusters that do not exist.
func (in *Input) orphanedNamespaces(out *found) {
	found := in.Result.Desired.ClusterNamespacesFound
	if !in.Result.Whole || !in.Facts.ClustersRead() {
		return
	}
	clusters, deployments := map[string]bool{}, map[string]int{}
	for _, c := range in.Result.Desired.Fleet.Clusters {
		clusters[facts.Key(c)] = true
	}
	for _, bd := range in.Result.Desired.BundleDeployments {
		deployments[bd.Namespace]++
	}
	for _, name := range slices.Sorted(maps.Keys(found)) {
		ns := found[name]
		cluster := ns.Workspace + "/" + ns.Cluster
		young := !ns.Created.IsZero() && in.Result.Now().Sub(ns.Created) < facts.Settling
		if young || in.Facts.OfCluster(name) || clusters[cluster] {
			continue
		}
		ref := object.Ref{APIVersion: "v1", Kind: state.Namespace, Name: name}
		f := Finding{Object: ref,
			Message: fmt.Sprintf("namespace %s is of cluster %s, which does not exist", name, cluster),
			Settle: append(in.Facts.Unchanged(facts.Ref(state.ClusterKind, ns.Workspace, ns.Cluster)),
				settle.Exists(ref))}
		if n := deployments[name]; n > 0 {
			f.say("it has %s: if an agent still reads them, it keeps deploying them",
				facts.Count(n, "BundleDeployment"))
		}
		out.report(f, in.Steps.Commands.Show(ref, "shows its labels and annotations, which name the Cluster"))
	}
}
