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

// Cluster has the agents and the Helm release records of one cluster. It does not have the objects that bundles deploy.
// Its Add methods must not be called concurrently.
type Cluster struct {
	// Name is the name that the user gives the cluster; empty if it is the only one.
	Name string
	// Kinds are those that the source can list.
	Kinds *source.Kinds
	// Captured is true if it was read from a snapshot, which may omit all release records.
	Captured bool

	// AgentSecrets maps the namespace of an agent to the namespace of its BundleDeployments, according to the Secret of
	// the agent.
	AgentSecrets map[string]string
	// HiddenAgentSecrets are the namespaces of the agents whose Secret does not show that namespace.
	HiddenAgentSecrets map[string]bool
	// Workloads are the workloads of the agents, by namespace.
	Workloads map[string]Workload
	// Records are the release records of Fleet's releases, and those that could not be decoded.
	Records map[release.Name]*Record
	// Releases are the names ("namespace/name") of all Helm releases, also those that are not Fleet's.
	Releases map[string]bool
	// TrustLabels are the labels of the Namespace that says which records an administrator trusts for the objects of
	// all namespaces. They are only read if a record may need that.
	TrustLabels map[string]string
	// Latest has the highest recorded revision of each release by the same names, without its objects.
	Latest map[string]*Record

	// Coverage reports which of these objects were read. Only an adoption plan needs ConfigMaps.
	Coverage struct{ AgentSecrets, Records, ConfigMaps, TrustLabels source.Coverage }

	budget budget
}

// NamespaceMeta has the labels and annotations of a live Namespace.
type NamespaceMeta struct{ Labels, Annotations map[string]string }

// Namespaced reports whether a kind has namespaces, according to the source or, if the source does not have it, the
// table of built-in kinds.
func (c *Cluster) Namespaced(gvk schema.GroupVersionKind) bool {
	if k, ok := c.Kinds.Preferred(gvk.GroupKind()); ok {
		return k.Namespaced
	}
	return !object.ClusterScoped(gvk.GroupKind())
}

// NotServed reports whether it is known that the cluster does not serve a kind in this version.
func (c *Cluster) NotServed(gvk schema.GroupVersionKind) bool {
	_, why, served := c.Kinds.Lookup(gvk)
	return !served && why.Reason == source.KindNotServed
}

// AddAgentSecret adds the Secret with the namespace of an agent's BundleDeployments, given as JSON. Only the name of
// that namespace is read.
func (c *Cluster) AddAgentSecret(raw []byte) error {
	var s struct {
		object.Meta
		Data map[string][]byte `json:"data"`
	}
	if err := object.Into(raw, &s); err != nil {
		return err
	}
	ns := string(s.Data[fleet.AgentSecretNamespaceKey])
	if len(validation.IsDNS1123Label(ns)) > 0 { // the snapshot masks the value
		put(&c.HiddenAgentSecrets, s.Metadata.Namespace, true)
		return nil
	}
	put(&c.AgentSecrets, s.Metadata.Namespace, ns)
	return nil
}

// AddAgent adds the Deployment or StatefulSet of an agent, given as JSON; others are ignored. If an agent has a
// Deployment and a StatefulSet (before Fleet 0.12), the StatefulSet is a leftover (docs/fleet-behavior.md, 8.2).
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

// AgentWatches returns the namespaces of BundleDeployments that the Secrets of the agents name.
func (c *Cluster) AgentWatches() []string { return slices.Sorted(maps.Values(c.AgentSecrets)) }

// WithoutRecords returns a copy without the release records, so that their memory can be released.
func (c *Cluster) WithoutRecords() *Cluster {
	out := *c
	out.Records, out.budget = nil, budget{}
	return &out
}

// AgentNamespaces returns the namespaces with the Secret or the workload of an agent. Only if there are none, it
// returns those in release records, because any user who may create a Secret can write such a record.
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

// Secrets returns the Secrets in the manifests of the release records, as JSON: their values must not be shown.
func (c *Cluster) Secrets() [][]byte {
	var out [][]byte
	for _, rec := range c.Records {
		for _, o := range slices.Concat(rec.Objects, rec.Secrets) {
			if o.IsSecret() {
				out = append(out, o.Raw)
			}
		}
	}
	return out
}
