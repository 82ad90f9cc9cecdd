// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/ownership"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/release"
)

// Evidence is how the scope of an agent is known.
type Evidence string

// The kinds of evidence, the strongest first; the zero value means that the scope is not known. Only the first two may lead to a write that
// the releases contradict: what a spec declares is what the next agent would get (Fleet's facts, ownership 1.5).
const (
	EvidenceRunning  Evidence = "running"  // AGENT_SCOPE of the agent's running workload
	EvidenceStated   Evidence = "stated"   // the user states it
	EvidenceReleases Evidence = "releases" // the manifests of the agent's deployed releases
	EvidenceDeclared Evidence = "declared" // only the spec of the Cluster
)

// AgentScope is the scope that an agent puts into its set ids, and how it is known.
type AgentScope struct {
	// Scope is the value of AGENT_SCOPE. The empty one is a scope too, and the usual one.
	Scope    string
	Evidence Evidence
	// Source says where it was read: "the environment of Deployment cattle-fleet-system/fleet-agent".
	Source string
}

// Proven says whether a running agent or the user vouches for the scope.
func (s AgentScope) Proven() bool {
	return s.Evidence == EvidenceRunning || s.Evidence == EvidenceStated
}

// String writes the scope as a reader can tell an empty one.
func (s AgentScope) String() string { return showScope(s.Scope) }

func showScope(scope string) string {
	if scope == "" {
		return "no scope"
	}
	return fmt.Sprintf("scope %q", scope)
}

// Dispute is a scope that the spec of a Cluster declares and that the agent's workload or its releases contradict.
type Dispute struct {
	Cluster *v1alpha1.Cluster
	// Agent is the namespace of the agent.
	Agent string
	// Declared is the scope in the Cluster's spec.
	Declared string
	// Used is the scope by which the deployments are evaluated. With EvidenceReleases each release states its own set.
	Used AgentScope
	// Mixed says that the releases were made with more than one scope.
	Mixed bool
	// Deployments are those whose set the declared scope would change.
	Deployments []*Deployment
	// CarryUsed and CarryDeclared count the live objects of these deployments that carry the set that is used and the declared one. They are
	// counted where no running agent settles the dispute; Counted says that all objects of these deployments could be read for it.
	CarryUsed, CarryDeclared int
	Counted                  bool
}

// String says what is declared, and what contradicts it.
func (x *Dispute) String() string {
	but := "the releases of the agent were made with " + x.Used.String()
	switch {
	case x.Used.Evidence == EvidenceRunning:
		but = "the running agent has " + x.Used.String()
	case x.Used.Evidence == EvidenceStated:
		but = "--agent-scope states " + x.Used.String()
	case x.Used.Evidence == EvidenceDeclared:
		but = "the releases of the agent were made with another scope"
	case x.Mixed:
		but = "the releases of the agent were made with other scopes"
	}
	return fmt.Sprintf("cluster %s/%s declares %s for its agent, but %s", x.Cluster.Namespace, x.Cluster.Name, showScope(x.Declared), but)
}

// DisputeOf is the dispute that a deployment is part of, nil where it is part of none.
func (inv *Inventory) DisputeOf(d *Deployment) *Dispute {
	for _, x := range inv.Disputes {
		if slices.Contains(x.Deployments, d) {
			return x
		}
	}
	return nil
}

// DeclaredSet is the set id that a deployment would have with the declared scope.
func (x *Dispute) DeclaredSet(d *Deployment) string { return fleet.SetID(d.Name, x.Declared) }

// UseDeclared evaluates the deployments of a dispute by the declared scope after all: no live object carries what the releases state, and
// some carry what the spec declares. It is called before a live object is evaluated.
func (inv *Inventory) UseDeclared(x *Dispute) {
	x.CarryUsed, x.CarryDeclared = x.CarryDeclared, x.CarryUsed
	x.Used = AgentScope{x.Declared, EvidenceDeclared, declaredIn(x.Cluster) + ", with which the live objects agree"}
	for _, d := range x.Deployments {
		d.Scope = x.Used
		inv.dropSet(d)
		d.Ownership = ownership.Desired(x.DeclaredSet(d), d.Ownership.ReleaseName, d.Ownership.ReleaseNamespace)
		inv.addSet(d)
	}
	inv.SetsComplete = false
}

func (inv *Inventory) addSet(d *Deployment) {
	inv.Sets[d.Ownership.Hash] = append(inv.Sets[d.Ownership.Hash], d)
}

func (inv *Inventory) dropSet(d *Deployment) {
	rest := slices.DeleteFunc(inv.Sets[d.Ownership.Hash], func(other *Deployment) bool { return other == d })
	if inv.Sets[d.Ownership.Hash] = rest; len(rest) == 0 {
		delete(inv.Sets, d.Ownership.Hash)
	}
}

// NewBundleScope is the scope for a bundle that has no deployment on this cluster yet: the stated one, else that of the cluster's agents.
// Evidence is empty where the agents do not agree, or where there is no evidence of any.
func (inv *Inventory) NewBundleScope() AgentScope {
	if inv.stated != nil {
		return AgentScope{*inv.stated, EvidenceStated, "--agent-scope"}
	}
	var out AgentScope
	for i, agent := range slices.Sorted(maps.Keys(inv.agents)) {
		switch s := inv.agents[agent]; {
		case s.Evidence == "" || i > 0 && s.Scope != out.Scope:
			return AgentScope{}
		case i == 0 || out.Proven():
			out = s // of several that agree, the weakest evidence is all there is
		}
	}
	return out
}

// Contradicts returns the running agents of the cluster, where each of them runs with another scope than the one that the user states.
func (inv *Inventory) Contradicts(stated string) []AgentScope {
	var out []AgentScope
	for _, agent := range slices.Sorted(maps.Keys(inv.agents)) {
		s := inv.agents[agent]
		if s.Evidence != EvidenceRunning || s.Scope == stated {
			return nil
		}
		out = append(out, s)
	}
	return out
}

// Unshown returns the namespaces of the agents whose running workload does not show a scope, in order.
func (inv *Inventory) Unshown() []string {
	var out []string
	for _, agent := range slices.Sorted(maps.Keys(inv.agents)) {
		if inv.agents[agent].Evidence != EvidenceRunning {
			out = append(out, agent)
		}
	}
	return out
}

// findScopes finds out the scope of each agent of which this cluster shows a trace.
func (a *assembler) findScopes() {
	released := a.releasedScopes()
	for agent := range a.agentNamespaces() {
		a.inv.agents[agent] = a.scopeOf(agent, released[agent])
	}
}

// agentNamespaces are those in which an agent lives on this cluster, by its Secret or its workload. Only where nothing shows an agent, those
// that release records name: anyone who may create a Secret can write such a record.
func (a *assembler) agentNamespaces() map[string]bool {
	out := maps.Clone(a.blankSecrets)
	if out == nil {
		out = map[string]bool{}
	}
	for ns, w := range a.workloads {
		if w.isAgent {
			out[ns] = true
		}
	}
	for ns := range a.agentSecrets {
		out[ns] = true
	}
	if len(out) > 0 {
		return out
	}
	for _, r := range a.records {
		if r.AgentNamespace != "" {
			out[r.AgentNamespace] = true
		}
	}
	return out
}

// scopeOf weighs the evidence for the scope of an agent, the strongest first.
func (a *assembler) scopeOf(agent string, released []string) AgentScope {
	w, seen := a.workloads[agent]
	c := a.clusterOf(a.homes[agent])
	switch {
	case seen && w.isAgent && w.doubt == "":
		return AgentScope{w.scope, EvidenceRunning, "the environment of " + w.kind + " " + agent + "/" + fleet.AgentName}
	case a.StatedScope != nil:
		return AgentScope{*a.StatedScope, EvidenceStated, "--agent-scope"}
	case len(released) == 1:
		return AgentScope{released[0], EvidenceReleases, "the releases of the agent in namespace " + agent}
	case declares(c):
		return AgentScope{c.Spec.AgentNamespace, EvidenceDeclared, declaredIn(c)}
	}
	return AgentScope{}
}

// declares says whether a Cluster's spec determines the scope of its next agent: the manager installs it.
func declares(c *v1alpha1.Cluster) bool { return c != nil && c.Spec.KubeConfigSecret != "" }

func declaredIn(c *v1alpha1.Cluster) string {
	return "the agentNamespace of cluster " + c.Namespace + "/" + c.Name
}

// releasedScopes are the distinct scopes that the deployed releases of each agent were made with, by the agent's namespace.
func (a *assembler) releasedScopes() map[string][]string {
	out := map[string][]string{}
	for _, name := range slices.Sorted(maps.Keys(a.histories)) {
		r := latest(a.histories[name])
		if r == nil || r.AgentNamespace == "" || r.Status != release.StatusDeployed {
			continue
		}
		guesses := []string{r.AgentNamespace}
		if c := a.clusterOf(a.homes[r.AgentNamespace]); declares(c) {
			guesses = append(guesses, c.Spec.AgentNamespace)
		}
		scope, ok := fleet.ScopeOfSet(statedOwnership(r).SetID, r.BundleID, guesses...)
		if ok && !slices.Contains(out[r.AgentNamespace], scope) {
			out[r.AgentNamespace] = append(out[r.AgentNamespace], scope)
		}
	}
	return out
}

// marks computes the ownership metadata that the agent writes on the deployment's objects. r is the record of its release, nil where there
// is none.
func (a *assembler) marks(d *Deployment, r *record, agent string) {
	stated := statedOwnership(r)
	d.Agent, d.Scope = agent, a.inv.agents[agent]
	id := fleet.SetID(d.Name, d.Scope.Scope)
	if stated.SetID != "" && !d.Scope.Proven() {
		// A release speaks for its own objects.
		id, d.Scope.Evidence, d.Scope.Source = stated.SetID, EvidenceReleases, "the manifest of release "+d.Release.String()
		if scope, ok := fleet.ScopeOfSet(id, d.Name, d.Scope.Scope); ok {
			d.Scope.Scope = scope
		}
	}
	if d.Scope.Evidence == "" || d.Scope.Evidence == EvidenceDeclared {
		a.inv.SetsComplete = false
	}
	d.Ownership = ownership.Desired(id, d.Release.Name, d.Release.Namespace)
	d.Stated = stated
	if stated.Hash != "" && stated.Hash != d.Ownership.Hash {
		a.outdated[agent] = append(a.outdated[agent], d)
	}
	if c := a.clusterOf(d.Namespace); declares(c) && fleet.SetID(d.Name, c.Spec.AgentNamespace) != id && d.Scope.Evidence != "" {
		a.dispute(c, agent, d)
	}
}

func (a *assembler) dispute(c *v1alpha1.Cluster, agent string, d *Deployment) {
	i := slices.IndexFunc(a.inv.Disputes, func(x *Dispute) bool { return x.Cluster == c && x.Agent == agent })
	if i < 0 {
		i = len(a.inv.Disputes)
		a.inv.Disputes = append(a.inv.Disputes, &Dispute{Cluster: c, Agent: agent, Declared: c.Spec.AgentNamespace, Used: d.Scope})
	}
	x := a.inv.Disputes[i]
	x.Mixed = x.Mixed || d.Scope.Scope != x.Used.Scope
	x.Deployments = append(x.Deployments, d)
	d.Disputed = !d.Scope.Proven()
}

// outdatedNotes says once for each agent which releases were made for other sets than the agent uses.
func (a *assembler) outdatedNotes() {
	for agent, ds := range a.outdated {
		slices.SortFunc(ds, func(x, y *Deployment) int { return strings.Compare(x.Key(), y.Key()) })
		d := ds[0]
		note := fmt.Sprintf("bundle deployment %s: its release was made for set %q, the agent now wants %q (scope from %s)",
			d.Key(), d.Stated.SetID, d.Ownership.SetID, d.Scope.Source)
		if n := len(ds) - 1; n > 0 {
			note += fmt.Sprintf("; the same holds for %d more of the agent in namespace %s", n, agent)
		}
		a.inv.Notes = append(a.inv.Notes, note)
	}
}
