// SPDX-License-Identifier: Apache-2.0

package state

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/release"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
)

// Cluster is what was read of one cluster, except for the objects that bundles deploy: its agents and its Helm release records. Its Add
// methods must not be called concurrently.
type Cluster struct {
	// Kinds are those that the source can list.
	Kinds *source.Kinds
	// Captured says that it was read from a capture, which may have left out all release records.
	Captured bool

	// AgentSecrets maps the namespace of an agent to the namespace of its BundleDeployments, as the Secret of the agent states it.
	AgentSecrets map[string]string
	// HiddenAgentSecrets are the namespaces of the agents whose Secret does not show it.
	HiddenAgentSecrets map[string]bool
	// Workloads are the workloads of the agents, by namespace.
	Workloads map[string]Workload
	// Records are the release records of Fleet's releases, and those that could not be decoded.
	Records map[release.Name]*Record
	// Releases are the names ("namespace/name") of all Helm releases, Fleet's and others'.
	Releases map[string]bool
	// Latest is, by the same names, the highest revision that is recorded of each, without its objects.
	Latest map[string]*Record

	// Coverage says which of these objects were read. Of the ConfigMaps of Helm releases a plan of adoption alone needs to know.
	Coverage struct{ AgentSecrets, Records, ConfigMaps source.Coverage }

	budget budget
}

// Namespaced says whether a kind has namespaces: as the source says, else as it is known of built-in kinds.
func (c *Cluster) Namespaced(gvk schema.GroupVersionKind) bool {
	if k, ok := c.Kinds.Preferred(gvk.GroupKind()); ok {
		return k.Namespaced
	}
	return !object.ClusterScoped(gvk.GroupKind())
}

// AddAgentSecret adds the Secret by which an agent knows its BundleDeployments, given as JSON. Only the name of their namespace is read from
// it.
func (c *Cluster) AddAgentSecret(raw []byte) error {
	var s struct {
		Metadata struct {
			Namespace string `json:"namespace"`
		} `json:"metadata"`
		Data map[string][]byte `json:"data"`
	}
	if err := object.Into(raw, &s); err != nil {
		return err
	}
	ns := string(s.Data[fleet.AgentSecretNamespaceKey])
	if len(validation.IsDNS1123Label(ns)) > 0 { // the capture replaced the value
		put(&c.HiddenAgentSecrets, s.Metadata.Namespace, true)
		return nil
	}
	put(&c.AgentSecrets, s.Metadata.Namespace, ns)
	return nil
}

// AddAgent adds the Deployment or StatefulSet of an agent, given as JSON; others are ignored. The StatefulSet of an agent (before Fleet 0.12)
// beside its Deployment is a leftover, in whatever order they are added (docs/fleet-behavior.md, 8.2).
func (c *Cluster) AddAgent(kind string, raw []byte) error {
	namespace, name, w, err := readWorkload(kind, raw)
	if err != nil || name != fleet.AgentName {
		return err
	}
	if c.Workloads[namespace].Kind != kindDeployment {
		put(&c.Workloads, namespace, w)
	}
	return nil
}

// AddRecord adds a release record.
func (c *Cluster) AddRecord(r *Record) {
	c.AddRelease(r.Name)
	if last := c.Latest[r.Release()]; last == nil || last.Revision < r.Revision {
		put(&c.Latest, r.Release(), r.Identity())
	}
	if r.BundleID != "" || r.Damaged != "" {
		put(&c.Records, r.Name, r)
		c.budget.add(r)
	}
}

// AddRelease adds a release of which only the name is known.
func (c *Cluster) AddRelease(name release.Name) { put(&c.Releases, name.Release(), true) }

// WithoutRecords returns a copy that does not hold on to the manifests of release records.
func (c *Cluster) WithoutRecords() *Cluster {
	out := *c
	out.Records, out.budget = nil, budget{}
	return &out
}

// AgentNamespaces are those in which an agent lives on the cluster, by its Secret or its workload. Only where nothing shows an agent, those
// that release records name: anyone who may create a Secret can write such a record.
func (c *Cluster) AgentNamespaces() map[string]bool {
	out := map[string]bool{}
	maps.Copy(out, c.HiddenAgentSecrets)
	for ns := range c.Workloads {
		out[ns] = true
	}
	for ns := range c.AgentSecrets {
		out[ns] = true
	}
	if len(out) > 0 {
		return out
	}
	for _, r := range c.Records {
		if r.AgentNamespace != "" {
			out[r.AgentNamespace] = true
		}
	}
	return out
}

// Histories returns the revisions of each release ("namespace/name") in ascending order.
func (c *Cluster) Histories() map[string][]*Record {
	out := map[string][]*Record{}
	for n, r := range c.Records {
		out[n.Release()] = append(out[n.Release()], r)
	}
	for _, h := range out {
		slices.SortFunc(h, func(x, y *Record) int { return x.Revision - y.Revision })
	}
	return out
}

func put[K comparable, V any](m *map[K]V, k K, v V) {
	if *m == nil {
		*m = map[K]V{}
	}
	(*m)[k] = v
}
