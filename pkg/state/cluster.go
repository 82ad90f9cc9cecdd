// SPDX-License-Identifier: Apache-2.0

package state

import (
	"cmp"
	"errors"
	"iter"
	"maps"
	"reflect"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/agentconfig"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/ownership"
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
	// Others are the records of releases that are not Fleet's, in brief.
	Others map[release.Name]*Record
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
	if !r.Brief {
		r.count()
	}
	c.AddRelease(r.Name)
	if last := c.Latest[r.Release()]; last == nil || last.Revision < r.Revision {
		put(&c.Latest, r.Release(), r.Identity())
	}
	if r.BundleID == "" && r.Damaged == "" {
		put(&c.Others, r.Name, r.InBrief())
		return
	}
	put(&c.Records, r.Name, r)
	c.budget.add(r)
}

// Same reports whether all but the release records is as in an earlier state.
func (c *Cluster) Same(o *Cluster) bool {
	x, y := *c.WithoutRecords(), *o.WithoutRecords()
	x.Latest, y.Latest = nil, nil
	return reflect.DeepEqual(x, y)
}

// InBrief returns all release records in brief.
func (c *Cluster) InBrief() map[release.Name]*Record {
	out := maps.Clone(c.Others)
	for n, r := range c.Records {
		put(&out, n, r.InBrief())
	}
	return out
}

// Changed returns the releases ("namespace/name") of which a record is not the same as before.
func (c *Cluster) Changed(before map[release.Name]*Record) map[string]bool {
	out := map[string]bool{}
	now := c.InBrief()
	for n, r := range now {
		if old := before[n]; old == nil || r.Version == "" || r.Version != old.Version {
			out[n.Release()] = true
		}
	}
	for n := range before {
		if now[n] == nil {
			out[n.Release()] = true
		}
	}
	return out
}

// Complete replaces a record in brief by the same one with its objects.
func (c *Cluster) Complete(r *Record) {
	r.count()
	c.Records[r.Name] = r
}

// AddRelease adds a release of which only the name is known.
func (c *Cluster) AddRelease(name release.Name) { put(&c.Releases, name.Release(), true) }

// AgentWatches returns the namespaces of BundleDeployments that the Secrets of the agents name.
func (c *Cluster) AgentWatches() []string { return slices.Sorted(maps.Values(c.AgentSecrets)) }

// WithoutRecords returns a copy without the release records, so that their memory can be released.
func (c *Cluster) WithoutRecords() *Cluster {
	out := *c
	out.Records, out.Others, out.budget = nil, nil, budget{}
	return &out
}

// AgentNamespaces returns the namespaces with the Secret or the workload of an agent. Only if there are none, it
// returns those in release records, because any user who may create a Secret can write such a record.
func (c *Cluster) AgentNamespaces() map[string]bool {
	out := map[string]bool{}
	maps.Copy(out, c.HiddenAgentSecrets)
	insert(out, maps.Keys(c.Workloads))
	insert(out, maps.Keys(c.AgentSecrets))
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

// insert adds keys to a set.
func insert[K comparable](set map[K]bool, keys iter.Seq[K]) {
	for k := range keys {
		set[k] = true
	}
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

// ClusterNamespace is a namespace that Fleet made for the BundleDeployments of a Cluster, and that is not being
// deleted.
type ClusterNamespace struct {
	// Workspace and Cluster are the namespace and the name of the Cluster.
	Workspace, Cluster string
	// Created is zero if it is not known.
	Created time.Time
}

// Agents is what the controller uses to import the agents of Clusters.
type Agents struct {
	// ControllerNamespace is the namespace of fleet-controller; empty if it is not known.
	ControllerNamespace string
	// Configs are the ConfigMaps fleet-controller by namespace. ConfigFailure is the reason if not all of them were
	// read.
	Configs       map[string]ControllerConfig
	ConfigFailure *source.Failure
	// KubeConfigs are the kubeconfig Secrets that Clusters name.
	KubeConfigs map[types.NamespacedName]agentconfig.KubeConfig
}

// ControllerConfig is a ConfigMap fleet-controller. Its configuration is nil if it could not be decoded.
type ControllerConfig struct {
	*agentconfig.Config
	// Version is the annotation with the version for which it was written.
	Version string
}

// AddControllerConfig adds a ConfigMap fleet-controller, given as JSON.
func (a *Agents) AddControllerConfig(raw []byte) error {
	var m struct {
		object.Meta
		Data map[string]string `json:"data"`
	}
	if err := object.Into(raw, &m); err != nil {
		return err
	}
	c, err := agentconfig.ReadConfig(m.Data[agentconfig.ConfigKey])
	version := m.Metadata.Annotations[agentconfig.VersionAnnotation]
	put(&a.Configs, m.Metadata.Namespace, ControllerConfig{Config: c, Version: version})
	return err
}

// AddKubeConfig adds what is kept of a kubeconfig Secret.
func (a *Agents) AddKubeConfig(key types.NamespacedName, k agentconfig.KubeConfig) {
	put(&a.KubeConfigs, key, k)
}

// Config returns the configuration of the controller. If it is not known, the reason is not empty.
func (a *Agents) Config() (c ControllerConfig, unread string) {
	c, ok := a.Configs[a.ControllerNamespace]
	only := len(a.Configs) == 1 && a.ConfigFailure == nil
	if !ok && a.ControllerNamespace == "" && only {
		for _, c = range a.Configs {
			ok = true
		}
	}
	switch {
	case !ok && len(a.Configs) > 1:
		return c, "there are several ConfigMaps fleet-controller"
	case ok && c.Config == nil:
		return c, "it could not be decoded"
	case ok:
		return c, ""
	case a.ConfigFailure != nil:
		return c, string(a.ConfigFailure.Reason)
	}
	return c, "there is no ConfigMap fleet-controller"
}

// KubeConfigKey identifies the kubeconfig Secret of a Cluster. It has no name if the Cluster names none.
func KubeConfigKey(c *v1alpha1.Cluster) types.NamespacedName {
	return types.NamespacedName{Namespace: agentconfig.SecretNamespace(c), Name: c.Spec.KubeConfigSecret}
}

// maxKept limits the total size, in bytes, of the release records in memory.
const maxKept = 512 << 20

var errKept = errors.New("the release records exceed 512 MiB in total, " +
	"and this is one of those with the highest ratio of unpacked to stored size")

// budget limits the memory of the release records. Beyond the limit, it drops the objects of the records with the
// highest ratio of unpacked to stored size: a record that was made to fill memory has a ratio of a thousand, one of
// Helm has ten. The choice does not depend on the order of the records.
type budget struct {
	limit int // 0 stands for maxKept
	kept  int
	// order has the records that keep their objects, the densest last. worst is the least dense record that lost them.
	order []*Record
	worst *Record
}

// size returns the approximate size of the record in memory, in bytes.
func (r *Record) size() int {
	if r.Brief {
		return r.kept
	}
	const perObject, perHook = 256, 64
	n := 0
	for _, o := range slices.Concat(r.Objects, r.Secrets) {
		n += perObject + len(o.Raw)
	}
	for _, h := range r.Hooks {
		n += perHook + len(h.Kind) + len(h.Name)
	}
	return n
}

// byDensity orders records by the ratio of unpacked to stored size, then by name.
func byDensity(a, b *Record) int {
	return cmp.Or(cmp.Compare(a.kept*max(b.packed, 1), b.kept*max(a.packed, 1)), cmp.Compare(a.String(), b.String()))
}

// add counts a record.
func (b *budget) add(r *Record) {
	r.kept = r.size()
	if r.kept == 0 {
		return
	}
	if b.worst != nil && byDensity(r, b.worst) > 0 {
		r.OverBudget(errKept)
		return
	}
	index, _ := slices.BinarySearchFunc(b.order, r, byDensity)
	b.order = slices.Insert(b.order, index, r)
	b.kept += r.kept
	for b.kept > cmp.Or(b.limit, maxKept) {
		last := len(b.order) - 1
		b.worst = b.order[last]
		b.order = slices.Delete(b.order, last, last+1)
		b.kept -= b.worst.kept
		b.worst.OverBudget(errKept)
	}
}

// OverBudget makes the record one whose manifest may not be read, because too much would be read together with it. It
// removes its objects and hooks.
func (r *Record) OverBudget(why error) {
	r.Objects, r.Secrets, r.Hooks, r.ManifestError, r.OverBound = nil, nil, nil, why, why.Error()
	r.count()
}

// Record is a Helm release record. For a release that is not Fleet's, only the identity is read.
type Record struct {
	release.Record
	// Objects are those of the manifest, with their JSON; nil if the manifest was not needed or could not be read.
	Objects []release.Object
	// Secrets are the Secrets of the manifest that are not among Objects.
	Secrets []release.Object
	// Skipped is true if the manifest was not read because it was not needed.
	Skipped bool
	// ManifestError is the reason why the manifest could not be read.
	ManifestError error
	// Damaged is the reason why the record could not be decoded; then only its name is known.
	Damaged string
	// OverBound is the limit that the record or its manifest exceeds, as a sentence. The release itself is valid, but
	// it is not read.
	OverBound string
	// Dense is the cost of the record in bytes if that is much more than its stored size; otherwise 0. A Work did not
	// read the manifest of such a record.
	Dense int
	// Ownership is the ownership metadata of the first object in the manifest that has any.
	Ownership ownership.Metadata
	// Version is the resourceVersion of its Secret.
	Version string
	// Brief is true if its Objects and Secrets were left out, because the same version was read before.
	Brief bool
	// packed is the size of the record in the cluster, kept about its size in memory, in bytes. objects is the number
	// of its objects.
	packed, kept, objects int
}

// count sets what is kept of the objects when these are left out.
func (r *Record) count() {
	r.objects, r.Ownership = len(r.Objects), ownership.Metadata{}
	for _, o := range r.Objects {
		m, err := object.ReadMeta(o.Raw)
		if err != nil {
			continue
		}
		if stated := ownership.MetadataOf(m.Metadata.Labels, m.Metadata.Annotations); stated.Hash != "" {
			r.Ownership = stated
			return
		}
	}
}

// InBrief returns a copy of the record without the objects, for a reader who knows them.
func (r *Record) InBrief() *Record {
	out := *r
	out.Objects, out.Secrets, out.Brief = nil, nil, true
	return &out
}

// Identity returns a copy of the record without its objects and hooks.
func (r *Record) Identity() *Record {
	out := &Record{Record: r.Record, Damaged: r.Damaged, OverBound: r.OverBound}
	out.Hooks = nil
	return out
}

// Unreadable makes the record one that could not be read, for the reasons that were found before its values were
// masked. A manifest that is not needed need not be readable.
func (r *Record) Unreadable(damaged, manifest, limit string) {
	switch {
	case damaged != "":
		*r = Record{Record: release.Record{Name: r.Name}, Damaged: damaged, OverBound: limit, packed: r.packed}
	case manifest != "" && !r.Skipped:
		r.Objects, r.Secrets, r.ManifestError, r.OverBound = nil, nil, errors.New(manifest), limit
	}
}
