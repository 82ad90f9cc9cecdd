// SPDX-License-Identifier: Apache-2.0

package check

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/codes"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/facts"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/remedy"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/desired"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/directory"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/escape"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/targeting"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/settle"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

func (in *Input) willUninstall(out *found) {
	for _, x := range in.Result.Desired.Removals {
		// A record that is newer than the capture of the BundleDeployments proves nothing.
		c := in.Result.Desired.Cluster(x.ClusterID)
		newer := c.State.Captured && !in.Result.Now().IsZero() && x.Record.Deployed.After(in.Result.Now())
		if in.reported(x) && !newer {
			in.removal(out, c, x)
		}
	}
}

// reported reports whether a removal is in scope.
func (in *Input) reported(x *desired.Removal) bool {
	if in.Result.Whole || x.Expects == nil {
		return in.Result.Whole
	}
	return slices.ContainsFunc(in.Result.Desired.Directory.Deployments,
		func(d *directory.Deployment) bool { return d.BD == x.Expects && in.Result.InScope(d.ID()) })
}

func (in *Input) removal(out *found, c *directory.Cluster, x *desired.Removal) {
	agent := x.Record.AgentNamespace
	f := Finding{Object: directory.SecretRef(x.Record.Name), Cluster: c.ClusterOfAgent(agent)}
	watched := x.Watched + "/" + x.Record.BundleID
	why := "BundleDeployment " + watched + " does not exist"
	switch {
	case x.Converted:
		why = "this version of the agent expects " + x.Expected + " for BundleDeployment " + watched +
			", and installs it again under the same name"
	case x.Expects != nil:
		why = "BundleDeployment " + watched + " expects release " + x.Expected
	}
	if x.Expects != nil {
		f.BundleDeployment = watched
	}
	f.Settle = append(in.Facts.Unchanged(facts.Ref(state.BundleDeployment, x.Watched, x.Record.BundleID)),
		settle.Recorded(c.ID, x.Record.Name))
	f.Message = fmt.Sprintf("the agent in %s will uninstall release %s %s: %s", agent, x.Record.Release(), when(x), why)
	f.Evidence = append([]string{in.cycles(c, agent)}, losses(x)...)
	f.sayIf(x.BlockedBy != "", "each cycle of the agent now ends at release "+x.BlockedBy+", because the agent keeps "+
		"its objects and cannot remove its record. Do not delete that record before this release is safe")
	f.sayIf(x.Expects != nil && len(x.Expects.Spec.Options.DownstreamResources) > 0,
		"the agent then also deletes the copies of the downstreamResources of the BundleDeployment")
	kind := strings.ToLower(cmp.Or(c.State.Workloads[agent].Kind, "deployment"))
	command := fmt.Sprintf("%s -n %s scale %s/%s --replicas=0", in.Steps.On(c.ID).Kubectl, escape.Shell(agent), kind,
		fleet.AgentName)
	out.report(f, remedy.Run(command, "stops the agent before its next cycle, if the objects are still needed: it "+
		"deploys nothing on this cluster until it runs again"))
}

// when returns the cycle in which a release is uninstalled.
func when(x *desired.Removal) string {
	switch {
	case x.BlockedBy != "":
		return "as soon as the record of release " + x.BlockedBy + " is deleted"
	case x.Cycle > 1:
		return fmt.Sprintf("in cycle %d of its garbage collection from now", x.Cycle)
	}
	return "in the next cycle of its garbage collection"
}

// defaultInterval is the interval of garbage collection in the charts of Fleet.
const defaultInterval = 15 * time.Minute

// cycles returns the interval of an agent's garbage collection as a sentence.
func (in *Input) cycles(c *directory.Cluster, agent string) string {
	interval, stated := defaultInterval, "default"
	for _, o := range in.Result.Desired.Fleet.Clusters {
		recorded := o.Status.GarbageCollectionInterval
		if recorded == nil || o != c.FleetCluster(agent) {
			continue
		}
		if d, err := time.ParseDuration(*recorded); err == nil && d > 0 {
			interval, stated = d, "status of the Cluster"
		}
	}
	s := fmt.Sprintf("a cycle begins %s to %s after the previous one (interval from the %s), and at once when the "+
		"agent starts", interval, 2*interval, stated)
	if idle := c.State.Workloads[agent].Idle; idle != "" {
		s += "; the agent does not run now: " + idle
	}
	return s
}

// losses are the objects that are deleted and kept, as sentences.
func losses(x *desired.Removal) []string {
	if len(x.Deletes)+len(x.Kept) == 0 {
		return []string{"the objects of the release are not known, or there are none"}
	}
	var named []string
	for _, ref := range x.Deletes {
		switch {
		case ref.Kind == desired.CRDKind:
			s := "CustomResourceDefinition " + ref.Name
			if n, known := x.CustomResources[ref.Name]; known {
				s += " with " + facts.Count(n, "custom resource")
			} else {
				s += " with its custom resources, which could not be counted"
			}
			named = append(named, s)
		case object.Group(ref.APIVersion) == "" && (ref.Kind == "PersistentVolumeClaim" || ref.Kind == "Namespace"):
			named = append(named, ref.Kind+" "+strings.TrimPrefix(ref.Namespace+"/"+ref.Name, "/"))
		}
	}
	all := "it deletes " + facts.Count(len(x.Deletes), "object")
	if len(named) > 0 {
		all += ", also " + strings.Join(named, ", ")
	}
	f := Finding{Evidence: []string{all}}
	policies := count(x.Kept, func(k desired.KeptObject) bool { return k.Reason == desired.KeptByPolicy })
	hooks := len(x.Kept) - policies
	f.sayIf(policies > 0, facts.Count(policies, "object")+" with helm.sh/resource-policy: keep remain")
	f.sayIf(hooks > 0, facts.Count(hooks, "object")+" with helm.sh/hook remain, because Helm takes them for hooks")
	var shared []string
	for _, o := range x.Shared {
		shared = append(shared, o.Kind+" "+strings.TrimPrefix(o.Namespace+"/"+o.Name, "/")+" of "+o.Deployment.String())
	}
	f.sayIf(len(shared) > 0, "it also deletes objects that other releases desire: "+facts.List(shared))
	return f.Evidence
}

// DeployedNowhere returns the finding that no bundle of a GitRepo or HelmOp reaches a cluster. A Bundle that has
// neither stands for itself.
func (in *Input) DeployedNowhere(o v1alpha1.Object) (Finding, bool) {
	ref := facts.RefTo(o)
	bundles := in.Facts.BundlesOf(ref)
	if b, ok := o.(*v1alpha1.Bundle); ok {
		if _, made := facts.RepoOf(b); !made {
			bundles = []*v1alpha1.Bundle{b}
		}
	}
	certain := in.Facts.Read(state.Bundle, ref.Namespace) && !facts.Deleting(o)
	reaches := func(b *v1alpha1.Bundle) bool { return !in.selectsNone(b) || in.Facts.DeploymentsOf(facts.Key(b)) > 0 }
	if !certain || len(bundles) == 0 || slices.ContainsFunc(bundles, reaches) {
		return Finding{}, false
	}
	f := Finding{Code: codes.DeployedNowhere, Object: ref, AsOf: o.Reported().AsOf,
		Remedies: []remedy.Remedy{in.Steps.Commands.ExplainTargets(bundles[0])}}
	clusters := in.clustersIn(ref.Namespace)
	f.Message = fmt.Sprintf("%s %s is deployed nowhere: its targets select none of the clusters in its namespace (%d)",
		ref.Kind, facts.Key(o), clusters)
	for _, b := range bundles {
		for _, group := range in.Facts.Targets(b).AbsentGroups() {
			s := "its targets name ClusterGroup " + group + ", which does not exist"
			f.sayIf(!slices.Contains(f.Evidence, s), s)
		}
	}
	for _, m := range in.Result.Desired.Mappings {
		if m.Namespace == ref.Namespace && m.BundleSelector != nil {
			f.say("BundleNamespaceMapping %s lets Bundles with %s reach clusters of other namespaces", m.Name,
				metav1.FormatLabelSelector(m.BundleSelector))
		}
	}
	f.sayIf(clusters == 0, "the Clusters are in "+facts.List(in.workspaces()))
	return f, true
}

// selectsNone reports whether it is certain that a bundle reaches no cluster, and nothing in it says that it
// should not.
func (in *Input) selectsNone(b *v1alpha1.Bundle) bool {
	if targeting.IsAgentBundle(b) || !facts.Observed(b) || !in.reachesNone(b) {
		return false
	}
	for r := range in.Facts.Targets(b).Results() {
		if r.Reason == targeting.DoNotDeploy {
			return false
		}
	}
	return true
}

// workspaces are the namespaces of Clusters.
func (in *Input) workspaces() []string {
	var out []string
	for _, c := range in.Result.Desired.Fleet.Clusters {
		if s := "namespace " + c.Namespace; !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	slices.Sort(out)
	return out
}

// scaledOutside reports an object that is as desired, and that Fleet reports as modified for as long as an autoscaler
// that is not in the bundle changes its number of replicas.
func (in *Input) scaledOutside(out *found, d *evaluate.BundleDeployment, o *evaluate.Object) {
	out.reportIf(in.scaled(d, o))
}

// scaled is scaledOutside for the graph of causes.
func (in *Input) scaled(d *evaluate.BundleDeployment, o *evaluate.Object) (Finding, bool) {
	if !o.Scaled || d.BD == nil || fleet.BugReplicas.In(d.AgentVersion) { // FD201 reports the bug
		return Finding{}, false
	}
	reported := slices.ContainsFunc(d.BD.Status.ModifiedStatus, func(m v1alpha1.ModifiedStatus) bool {
		return object.Ref(m.Key()) == o.Ref && !m.Missing && !m.Delete
	})
	if !reported {
		return Finding{}, false
	}
	f := about(d, o.Ref, "an autoscaler scales %s, and Fleet reports it as modified: it knows only autoscalers of the "+
		"same bundle", o.Key())
	f.Code = codes.ScaledOutside
	f.Remedies = only(in.Steps.Commands.Rules(&d.Deployment, "prints the rule that excludes /spec/replicas, for "+
		"diff.comparePatches in the fleet.yaml; leaving replicas out of the manifest does the same"))
	return f, true
}

func (in *Input) leftoverRelease(out *found, c *directory.Cluster) {
	if !in.Result.Whole {
		return
	}
	uninstalled := map[string]bool{} // these are FD608
	for _, x := range in.Result.Desired.Removals {
		if x.ClusterID == c.ID {
			uninstalled[x.Record.Release()] = true
		}
	}
	for _, r := range c.Leftovers {
		if uninstalled[r.Release()] {
			continue
		}
		f := Finding{Object: directory.SecretRef(r.Name), Cluster: in.Facts.ClusterName(c),
			Message: fmt.Sprintf("release %s was created by Fleet for %q (agent in %s), and has no BundleDeployment",
				r.Release(), r.BundleID, r.AgentNamespace)}
		f.sayIf(r.KeepResources,
			"it was deployed with keepResources: its objects are kept, only the record is left over")
		command := in.Steps.On(c.ID).Helm + remedy.InNamespace(r.Namespace) + " status " +
			remedy.LastArgument(r.Name.Name)
		out.report(f, remedy.Run(command, "shows the release, so that you can decide whether anything still uses it"))
	}
}
