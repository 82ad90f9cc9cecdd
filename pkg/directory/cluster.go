// SPDX-License-Identifier: Apache-2.0

package directory

import (
	"maps"
	"reflect"
	"slices"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/ownership"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

// Cluster is one cluster whose objects are read.
type Cluster struct {
	ID object.ClusterID
	// State is the data that was read from it, without release records.
	State *state.Cluster
	// SetsComplete is true if no set is unknown, except those of the Unreadable records.
	SetsComplete bool
	// ReleasesComplete is true if all release records of other tools could be read too, so that a release that is not
	// in State.Releases does not exist. Releases that Helm keeps in an SQL database are never read.
	ReleasesComplete bool
	// Leftovers are releases with Fleet's annotations that are not among the known BundleDeployments of their agent.
	Leftovers []*state.Record
	// Unreadable are damaged records that no BundleDeployment names: it is not known which bundle they are of.
	Unreadable []*state.Record
	// OverBound are the records that exceed a size limit: their objects are not known.
	OverBound []*state.Record
	// Disputes are the scopes that specs declare and that the agents' workloads or releases contradict.
	Disputes []*Dispute
	// Scopes are the scopes of the agents of which the cluster shows a trace, by the namespace of the agent.
	Scopes map[string]AgentScope
	// Notes are information for the reader that is neither a finding nor a gap.
	Notes []string

	// watches maps the namespace of an agent to that of the BundleDeployments that the agent watches.
	watches map[string]string
	stated  *string
	fleet   *state.Fleet
}

// TrustNamespace is the Namespace whose labels are State.TrustLabels.
const TrustNamespace = ownership.TrustNamespace

// TrustsRecords reports whether the release records of a namespace are trusted for the objects of all namespaces.
func TrustsRecords(cluster *state.Cluster, namespace string) bool {
	return ownership.TrustsRecords(namespace, cluster.TrustLabels)
}

// TrustsRecords is the function of that name for this cluster.
func (c *Cluster) TrustsRecords(namespace string) bool { return TrustsRecords(c.State, namespace) }

// MayConcern reports whether a record of one namespace that could not be read may concern the objects of another one;
// empty for cluster-scoped objects. Who can write the records of a namespace must not hide what is known about others.
func (c *Cluster) MayConcern(records, objects string) bool {
	return records == objects || c.TrustsRecords(records)
}

// SetsKnownIn reports whether no set is unknown that an object of a namespace may have.
func (c *Cluster) SetsKnownIn(namespace string) bool {
	return c.SetsComplete && !slices.ContainsFunc(c.Unreadable, func(r *state.Record) bool {
		return c.MayConcern(r.Namespace, namespace)
	})
}

// Watches returns the namespace of the BundleDeployments that the agent in a namespace watches, if it is known.
func (c *Cluster) Watches(agent string) (namespace string, known bool) {
	namespace, known = c.watches[agent]
	return namespace, known
}

// Watched returns the namespaces of the BundleDeployments that are deployed to this cluster.
func (c *Cluster) Watched() []string { return slices.Sorted(maps.Values(c.watches)) }

// AgentOf returns the namespace of the agent on this cluster that deploys the BundleDeployments in a namespace; empty
// if it is not known.
func (c *Cluster) AgentOf(namespace string) string {
	// An agent that was moved may have left its Secret behind.
	for _, agent := range slices.Sorted(maps.Keys(c.watches)) {
		if c.watches[agent] == namespace {
			return agent
		}
	}
	return ""
}

// FleetCluster returns the Cluster of the agent that runs in a namespace of this cluster. It returns nil if the Cluster
// is not known, or if it reports that its agent runs in another namespace.
func (c *Cluster) FleetCluster(agent string) *v1alpha1.Cluster {
	for _, o := range c.fleet.Clusters {
		s := o.Status
		if s.Namespace == "" || s.Namespace != c.watches[agent] {
			continue
		}
		if s.Agent.Namespace == "" || s.Agent.Namespace == agent {
			return o
		}
	}
	return nil
}

// ClusterOfAgent names the Cluster of an agent ("namespace/name"), or the namespace of the agent if its Cluster is not
// known.
func (c *Cluster) ClusterOfAgent(agent string) string {
	if o := c.FleetCluster(agent); o != nil {
		return keyOf(o.Namespace, o.Name)
	}
	return agent
}

// FleetClusters returns the Clusters ("namespace/name") of the BundleDeployments that are deployed to this cluster.
func (c *Cluster) FleetClusters() []string {
	var out []string
	for _, o := range c.fleet.Clusters {
		if s := o.Status.Namespace; s != "" && slices.Contains(c.Watched(), s) {
			out = append(out, keyOf(o.Namespace, o.Name))
		}
	}
	return out
}

// Same reports whether all is as in another Directory that is not about single releases. A cluster with a dispute, or
// with a record that exceeds a limit, is never the same: more than single releases depends on these.
func (c *Cluster) Same(o *Cluster) bool {
	if len(c.Disputes)+len(o.Disputes)+len(c.OverBound)+len(o.OverBound) > 0 {
		return false
	}
	x, y := *c, *o
	x.State, y.State, x.fleet, y.fleet = nil, nil, nil, nil
	return reflect.DeepEqual(x, y) && c.State.Same(o.State)
}

// place places a bundle deployment on the cluster.
func (c *Cluster) place(d *Deployment) {
	d.ClusterID, d.Placed = c.ID, true
	d.implied.namespace = c.State.AgentSecrets[d.Agent]
	if watched := c.Watched(); len(watched) == 1 {
		d.implied.namespace = watched[0]
	}
	d.implied.agent = c.AgentOf(d.DeploymentNamespace())
	if d.Cluster == "" {
		if found := c.FleetClusters(); len(found) == 1 {
			d.implied.cluster = found[0]
		}
	}
	d.AgentVersion = c.State.Workloads[d.implied.agent].Version
	d.RecordsTrusted = c.TrustsRecords(d.Release.Namespace)
}

// StatedNamespaces returns the release namespaces for which a bundle deployment of this cluster states labels or
// annotations.
func (c *Cluster) StatedNamespaces() map[string]bool {
	out := map[string]bool{}
	for _, bd := range c.fleet.BundleDeployments {
		o := &bd.Spec.Options
		if len(o.NamespaceLabels)+len(o.NamespaceAnnotations) > 0 && c.AgentOf(bd.Namespace) != "" {
			out[o.ReleaseNamespace()] = true
		}
	}
	return out
}

// NewBundleScope returns the scope for a bundle that has no deployment on this cluster yet: the stated scope,
// otherwise that of the agents. Evidence is empty if the agents have different scopes, or if there is no evidence.
func (c *Cluster) NewBundleScope() AgentScope {
	if c.stated != nil {
		return statedScope(*c.stated)
	}
	var out AgentScope
	for i, agent := range slices.Sorted(maps.Keys(c.Scopes)) {
		s := c.Scopes[agent]
		if s.Evidence == "" || i > 0 && s.Scope != out.Scope {
			return AgentScope{}
		}
		if i == 0 || out.Proven() {
			out = s // of several agents with the same scope, the weakest evidence counts
		}
	}
	return out
}

// NewBundle returns the deployment of a bundle that the cluster does not have yet.
func NewBundle(c *Cluster, name string) *Deployment {
	scope := c.NewBundleScope()
	d := &Deployment{Name: name, Problem: NoReleaseRecord, Detail: "nothing is installed yet", Scope: scope,
		Ownership: ownership.Desired(fleet.SetID(name, scope.Scope), "", "")}
	c.place(d)
	return d
}

// keyOf is "namespace/name"; empty without a name.
func keyOf(namespace, name string) string {
	if name == "" {
		return ""
	}
	return namespace + "/" + name
}
