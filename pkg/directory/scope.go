// SPDX-License-Identifier: Apache-2.0

package directory

import (
	"fmt"

	"k8s.io/apimachinery/pkg/types"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
)

// Evidence is the kind of evidence for the scope of an agent.
type Evidence string

// The kinds of evidence, the strongest first; the zero value means that the scope is not known. If the releases
// contradict the scope, only the first two kinds allow a write: a spec only declares the scope of the next agent
// (docs/fleet-behavior.md, 1.5).
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

func statedScope(scope string) AgentScope { return AgentScope{scope, EvidenceStated, "--agent-scope"} }

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
	Deployments []object.DeploymentID
	// Carriers count the live objects of these bundle deployments by their set. They are counted only if no running
	// agent settles the dispute.
	Carriers Carriers
}

// DisputeKey identifies a dispute.
type DisputeKey struct {
	Cluster types.NamespacedName
	Agent   string
}

// Carriers count the live objects of a dispute's bundle deployments that have one of the two sets.
type Carriers struct {
	Used, Declared int
	// Complete is true if all objects of these bundle deployments could be read.
	Complete bool
}

// Key identifies the dispute.
func (x *Dispute) Key() DisputeKey {
	return DisputeKey{types.NamespacedName{Namespace: x.Cluster.Namespace, Name: x.Cluster.Name}, x.Agent}
}

// DeclaredSet returns the set id that a bundle would have with the declared scope.
func (x *Dispute) DeclaredSet(bundleID string) string { return fleet.SetID(bundleID, x.Declared) }

// String names the declared scope and the evidence against it.
func (x *Dispute) String() string {
	return fmt.Sprintf("cluster %s declares %s for its agent, but %s", x.Key().Cluster, showScope(x.Declared),
		x.evidence())
}

func (x *Dispute) evidence() string {
	switch {
	case x.Used.Evidence == EvidenceRunning:
		return "the running agent has " + x.Used.String()
	case x.Used.Evidence == EvidenceStated:
		return "--agent-scope states " + x.Used.String()
	case x.Used.Evidence == EvidenceDeclared:
		return "the releases of the agent were made with another scope"
	case x.Mixed:
		return "the releases of the agent were made with other scopes"
	}
	return "the releases of the agent were made with " + x.Used.String()
}

// contradicted reports whether no live object has the set that the releases state, and some have the declared one.
func (c Carriers) contradicted() bool { return c.Complete && c.Used == 0 && c.Declared > 0 }

// settled returns the dispute with the counts of the live objects. It chooses the scope of the releases, unless the
// live objects contradict it.
func (x *Dispute) settled(c Carriers) *Dispute {
	out := *x
	out.Carriers = c
	if x.Used.Proven() || !c.contradicted() {
		return &out
	}
	out.Carriers.Used, out.Carriers.Declared = c.Declared, c.Used
	out.Used = AgentScope{x.Declared, EvidenceDeclared, declaredIn(x.Cluster) + ", with which the live objects agree"}
	return &out
}

// declares reports whether a Cluster's spec determines the scope of its next agent, because the manager installs that
// agent.
func declares(c *v1alpha1.Cluster) bool { return c != nil && c.Spec.KubeConfigSecret != "" }

func declaredIn(c *v1alpha1.Cluster) string {
	return "the agentNamespace of cluster " + c.Namespace + "/" + c.Name
}
