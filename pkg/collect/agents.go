// SPDX-License-Identifier: Apache-2.0

package collect

import (
	"context"
	"encoding/base64"
	"maps"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/desired"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/directory"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/agentconfig"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/release"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

// maxNamed is the number of kubeconfig Secrets in one namespace that are listed by name. More are found in one list of
// the namespace.
const maxNamed = 8

// notPredicted is the effect of data of agents that could not be read.
const notPredicted = "it is not predicted which agents the controller imports again"

// Agents reads Fleet's Clusters, what decides about their agents, and the agents of this cluster.
func (r *Reader) Agents(ctx context.Context, workspace string) (*state.Fleet, *state.Cluster, []source.Gap, error) {
	i := slices.IndexFunc(state.Kinds, func(k state.Kind) bool { return k.Name == state.ClusterKind })
	f, gaps, err := r.fleet(ctx, workspace, state.Kinds[i:i+1])
	if err != nil {
		return nil, nil, nil, err
	}
	agents, more, err := r.AgentConfig(ctx, f)
	if err != nil {
		return nil, nil, nil, err
	}
	f.Agents = agents
	c, ofCluster, err := r.Cluster(ctx, f, ClusterOptions{NoRecords: true, AgentSecrets: true})
	return f, c, slices.Concat(gaps, more, ofCluster), err
}

// AgentConfig returns f.Agents with the configuration of the controller and the kubeconfig Secrets that the Clusters
// name. It reads nothing on a cluster without Clusters.
func (r *Reader) AgentConfig(ctx context.Context, f *state.Fleet) (state.Agents, []source.Gap, error) {
	out := f.Agents
	if len(f.Clusters) == 0 {
		return out, nil, nil
	}
	named := map[string]map[string]bool{} // the names of Secrets by namespace
	for _, c := range f.Clusters {
		if key := state.KubeConfigKey(c); key.Name != "" {
			if named[key.Namespace] == nil {
				named[key.Namespace] = map[string]bool{}
			}
			named[key.Namespace][key.Name] = true
		}
	}
	k := kubeConfigs{reader: r, out: &out}
	g, lists := errgroup.WithContext(ctx)
	g.SetLimit(maxRequests)
	g.Go(func() error { return k.config(lists, len(named) > 0) })
	for ns, names := range named {
		k.read(lists, g, ns, names)
	}
	err := g.Wait()
	return out, k.gaps, err
}

// kubeConfigs fills a state.Agents.
type kubeConfigs struct {
	reader *Reader
	mu     sync.Mutex // guards out and gaps
	out    *state.Agents
	gaps   []source.Gap
}

// config reads the ConfigMap of the controller. It is a gap only if a Cluster depends on it.
func (k *kubeConfigs) config(ctx context.Context, needed bool) error {
	const what = "reading ConfigMap " + fleet.ControllerName
	q := source.Query{Kind: configMapKind, FieldSelector: "metadata.name=" +
		fleet.ControllerName,
		Fallback: append(slices.Clone(SystemNamespaces), agentconfig.LegacyNamespace)}
	cover, err := k.reader.Source.List(ctx, q, func(o source.Object) error {
		k.mu.Lock()
		defer k.mu.Unlock()
		if k.out.AddControllerConfig(o.Raw) != nil && needed && k.mayCount(o) {
			k.gaps = append(k.gaps, source.NewGap(what, undecodable, notPredicted))
		}
		return nil
	})
	k.mu.Lock()
	defer k.mu.Unlock()
	if failure, _ := cover.Of(""); !cover.Whole() {
		k.out.ConfigFailure = &failure
		if needed && len(k.out.Configs) == 0 {
			k.gaps = append(k.gaps, source.CoverageGaps(what, cover, notPredicted)...)
		}
	}
	return err
}

// mayCount reports whether a ConfigMap fleet-controller may be the one of the controller. A user can make another one
// in any namespace.
func (k *kubeConfigs) mayCount(o source.Object) bool {
	m, err := o.ReadMeta()
	namespace := k.out.ControllerNamespace
	return err != nil || namespace == "" || m.Metadata.Namespace == namespace
}

// read reads the Secrets of one namespace: a few by their names, many in one list of the namespace without release
// records.
func (k *kubeConfigs) read(ctx context.Context, g *errgroup.Group, namespace string, names map[string]bool) {
	if len(names) > maxNamed {
		g.Go(func() error { return k.list(ctx, namespace, names, "type!="+release.SecretType) })
		return
	}
	for name := range names {
		g.Go(func() error {
			return k.list(ctx, namespace, map[string]bool{name: true}, "metadata.name="+name)
		})
	}
}

func (k *kubeConfigs) list(ctx context.Context, namespace string, names map[string]bool, selector string) error {
	found := map[string]agentconfig.KubeConfig{}
	q := source.Query{Kind: secretKind, Namespaces: []string{namespace}, FieldSelector: selector}
	cover, err := k.reader.Source.List(ctx, q, func(o source.Object) error {
		if m, err := o.ReadMeta(); err == nil && names[m.Metadata.Name] {
			found[m.Metadata.Name] = k.kubeConfig(o.Raw)
		}
		return nil
	})
	failure, all := cover.Of(namespace)
	if all && k.reader.Description.Partial() {
		failure, all = source.Failure{Reason: source.NotInSnapshot}, false // a capture may leave such Secrets out
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	for name := range names {
		if _, ok := found[name]; !ok {
			found[name] = agentconfig.KubeConfig{Missing: all}
			if !all {
				found[name] = agentconfig.KubeConfig{Unread: string(failure.Reason)}
			}
		}
		k.out.AddKubeConfig(types.NamespacedName{Namespace: namespace, Name: name}, found[name])
	}
	if !all && failure.Reason != source.NotInSnapshot {
		k.gap(namespace, failure)
	}
	return err
}

// gap adds one gap for all Secrets of a namespace. The caller holds mu.
func (k *kubeConfigs) gap(namespace string, f source.Failure) {
	gap := source.NewGap("reading the kubeconfig Secrets in namespace "+namespace, f, notPredicted)
	if !slices.ContainsFunc(k.gaps, func(g source.Gap) bool { return g.What == gap.What }) {
		k.gaps = append(k.gaps, gap)
	}
}

// kubeConfig returns what is kept of a kubeconfig Secret, and adds its credentials to the values that must not be
// shown. The address and the CA of the API server are not secret.
func (k *kubeConfigs) kubeConfig(raw []byte) agentconfig.KubeConfig {
	var s struct {
		Data map[string][]byte `json:"data"`
	}
	if object.Into(raw, &s) != nil { // a mask need not be base64
		return agentconfig.KubeConfig{Hidden: true}
	}
	out := agentconfig.ReadKubeConfig(s.Data)
	others := map[string]any{}
	for key, v := range s.Data {
		if !slices.Contains([]string{agentconfig.URLKey, agentconfig.CAKey, agentconfig.KubeconfigKey}, key) {
			others[key] = base64.StdEncoding.EncodeToString(v)
		}
	}
	k.reader.Secrets.AddSecret(object.Content{"data": others})
	k.reader.Secrets.AddKubeconfig(s.Data[agentconfig.KubeconfigKey])
	return out
}

// Carriers counts, for each dispute on a cluster that no running agent settles, the live objects that have one of its
// two sets. It lists only the metadata of objects that have a set. c is the state of the cluster.
func (r *Reader) Carriers(ctx context.Context, d *directory.Directory,
	c *state.Cluster) (map[directory.DisputeKey]directory.Carriers, error) {
	out := map[directory.DisputeKey]directory.Carriers{}
	for _, x := range d.Cluster(object.ClusterID(c.Name)).Disputes {
		if x.Used.Proven() {
			continue
		}
		counted, err := r.carriers(ctx, disputed(d, c, x))
		if err != nil {
			return nil, err
		}
		out[x.Key()] = counted
	}
	return out, nil
}

// sets are the hashes of the two sets that a dispute is about.
type sets struct{ used, declared string }

// disputedObjects are the desired objects of a dispute: their namespaces by kind, and the sets that each may have.
type disputedObjects struct {
	namespaces map[schema.GroupVersionKind][]string
	sets       map[object.Key][]sets
}

func disputed(d *directory.Directory, c *state.Cluster, x *directory.Dispute) disputedObjects {
	out := disputedObjects{namespaces: map[schema.GroupVersionKind][]string{}, sets: map[object.Key][]sets{}}
	histories := c.Histories()
	for _, bd := range d.Deployments {
		if !slices.Contains(x.Deployments, bd.ID()) {
			continue
		}
		both := sets{used: bd.Ownership.Hash, declared: fleet.Hash(x.DeclaredSet(bd.Name))}
		for _, o := range desired.Recorded(bd, c, histories[bd.Release.Release()]) {
			gvk, key := o.GroupVersionKind(), o.Key()
			out.namespaces[gvk] = append(out.namespaces[gvk], o.Namespace)
			out.sets[key] = append(out.sets[key], both)
		}
	}
	return out
}

func (r *Reader) carriers(ctx context.Context, objects disputedObjects) (directory.Carriers, error) {
	out := directory.Carriers{Complete: true}
	var mu sync.Mutex // guards out
	count := func(o source.Object) error {
		m, err := o.ReadMeta()
		if err != nil {
			return nil // it counts for neither set
		}
		mu.Lock()
		defer mu.Unlock()
		hash := m.Metadata.Labels[fleet.HashLabel]
		for _, s := range objects.sets[m.Ref().Key()] {
			switch hash {
			case s.used:
				out.Used++
			case s.declared:
				out.Declared++
			}
		}
		return nil
	}
	g, ctx := errgroup.WithContext(ctx)
	for gvk, namespaces := range objects.namespaces {
		if _, _, ok := r.Kinds.Lookup(gvk); !ok {
			continue // such objects are Unknown and cannot be listed
		}
		g.Go(func() error {
			namespaces := distinct(namespaces)
			q := source.Query{Kind: gvk, LabelSelector: fleet.HashLabel, MetadataOnly: true, Fallback: namespaces}
			cover, err := r.Source.List(ctx, q, count)
			mu.Lock()
			defer mu.Unlock()
			for _, ns := range namespaces {
				_, covered := cover.Of(ns)
				out.Complete = out.Complete && covered
			}
			return err
		})
	}
	err := g.Wait()
	return out, err
}

// maxPodNamespaces is the number of namespaces of which pods are read.
const maxPodNamespaces = 20

// Obstacles adds to bundle deployments that are not ready what only other objects show: why pods do not run, and what
// keeps a Namespace from being deleted.
func (r *Reader) Obstacles(ctx context.Context, deployments []*evaluate.BundleDeployment) error {
	var stuck []*evaluate.Object
	namespaces, deletions := map[string]bool{}, map[string]string{}
	for _, d := range deployments {
		if namespace, ok := d.Terminates(); ok {
			why, known := deletions[namespace]
			if !known {
				var err error
				if why, err = r.terminating(ctx, namespace); err != nil {
					return err
				}
				deletions[namespace] = why
			}
			d.Terminating = why
		}
		for i := range d.Objects {
			o := &d.Objects[i]
			hasPods := slices.Contains([]string{"apps", "batch"}, object.Group(o.APIVersion))
			if o.UID != "" && hasPods {
				stuck, namespaces[o.Namespace] = append(stuck, o), true
			}
		}
	}
	if len(stuck) == 0 {
		return nil
	}
	pods, err := r.pods(ctx, slices.Sorted(maps.Keys(namespaces)))
	if err != nil {
		return err
	}
	for _, o := range stuck {
		o.Stuck = pods.Of(o.UID)
	}
	return nil
}

// terminating returns what keeps a Namespace from being deleted, as a sentence; empty if that is not known.
func (r *Reader) terminating(ctx context.Context, name string) (why string, err error) {
	q := source.Query{Kind: namespaceKind, FieldSelector: "metadata.name=" + name}
	_, err = r.list(ctx, q, func(o source.Object) error {
		content, _, err := o.Decode()
		why = evaluate.Deletion(content)
		return err
	})
	return why, err
}

// pods reads the pods of namespaces, the ReplicaSets and the claims. What cannot be read is left out: no result depends
// on it.
func (r *Reader) pods(ctx context.Context, namespaces []string) (*state.Pods, error) {
	out := &state.Pods{}
	namespaces = namespaces[:min(len(namespaces), maxPodNamespaces)]
	for _, read := range []struct {
		kind schema.GroupVersionKind
		add  func([]byte) error
	}{
		{deploymentKind.GroupVersion().WithKind("ReplicaSet"), out.AddSet},
		{claimKind, out.AddClaim},
		{corev1.SchemeGroupVersion.WithKind("Pod"), out.Add},
	} {
		q := source.Query{Kind: read.kind, Namespaces: namespaces}
		_, err := r.list(ctx, q, func(o source.Object) error { return read.add(o.Raw) })
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}
