// SPDX-License-Identifier: Apache-2.0

package check

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/facts"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/remedy"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/directory"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/escape"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/agentconfig"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

func (in *Input) willReimport(out *found, a evaluate.Agent) {
	if !facts.Reimported(a) {
		return
	}
	f := onCluster(a)
	var fields []string
	for _, r := range a.Now.Reasons {
		fields = append(fields, string(r.Field))
		f.Evidence = append(f.Evidence, evidenceOf(r))
	}
	f.Message = fmt.Sprintf("a restart of fleet-controller imports the agent of cluster %s again: %s", f.Cluster,
		strings.Join(fields, ", "))
	if a.Now.Reasons[0].Field == agentconfig.FieldPending {
		f.Message = fmt.Sprintf("fleet-controller is about to import the agent of cluster %s again: it has set "+
			"agentConfigChanged", f.Cluster)
	}
	if c, _ := in.Result.Desired.Agents.Config(); c.Config != nil {
		ignored := agentconfig.ReloadIgnored(c.Version, in.Result.Desired.ControllerVersion)
		f.sayIf(ignored != "", ignored)
	}
	f.sayIf(a.Now.Why != "", a.Now.Why)
	out.report(f, avoidImport(a))
}

// evidenceOf describes one reason: where the present value is, and both values.
func evidenceOf(r agentconfig.Reason) string {
	where := "the spec of the Cluster"
	switch {
	case r.Field == agentconfig.FieldPending:
		return "status.agentConfigChanged is true"
	case strings.HasSuffix(string(r.Field), "Migrated"):
		return "the migration " + string(r.Field) + " is not done"
	case r.Field.Configured():
		where = "the ConfigMap fleet-controller"
	}
	value := func(v string) string {
		if strings.ContainsAny(v, " ") {
			return v // "not recorded"
		}
		return strconv.Quote(v)
	}
	text := fmt.Sprintf("%s: the status has %s, %s has %s", r.Field, value(r.Recorded), where, value(r.Present))
	if r.CA != nil {
		text += " (hashes; " + describeCA(*r.CA) + ")"
	}
	if r.Field.Setting() && r.Field != agentconfig.FieldRepoURL && r.Field != agentconfig.FieldHostNetwork {
		text += " (hashes)"
	}
	return text
}

// describeCA describes the present CA.
func describeCA(ca agentconfig.CA) string {
	switch {
	case ca.Subject != "":
		return fmt.Sprintf("the present CA is %q, valid until %s", ca.Subject, ca.NotAfter.Format(time.RFC3339))
	case ca.Certificates == 0:
		return "the configuration has no CA"
	}
	return "the present CA could not be decoded"
}

// avoidImport describes what to change so that the agent is not imported, by the first reason that can be changed.
func avoidImport(a evaluate.Agent) remedy.Remedy {
	if a.Upgraded.Result == agentconfig.None && a.Now.Result != a.Upgraded.Result {
		return remedy.Advise("upgrade Fleet to 0.13 or later, which does not compare the values that the kubeconfig " +
			"Secret states")
	}
	for _, r := range a.Now.Reasons {
		switch {
		case r.Field == agentconfig.FieldPending || strings.HasSuffix(string(r.Field), "Migrated"):
			return remedy.Advise("it cannot be avoided: the controller has already decided it. Restart the " +
				"controller when the agent may be replaced")
		case r.Field == agentconfig.FieldCA:
			return remedy.Advise("if the CA was not changed deliberately, restore apiServerCA in the values of " +
				"Fleet's chart; otherwise the import gives the agent the new CA")
		case r.Field.Configured():
			return remedy.Advise("if %s was not changed deliberately, restore it in the values of Fleet's chart",
				r.Field)
		case r.Field == agentconfig.FieldGeneration:
			return remedy.Advise("to prevent it, set spec.redeployAgentGeneration of the Cluster to %s again",
				r.Recorded)
		}
	}
	return remedy.Advise("to prevent it, restore spec.%s of the Cluster", a.Now.Reasons[0].Field)
}

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

// agentNeverSeen reports an agent that was imported, or one that registers itself, and has never reported.
func (in *Input) agentNeverSeen(out *found, a evaluate.Agent) {
	r := in.Facts.RegistrationOf(a.Cluster)
	refused := len(facts.Refusals(a.Cluster)) > 0 // FD610 has the error
	if refused || !a.Silent && !r.Elsewhere(a) {
		return
	}
	f, c := onCluster(a), a.Cluster
	f.AsOf = c.Status.LastChange()
	if c.Spec.KubeConfigSecret == "" {
		in.neverRegistered(out, a, f, r)
		return
	}
	f.Message = fmt.Sprintf("the agent of cluster %s was imported and has never reported", f.Cluster)
	f.Evidence = []string{"the status of the Cluster last changed at " + f.AsOf,
		"an agent reports 15 seconds after its start"}
	idle := facts.IdleOf(a)
	f.sayIf(idle != "", idle)
	f.say("the agent was installed for the API server %q", escape.Address(c.Status.APIServerURL))
	out.report(f, in.Steps.LogsOfAgent(a))
}

// neverRegistered reports an agent that registers itself. The controller names a Cluster after its clientID only if an
// agent has registered with it. Other Clusters were created by hand, and nothing here shows whether an agent has
// registered.
func (in *Input) neverRegistered(out *found, a evaluate.Agent, f Finding, r facts.Registration) {
	c := a.Cluster
	f.Message = fmt.Sprintf("no agent has reported for cluster %s: its spec names no kubeconfig Secret, so its agent "+
		"must register itself", f.Cluster)
	switch {
	case c.Spec.ClientID == "":
		f.Message = fmt.Sprintf("no agent can report for cluster %s: its spec has neither kubeConfigSecret, with "+
			"which Fleet installs an agent, nor clientID, by which an agent registers itself", f.Cluster)
	case c.Name == fleet.RegisteredName(c.Spec.ClientID), r.Granted(c):
		f.Message = fmt.Sprintf("the agent of cluster %s registered itself and has never reported", f.Cluster)
	}
	if why := r.Why(c); why != "" {
		f.Message = fmt.Sprintf("no agent has reported for cluster %s: %s", f.Cluster, why)
	}
	f.Evidence = append(r.Others(c), "the Cluster was created at "+facts.Time(c.CreationTimestamp.Time))
	f.sayIf(c.Status.Namespace == "", "the controller has not given the Cluster a namespace: it cannot grant the "+
		"registration before that")
	out.report(f, in.Steps.LogsOfAgent(a))
}

func (in *Input) agentStale(out *found, a evaluate.Agent) {
	stopped := facts.Stopped(a)
	if !stopped && !facts.Broken(a) {
		return
	}
	f, h, idle := onCluster(a), a.Heartbeat, facts.IdleOf(a)
	if !stopped {
		f.Message = fmt.Sprintf("the agent of cluster %s does not deploy: %s", f.Cluster, idle)
		f.Evidence = []string{"the pod was created at " + facts.Time(a.Stuck.Since), "last heartbeat: " +
			a.Cluster.Status.Agent.LastSeen}
		out.report(f, in.Steps.LogsOfAgent(a))
		return
	}
	f.Message = fmt.Sprintf("the agent of cluster %s last reported %s before the data was taken: all numbers of this "+
		"cluster are that old", f.Cluster, age(h.Age))
	f.Evidence = []string{"last heartbeat: " + a.Cluster.Status.Agent.LastSeen, limitOf(h)}
	f.sayIf(idle != "", idle)
	out.report(f, in.Steps.LogsOfAgent(a))
}

// limitOf describes the age from which a heartbeat is too old.
func limitOf(h agentconfig.Heartbeat) string {
	if h.Interval == 0 {
		return fmt.Sprintf("the limit is %s: the interval of heartbeats was not read", age(h.Limit))
	}
	return fmt.Sprintf("the limit is %s: the agent reports every %s", age(h.Limit), age(h.Interval))
}

// age writes a duration in its largest unit of which there are at least two.
func age(d time.Duration) string {
	const day = 24 * time.Hour
	switch {
	case d >= 2*day:
		return facts.Count(int(d/day), "day")
	case d >= 2*time.Hour:
		return facts.Count(int(d/time.Hour), "hour")
	case d >= 2*time.Minute:
		return facts.Count(int(d/time.Minute), "minute")
	}
	return facts.Count(int(d/time.Second), "second")
}
