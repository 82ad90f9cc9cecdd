// SPDX-License-Identifier: Apache-2.0

package check

import (
	"fmt"
	"slices"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/facts"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/remedy"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/directory"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/escape"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

func (in *Input) scopeUnproven(out *found, c *directory.Cluster) {
	for _, x := range c.Disputes {
		if slices.ContainsFunc(x.Deployments, in.Result.InScope) {
			in.disputedScope(out, x)
		}
	}
	in.contradictedReleases(out, c)
}

// contradictedReleases reports each agent with releases that state sets of which no object has the ownership metadata.
func (in *Input) contradictedReleases(out *found, c *directory.Cluster) {
	objects, clusters := map[string][]*evaluate.Object{}, map[string]string{} // by the namespace of the agent
	for d, o := range in.Facts.ObjectsOn(c) {
		if o.Reason == evaluate.ScopeUnproven {
			objects[d.Agent], clusters[d.Agent] = append(objects[d.Agent], o), d.Cluster
		}
	}
	for agent, found := range objects {
		out.report(Finding{
			Object:  object.Ref{APIVersion: "apps/v1", Kind: "Deployment", Namespace: agent, Name: fleet.AgentName},
			Cluster: clusters[agent],
			Message: fmt.Sprintf("the scope of the agent in namespace %s is not known: %s have other sets than the "+
				"releases of their bundles state, and no object has those",
				agent, facts.Count(len(found), "live object")),
			Evidence: []string{found[0].Key().String() + ": " + found[0].Message},
		}, in.showScope(c, agent))
	}
}

// showScope shows the scope with which an agent runs.
func (in *Input) showScope(c *directory.Cluster, agent string) remedy.Remedy {
	path := escape.Shell(`{.spec.template.spec.containers[*].env[?(@.name=="` + fleet.AgentScopeEnv + `")].value}`)
	command := in.Steps.On(c.ID).Kubectl + remedy.InNamespace(agent) + " get deployment " + fleet.AgentName +
		" -o jsonpath=" + path
	return remedy.Run(command, "prints the scope with which the agent runs")
}

func (in *Input) disputedScope(out *found, x *directory.Dispute) {
	deployments := facts.Count(len(x.Deployments), "bundle deployment")
	f := Finding{Object: facts.Ref(state.ClusterKind, x.Cluster.Namespace, x.Cluster.Name),
		Cluster: x.Cluster.Namespace + "/" + x.Cluster.Name, Message: x.String(), Aspect: x.Agent}
	f.say("%s", usedScope(x, deployments))
	f.say("if the agent starts again with %s, Fleet reports the objects of %s that have another set as not owned, "+
		"until it deploys each of them again", directory.AgentScope{Scope: x.Declared}, deployments)
	out.report(f, in.showScope(in.Result.Desired.Cluster(x.Deployments[0].Cluster), x.Agent))
}

// usedScope describes which scope the audit uses, and the evidence for it.
func usedScope(x *directory.Dispute, deployments string) string {
	have := func(n int) string {
		if n == 1 {
			return "has"
		}
		return "have"
	}
	objects := fmt.Sprintf("%s of %s %s", facts.Count(x.Carriers.Used, "live object"), deployments,
		have(x.Carriers.Used))
	switch {
	case x.Used.Proven():
		return fmt.Sprintf("the audit uses %s for %s: evidence %s", x.Used, deployments, x.Used.Source)
	case x.Used.Evidence == directory.EvidenceDeclared:
		return "the audit uses the declared scope: " + objects + " its sets, and none has a set that the releases state"
	case !x.Carriers.Complete:
		return "the audit uses what the releases state: at least " + objects +
			" these sets; not all objects could be read"
	}
	return fmt.Sprintf("the audit uses what the releases state: %s these sets, and %d %s the declared ones", objects,
		x.Carriers.Declared, have(x.Carriers.Declared))
}
