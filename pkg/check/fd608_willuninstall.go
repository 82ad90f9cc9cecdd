// SPDX-License-Identifier: Apache-2.0

package check

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/facts"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/remedy"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/desired"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/directory"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/escape"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
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
	policies := 0
	for _, k := range x.Kept {
		if k.Reason == desired.KeptByPolicy {
			policies++
		}
	}
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
