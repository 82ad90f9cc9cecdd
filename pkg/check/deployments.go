// SPDX-License-Identifier: Apache-2.0

package check

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/codes"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/facts"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/remedy"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/escape"
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
	c := in.Facts.Cluster(d.BD.Labels[fleet.ClusterNamespaceLabel] + "/" + d.BD.Labels[fleet.ClusterLabel])
	lost := c != nil && c.Status.Namespace == ""
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
	deployments := map[string]int{}
	for _, bd := range in.Result.Desired.BundleDeployments {
		deployments[bd.Namespace]++
	}
	for _, name := range slices.Sorted(maps.Keys(found)) {
		ns := found[name]
		cluster := ns.Workspace + "/" + ns.Cluster
		if in.Facts.YoungSince(ns.Created) || in.Facts.OfCluster(name) || in.Facts.Cluster(cluster) != nil {
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

func (in *Input) absent(out *found) {
	for _, b := range in.Facts.Candidates() {
		if in.rolloutPending(b) {
			continue
		}
		for r := range in.Facts.Targets(b).Results() {
			if r.Outcome == targeting.Expected && in.Facts.DeploymentInScope(b, r.Cluster.Key()) &&
				in.lacks(b, r.Cluster.Cluster) {
				out.report(in.absentDeployment(b, r))
			}
		}
	}
}

// rolloutPending reports whether the controller may still have to create BundleDeployments of a bundle.
func (in *Input) rolloutPending(b *v1alpha1.Bundle) bool {
	return in.Facts.Young(b) || pending(b) != ""
}

// Pending returns why the controller may still have to create the BundleDeployment of a bundle for a cluster, as a
// sentence; empty if nothing shows that.
func Pending(b *v1alpha1.Bundle, c *v1alpha1.Cluster) string {
	switch why := pending(b); {
	case why != "":
		return why
	case facts.Deleting(c):
		return "the cluster is being deleted"
	case offSchedule(c):
		return "the cluster is off schedule"
	}
	return ""
}

func pending(b *v1alpha1.Bundle) string {
	switch s := b.Status.Summary; {
	case facts.Failed(b):
		return "an error of the bundle stops it"
	case !facts.Observed(b):
		return "Fleet has not processed the spec of the bundle yet"
	case unresolvedChart(b):
		return "its chart version is not an exact version yet"
	// Fleet can leave an old number of pending targets in the status. It then counts more targets than there are
	// (docs/fleet-behavior.md, 5.5).
	case s.Pending > 0 && s.Sum() <= s.DesiredReady:
		return "its rollout has not reached " + facts.Count(s.Pending, "target")
	}
	return ""
}

// exactVersion is a chart version that the controller deploys. It refuses constraints.
var exactVersion = regexp.MustCompile(`^v?(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)([-+][0-9A-Za-z.+-]*)?$`)

// unresolvedChart reports whether the chart version of the Bundle of a HelmOp is not an exact version: Fleet does not
// deploy it then.
func unresolvedChart(b *v1alpha1.Bundle) bool {
	if len(b.Spec.HelmOpOptions) == 0 || b.Spec.Helm == nil {
		return false
	}
	version := b.Spec.Helm.Version
	return version != "" && !exactVersion.MatchString(version)
}

func offSchedule(c *v1alpha1.Cluster) bool { return c.Status.Scheduled && !c.Status.ActiveSchedule }

// lacks reports whether it is certain that a bundle has no BundleDeployment for a cluster that should have one.
func (in *Input) lacks(b *v1alpha1.Bundle, c *v1alpha1.Cluster) bool {
	namespace := c.Status.Namespace
	if facts.Deleting(c) || in.Facts.NewerThan(c, joining) || offSchedule(c) {
		return false
	}
	known := in.Facts.ClusterIn(namespace) != nil && in.Facts.Read(state.BundleDeployment, namespace)
	return known && in.Facts.BundleDeployment(namespace+"/"+b.Name) == nil
}

func (in *Input) absentDeployment(b *v1alpha1.Bundle, r targeting.Result) Finding {
	f := Finding{
		Code: codes.Absent, Object: facts.RefTo(b), Cluster: r.Cluster.Key(), AsOf: b.Reported().AsOf,
		Message: fmt.Sprintf("bundle %s targets cluster %s, and has no BundleDeployment in %s", facts.Key(b),
			r.Cluster.Key(), r.Cluster.Status.Namespace),
		Settle: in.Facts.Unchanged(facts.RefTo(b), facts.RefTo(r.Cluster.Cluster),
			facts.Ref(state.BundleDeployment, r.Cluster.Status.Namespace, b.Name)),
	}
	f.Evidence = []string{r.Target.Title() + " matches the cluster"}
	n := b.Status.Summary.DesiredReady
	f.sayIf(n > 0, "the status of the bundle counts "+facts.Count(n, "target"))
	f.sayIf(b.Spec.Paused, "the bundle is paused, which does not prevent the creation of a BundleDeployment")
	f.Remedies = append(f.Remedies, in.Steps.Commands.ExplainTargets(b))
	return f
}

func (in *Input) noTargets(out *found, b *v1alpha1.Bundle) {
	if targeting.IsAgentBundle(b) || !facts.Observed(b) || !in.reachesNone(b) {
		return
	}
	f := Finding{
		Object: facts.RefTo(b), AsOf: b.Reported().AsOf,
		Follows: nowhereOrigins(b),
		Message: fmt.Sprintf("bundle %s reaches none of the clusters in its namespace (%d)", facts.Key(b),
			in.clustersIn(b.Namespace)),
	}
	for _, group := range in.Facts.Targets(b).AbsentGroups() {
		f.say("its targets name ClusterGroup %s, which does not exist", group)
	}
	out.report(f, in.Steps.Commands.ExplainTargets(b))
}

// reachesNone reports whether it is certain that a bundle targets no cluster. If not every cluster that it may target
// was read, the status of the bundle must confirm it.
func (in *Input) reachesNone(b *v1alpha1.Bundle) bool {
	t := in.Facts.Targets(b)
	if t.Invalid != nil || !in.Facts.Read(state.ClusterKind, b.Namespace) {
		return false
	}
	confirmed := t.Complete() || b.Status.Summary.DesiredReady == 0
	for r := range t.Results() {
		if r.Outcome != targeting.Excluded {
			return false
		}
	}
	return confirmed
}

// clustersIn returns the number of Clusters in a namespace.
func (in *Input) clustersIn(namespace string) int {
	return count(in.Result.Desired.Fleet.Clusters, func(c *v1alpha1.Cluster) bool { return c.Namespace == namespace })
}

func (in *Input) leftover(out *found, d *evaluate.BundleDeployment) {
	if left, certain := in.Facts.LeftOver(d); !left || !certain {
		return
	}
	b, c := in.Facts.Bundle(d.Bundle), in.Facts.ClusterIn(d.Namespace)
	r, _ := in.Facts.Targets(b).On(c.Namespace, c.Name)
	f := onDeployment(d, "bundle %s is deployed to cluster %s, but %s", facts.Key(b), r.Cluster.Key(), because(r))
	f.Evidence = []string{uninstalls(d)}
	f.sayIf(d.BD.Spec.OffSchedule, "the cluster is off schedule: Fleet does not delete it now")
	f.sayIf(facts.Failed(b), "Fleet reports an error of the bundle, and deletes nothing before it is resolved")
	f.Settle = in.Facts.Unchanged(facts.RefTo(b), facts.RefTo(r.Cluster.Cluster), d.Ref())
	out.report(f, in.Steps.Commands.ExplainTargets(b), remedy.Make(remedy.Step{Kind: remedy.StepRemove, Object: d.Ref(),
		Effect: uninstalls(d) + ", which an undo does not bring back"},
		"deletes the BundleDeployment; "+uninstalls(d)))
}

// because returns why the targets exclude a cluster.
func because(r targeting.Result) string {
	switch r.Reason {
	case targeting.DoNotDeploy:
		kind := "target"
		if r.Decides.Customization {
			kind = "customization"
		}
		return fmt.Sprintf("%s %s, which decides, says doNotDeploy", kind, escape.Shell(r.Decides.String()))
	case targeting.Restricted:
		return "no target of its GitRepo allows the cluster"
	case targeting.CustomizationOnly:
		return "only a customization matches the cluster, and customizations select no cluster"
	case targeting.OtherNamespace:
		return "no BundleNamespaceMapping gives it access to the namespace of the cluster"
	case targeting.OtherAgent:
		return "it is the bundle of the agent of another cluster"
	}
	return "it matches no target any more"
}

// NoRepo returns the finding that the GitRepo or HelmOp of a Bundle does not exist, if that is so.
func (in *Input) NoRepo(b *v1alpha1.Bundle) (f Finding, ok bool) {
	repo, ok := facts.RepoOf(b)
	if !ok || in.Facts.Object(repo) != nil || in.Facts.Young(b) {
		return f, false
	}
	ref := facts.RefTo(b)
	return Finding{
		Object: ref,
		Message: fmt.Sprintf("bundle %s is of %s %s/%s, which does not exist", facts.Key(b), repo.Kind,
			repo.Namespace, repo.Name),
		Settle:   in.Facts.Unchanged(ref, repo),
		Remedies: only(in.Steps.Commands.DeleteBundle(ref)),
	}, in.Facts.Read(repo.Kind, b.Namespace)
}

// joining is the time in which the controller may not yet have created the BundleDeployments of a new Cluster: it
// processes each Bundle again.
const joining = time.Minute

// uninstalls describes what the removal of a bundle deployment removes from its cluster.
func uninstalls(d *evaluate.BundleDeployment) string {
	keep := d.KeepResources || d.BD != nil && d.BD.Spec.Options.KeepResources
	switch {
	case d.BD != nil && d.BD.Status.Release == "":
		return "nothing is installed: removing it uninstalls nothing"
	case keep:
		return "it is deployed with keepResources: removing it keeps its objects on the cluster"
	case d.Problem != "" || len(d.Desired) == 0:
		return "removing it uninstalls release " + d.BD.Status.Release + "; its objects are not known here"
	}
	return "removing it uninstalls release " + d.BD.Status.Release + " with " + facts.Count(len(d.Desired), "object")
}
