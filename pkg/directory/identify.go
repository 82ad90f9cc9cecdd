// SPDX-License-Identifier: Apache-2.0

package directory

import (
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/release"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

// Watched returns the namespaces of the BundleDeployments that are deployed to a cluster, as far as Fleet's objects
// and its agents and release records show.
func Watched(f *state.Fleet, c *state.Cluster) []string {
	i := identifier{fleet: f, state: c, histories: c.Histories(), byNamespace: byNamespace(f)}
	watches, _ := i.watches()
	return slices.Sorted(maps.Values(watches))
}

// byNamespace returns the Clusters by the namespace of their BundleDeployments.
func byNamespace(f *state.Fleet) map[string]*v1alpha1.Cluster {
	out := map[string]*v1alpha1.Cluster{}
	for _, c := range f.Clusters {
		if c.Status.Namespace != "" {
			out[c.Status.Namespace] = c
		}
	}
	return out
}

// identifier finds out which of Fleet's clusters a cluster is.
type identifier struct {
	fleet *state.Fleet
	state *state.Cluster
	// histories are the revisions of each release ("namespace/name"), ascending.
	histories map[string][]*state.Record
	// byNamespace finds a Cluster by the namespace of its BundleDeployments.
	byNamespace map[string]*v1alpha1.Cluster
}

// watches finds out which BundleDeployments are deployed to this cluster, by the namespace of the agent. An agent's
// Secret names their namespace; a namespace that is not known is one of another management cluster. If the Secret
// does not show it (it could not be read, or a capture omits the value), the release records may prove it; see
// byHeartbeat and byReleases.
func (i *identifier) watches() (out map[string]string, notes []string) {
	out = i.bySecrets()
	if len(out) > 0 {
		return out, nil // one cluster cannot be two Clusters of the same management cluster
	}
	for agent, records := range i.unshown() {
		namespace, note := i.byHeartbeat(agent, records)
		if namespace == "" {
			var more string
			namespace, more = i.byReleases(agent, records)
			notes = append(notes, more)
		}
		notes = append(notes, note)
		if namespace != "" {
			out[agent] = namespace
		}
	}
	return out, slices.DeleteFunc(notes, func(note string) bool { return note == "" })
}

// bySecrets returns the namespaces that the Secrets of the agents name, if this management cluster has them.
func (i *identifier) bySecrets() map[string]string {
	namespaces := map[string]bool{}
	for _, bd := range i.fleet.BundleDeployments {
		namespaces[bd.Namespace] = true
	}
	for _, c := range i.fleet.Clusters {
		namespaces[c.Status.Namespace] = true
	}
	out := map[string]string{}
	for agent, ns := range i.state.AgentSecrets {
		if namespaces[ns] && i.mayReport(agent, ns) {
			out[agent] = ns
		}
	}
	return out
}

// mayReport reports whether an agent may be the agent of a Cluster. If the Cluster reports another namespace, the
// agent was moved, or its Secret is not Fleet's.
func (i *identifier) mayReport(agent, deployments string) bool {
	c := i.byNamespace[deployments]
	return c == nil || c.Status.Agent.Namespace == "" || c.Status.Agent.Namespace == agent
}

// unshown returns the records of the agents whose Secret does not show what they watch, by the namespace of the agent.
func (i *identifier) unshown() map[string][]*state.Record {
	out := map[string][]*state.Record{}
	for _, name := range slices.Sorted(maps.Keys(i.histories)) {
		for _, rec := range i.histories[name] {
			if _, shown := i.state.AgentSecrets[rec.AgentNamespace]; !shown && rec.AgentNamespace != "" {
				out[rec.AgentNamespace] = append(out[rec.AgentNamespace], rec)
			}
		}
	}
	return out
}

// byHeartbeat identifies this cluster by the record of a BundleDeployment's release, if the agent that made the record
// runs in the namespace that the BundleDeployment's Cluster reports. If two clusters match, it proves nothing.
func (i *identifier) byHeartbeat(agent string, records []*state.Record) (namespace, note string) {
	here, proven := releasesOf(records), map[string]bool{}
	for _, bd := range i.fleet.BundleDeployments {
		c := i.byNamespace[bd.Namespace]
		if c == nil || c.Status.Agent.Namespace != agent || !credible(c) {
			continue
		}
		if named, err := release.ParseName(bd.Status.Release); err == nil &&
			here[madeRelease{bd.Name, named.Release()}] {
			proven[bd.Namespace] = true
		}
	}
	switch len(proven) {
	case 0:
		return "", ""
	case 1:
		return slices.Collect(maps.Keys(proven))[0], ""
	}
	return "", "more than one managed cluster has an agent in namespace " + agent +
		" and bundles with releases of these names: without the Secret " + agent +
		"/fleet-agent, it is not known which of them is this cluster"
}

// credible reports whether release records can identify this cluster as that of a Cluster. A user who registers a
// cluster in a workspace of its own can write such records, what its Cluster reports, and the statuses of its
// BundleDeployments.
func credible(c *v1alpha1.Cluster) bool { return fleet.IsDefaultWorkspace(c.Namespace) }

// byReleases identifies this cluster by its releases alone, for an agent that never reported its namespace to a
// Cluster. Every installed BundleDeployment of that cluster must have its release here, by bundle id, release name and
// namespace, and no BundleDeployment of another one.
func (i *identifier) byReleases(agent string, records []*state.Record) (namespace, note string) {
	namespace, matched := i.matching(records)
	if namespace == "" {
		return "", ""
	}
	clustersRead, deploymentsRead := i.fleet.Needed(state.ClusterKind).Whole(), i.fleet.Read(state.BundleDeployment, "")
	var cluster, reports string
	switch c := i.byNamespace[namespace]; {
	case c == nil && (clustersRead || !deploymentsRead):
		return "", "" // it is another cluster, or its BundleDeployments were not read
	case c == nil:
		cluster, reports = "the cluster of namespace "+namespace, "no Cluster was read that shows its agent"
	case c.Status.Agent.Namespace != "", !credible(c):
		return "", ""
	default:
		cluster, reports = "cluster "+c.Namespace+"/"+c.Name,
			"the agent in namespace "+agent+" has never reported to it"
	}
	return namespace, fmt.Sprintf("%s was identified by its releases: %s; "+
		"the bundle ids, release names and namespaces of its installed bundle deployments (%d) match the release "+
		"records here, "+
		"and no other cluster matches", cluster, reports, matched)
}

// matching returns the only namespace of BundleDeployments of which some have their releases here, and how many, if
// all that are installed have; empty otherwise.
func (i *identifier) matching(records []*state.Record) (namespace string, deployments int) {
	here := releasesOf(slices.DeleteFunc(slices.Clone(records), func(rec *state.Record) bool {
		return rec != Latest(i.histories[rec.Release()])
	}))
	matched, missed := map[string]int{}, map[string]bool{}
	for _, bd := range i.fleet.BundleDeployments {
		named, err := release.ParseName(bd.Status.Release)
		if err != nil {
			continue // nothing is installed, so it proves nothing
		}
		if here[madeRelease{bd.Name, named.Release()}] {
			matched[bd.Namespace]++
		} else {
			missed[bd.Namespace] = true
		}
	}
	if len(matched) != 1 {
		return "", 0
	}
	namespace = slices.Collect(maps.Keys(matched))[0]
	if missed[namespace] {
		return "", 0
	}
	return namespace, matched[namespace]
}

// madeRelease is a release and its bundle.
type madeRelease struct{ bundleID, release string }

func releasesOf(records []*state.Record) map[madeRelease]bool {
	out := map[madeRelease]bool{}
	for _, r := range records {
		out[madeRelease{r.BundleID, r.Release()}] = true
	}
	return out
}

// Latest returns the highest deployed revision, otherwise the highest one that could be decoded; nil if no revision
// could be decoded. The history is in ascending order.
func Latest(history []*state.Record) *state.Record {
	var last *state.Record
	for _, r := range history {
		if r.Damaged != "" {
			continue
		}
		if last == nil || r.Status == release.StatusDeployed || last.Status != release.StatusDeployed {
			last = r
		}
	}
	return last
}

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
