// SPDX-License-Identifier: Apache-2.0

package collect

import (
	"context"
	"encoding/base64"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/types"

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
	at := k.out.ControllerNamespace
	return err != nil || at == "" || m.Metadata.Namespace == at
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
