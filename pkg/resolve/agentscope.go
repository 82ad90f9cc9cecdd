// SPDX-License-Identifier: Apache-2.0

package resolve

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/ownership"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/release"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

// Evidence is the kind of evidence for the scope of an agent.
type Evidence string

// The kinds of evidence, the strongest first; the zero value means that the scope is not known. If the releases
// contradict the scope, only the first two kinds allow a write: a spec only declares the scope of the next agent (docs/fleet-behavior.md, 1.5).
const (
	EvidenceRunning  Evidence = "running"  // AGENT_SCOPE of the agent's running workload
	EvidenceStated   Evidence = "stated"   // the user states it
	EvidenceReleases Evidence = "releases" // the manifests of the agent's deployed releases
	EvidenceDeclared Evidence = "declared" // only the spec of the Cluster
)

// AgentScope is the scope that an agent puts into its set ids, with the evidence for it.
type AgentScope struct {
	// Scope is the value of AGENT_SCOPE. The empty scope is valid and the most common one.
	Scope    string
	Evidence Evidence
	// Source is the place where it was read: "the environment of Deployment cattle-fleet-system/fleet-agent".
	Source string
}

// Proven reports whether a running agent shows the scope or the user states it.
func (s AgentScope) Proven() bool {
	return s.Evidence == EvidenceRunning || s.Evidence == EvidenceStated
}

// String returns a text that also names an empty scope.
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
	// Used is the scope that the evaluation uses. With EvidenceReleases, each release has its own set.
	Used AgentScope
	// Mixed is true if the releases were made with more than one scope.
	Mixed bool
	// Deployments are those that would have another set with the declared scope.
	Deployments []*BundleDeployment
	// Carriers count the live objects of these bundle deployments by their set. They are counted only if no running agent settles the dispute.
	Carriers Carriers
}

// String names the declared scope and the evidence against it.
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

// DisputeKey identifies a dispute.
type DisputeKey struct{ Cluster, Agent string }

// Key identifies the dispute.
func (x *Dispute) Key() DisputeKey {
	return DisputeKey{x.Cluster.Namespace + "/" + x.Cluster.Name, x.Agent}
}

// Carriers count the live objects of a dispute's bundle deployments that have one of the two sets.
type Carriers struct {
	Used, Declared int
	// Complete is true if all objects of these bundle deployments could be read.
	Complete bool
}

// DisputeOf returns the dispute that the bundle deployment is part of; nil for no dispute.
func (d *BundleDeployment) DisputeOf() *Dispute {
	if d.On == nil {
		return nil
	}
	for _, x := range d.On.Disputes {
		if slices.Contains(x.Deployments, d) {
			return x
		}
	}
	return nil
}

// DeclaredSet returns the set id that a bundle deployment would have with the declared scope.
func (x *Dispute) DeclaredSet(d *BundleDeployment) string { return fleet.SetID(d.Name, x.Declared) }

// settleDisputes chooses between the scope that a spec declares and the one that releases state, if no running agent shows its scope. It chooses
// the scope of the releases, unless no live object has their set and some have the declared one.
func (r *resolver) settleDisputes(carriers map[DisputeKey]Carriers) {
	for _, x := range r.out.Disputes {
		x.Carriers = carriers[x.Key()]
		if x.Used.Proven() || !x.Carriers.Complete || x.Carriers.Used > 0 || x.Carriers.Declared == 0 {
			continue
		}
		x.Carriers.Used, x.Carriers.Declared = x.Carriers.Declared, x.Carriers.Used
		x.Used = AgentScope{x.Declared, EvidenceDeclared, declaredIn(x.Cluster) + ", with which the live objects agree"}
		for _, d := range x.Deployments {
			d.Scope = x.Used
			d.Ownership = ownership.Desired(x.DeclaredSet(d), d.Ownership.ReleaseName, d.Ownership.ReleaseNamespace)
		}
		r.out.SetsComplete = false
	}
}

// NewBundleScope returns the scope for a bundle that has no deployment on this cluster yet: the stated scope, otherwise that of the agents.
// Evidence is empty if the agents have different scopes, or if there is no evidence.
func (c *Cluster) NewBundleScope() AgentScope {
	if c.stated != nil {
		return AgentScope{*c.stated, EvidenceStated, "--agent-scope"}
	}
	var out AgentScope
	for i, agent := range slices.Sorted(maps.Keys(c.Scopes)) {
		switch s := c.Scopes[agent]; {
		case s.Evidence == "" || i > 0 && s.Scope != out.Scope:
			return AgentScope{}
		case i == 0 || out.Proven():
			out = s // of several agents with the same scope, the weakest evidence counts
		}
	}
	return out
}

// findScopes sets the scope of each agent of which the cluster shows a trace.
func (r *resolver) findScopes() {
	released := r.releasedScopes()
	for agent := range r.State.AgentNamespaces() {
		r.out.Scopes[agent] = r.scopeOf(agent, released[agent])
	}
}

// scopeOf returns the scope of an agent by the strongest evidence.
func (r *resolver) scopeOf(agent string, released []string) AgentScope {
	w, seen := r.State.Workloads[agent]
	c := r.byNamespace[r.out.watches[agent]]
	switch {
	case seen && w.Doubt == "":
		return AgentScope{w.Scope, EvidenceRunning, "the environment of " + w.Kind + " " + agent + "/" + fleet.AgentName}
	case r.out.stated != nil:
		return AgentScope{*r.out.stated, EvidenceStated, "--agent-scope"}
	case len(released) == 1:
		return AgentScope{released[0], EvidenceReleases, "the releases of the agent in namespace " + agent}
	case declares(c):
		return AgentScope{c.Spec.AgentNamespace, EvidenceDeclared, declaredIn(c)}
	}
	return AgentScope{}
}

// declares reports whether a Cluster's spec determines the scope of its next agent, because the manager installs that agent.
func declares(c *v1alpha1.Cluster) bool { return c != nil && c.Spec.KubeConfigSecret != "" }

func declaredIn(c *v1alpha1.Cluster) string {
	return "the agentNamespace of cluster " + c.Namespace + "/" + c.Name
}

// releasedScopes returns the distinct scopes in the deployed releases of each agent, by the agent's namespace.
func (r *resolver) releasedScopes() map[string][]string {
	out := map[string][]string{}
	for _, name := range slices.Sorted(maps.Keys(r.histories)) {
		rec := latest(r.histories[name])
		if rec == nil || rec.AgentNamespace == "" || rec.Status != release.StatusDeployed {
			continue
		}
		candidates := []string{rec.AgentNamespace}
		if c := r.byNamespace[r.out.watches[rec.AgentNamespace]]; declares(c) {
			candidates = append(candidates, c.Spec.AgentNamespace)
		}
		scope, ok := fleet.ScopeOfSet(releaseOwnership(rec).SetID, rec.BundleID, candidates...)
		if ok && !slices.Contains(out[rec.AgentNamespace], scope) {
			out[rec.AgentNamespace] = append(out[rec.AgentNamespace], scope)
		}
	}
	return out
}

// ownership computes the ownership metadata that the agent writes on the deployment's objects. rec is the record of its release; nil if there
// is none.
func (r *resolver) ownership(d *BundleDeployment, rec *state.Record, agent string) {
	released := releaseOwnership(rec)
	d.Agent, d.Scope = agent, r.out.Scopes[agent]
	id := fleet.SetID(d.Name, d.Scope.Scope)
	if released.SetID != "" && !d.Scope.Proven() {
		// The release itself is the best evidence for its own objects.
		id, d.Scope.Evidence, d.Scope.Source = released.SetID, EvidenceReleases, "the manifest of release "+d.Release.String()
		if scope, ok := fleet.ScopeOfSet(id, d.Name, d.Scope.Scope); ok {
			d.Scope.Scope = scope
		}
	}
	if d.Scope.Evidence == "" || d.Scope.Evidence == EvidenceDeclared {
		r.out.SetsComplete = false
	}
	d.Ownership = ownership.Desired(id, d.Release.Name, d.Release.Namespace)
	d.ReleaseOwnership = released
	if released.Hash != "" && released.Hash != d.Ownership.Hash {
		r.outdated[agent] = append(r.outdated[agent], d)
	}
	if c := r.byNamespace[d.Namespace]; declares(c) && fleet.SetID(d.Name, c.Spec.AgentNamespace) != id && d.Scope.Evidence != "" {
		r.dispute(c, agent, d)
	}
}

func (r *resolver) dispute(c *v1alpha1.Cluster, agent string, d *BundleDeployment) {
	i := slices.IndexFunc(r.out.Disputes, func(x *Dispute) bool { return x.Cluster == c && x.Agent == agent })
	if i < 0 {
		i = len(r.out.Disputes)
		r.out.Disputes = append(r.out.Disputes, &Dispute{Cluster: c, Agent: agent, Declared: c.Spec.AgentNamespace, Used: d.Scope})
	}
	x := r.out.Disputes[i]
	x.Mixed = x.Mixed || d.Scope.Scope != x.Used.Scope
	x.Deployments = append(x.Deployments, d)
	d.Disputed = !d.Scope.Proven()
}

// outdatedNotes adds one note for each agent whose releases have other sets than the agent now uses.
func (r *resolver) outdatedNotes() {
	for agent, ds := range r.outdated {
		slices.SortFunc(ds, func(x, y *BundleDeployment) int { return strings.Compare(x.Key(), y.Key()) })
		d := ds[0]
		note := fmt.Sprintf("bundle deployment %s: its release was made for set %q, the agent now uses %q (scope from %s)",
			d.Key(), d.ReleaseOwnership.SetID, d.Ownership.SetID, d.Scope.Source)
		if n := len(ds) - 1; n > 0 {
			note += fmt.Sprintf("; the same holds for %d more of the agent in namespace %s", n, agent)
		}
		r.out.Notes = append(r.out.Notes, note)
	}
}
