// SPDX-License-Identifier: Apache-2.0

package query

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/collect"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/desired"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/directory"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/secret"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

// Deleted is one object that is deleted, with the bundle deployments that are deleted with it.
type Deleted struct {
	Kind            string // one of Fleet's kinds
	Namespace, Name string
	// Bundles are the keys of the Bundles that are deleted.
	Bundles     []string
	Deployments []*desired.BundleDeployment
}

// Key is "namespace/name", or the name of a release alone.
func (t *Deleted) Key() string {
	if t.Namespace == "" {
		return t.Name
	}
	return t.Namespace + "/" + t.Name
}

// FindDeleted returns the objects of a kind with a name, ordered by namespace. An empty namespace means all namespaces.
// That of a BundleDeployment may be its workspace. An object that could not be read is found if a BundleDeployment
// names it.
func FindDeleted(desired *desired.State, kind, namespace, name string) []*Deleted {
	found := map[string]*Deleted{}
	add := func(key string, workspace ...string) *Deleted {
		ns, n, namespaced := strings.Cut(key, "/")
		if !namespaced {
			ns, n = "", key
		}
		if n != name {
			return nil
		}
		if namespace != "" && !slices.Contains(append(workspace, ns), namespace) {
			return nil
		}
		if found[key] == nil {
			found[key] = &Deleted{Kind: kind, Namespace: ns, Name: n}
		}
		return found[key]
	}
	for _, k := range state.Kinds {
		if k.Name != kind || kind == state.BundleDeployment {
			continue
		}
		for _, o := range k.List(desired.Fleet) {
			add(o.GetNamespace() + "/" + o.GetName())
		}
	}
	owners := bundleOwners(desired, kind)
	for _, d := range desired.Deployments {
		key := d.Parents()[kind]
		var workspace []string
		if kind == state.BundleDeployment {
			key, workspace = d.Key(), []string{d.Workspace()}
		}
		if shared := owners[d.Bundle]; shared != "" {
			key = shared
		}
		if t := add(key, workspace...); key != "" && t != nil {
			t.Deployments = append(t.Deployments, d)
			if d.Bundle != "" && kind != state.ClusterKind && kind != state.BundleDeployment {
				t.Bundles = append(t.Bundles, d.Bundle)
			}
		}
	}
	for bundle, owner := range owners {
		if t := found[owner]; t != nil {
			t.Bundles = append(t.Bundles, bundle)
		}
	}
	var out []*Deleted
	for _, key := range slices.Sorted(maps.Keys(found)) {
		t := found[key]
		if kind == state.Bundle {
			t.Bundles = []string{key}
		}
		slices.Sort(t.Bundles)
		t.Bundles = slices.Compact(t.Bundles)
		out = append(out, t)
	}
	return out
}

// bundleOwners returns the GitRepo or HelmOp of each Bundle, according to the labels of the Bundles. Fleet deletes
// Bundles by these labels.
func bundleOwners(desired *desired.State, kind string) map[string]string {
	label := map[string]string{state.GitRepo: fleet.RepoLabel, state.HelmOp: fleet.HelmOpLabel}[kind]
	if label == "" {
		return nil
	}
	out := map[string]string{}
	for _, b := range desired.Bundles {
		if owner := b.Labels[label]; owner != "" {
			out[b.Namespace+"/"+b.Name] = b.Namespace + "/" + owner
		}
	}
	return out
}

// Options of a report.
type Options struct {
	// Namespace is that of the Clusters or Bundles; empty for all.
	Namespace string
	// Selector selects the Clusters of Agents by their labels; nil selects all.
	Selector labels.Selector
	// Version is the version of the program, which is only shown.
	Version string
	// Progress receives the progress; nil if it is not needed.
	Progress func(collect.Progress)
}

// Agents reports the agents of the Clusters in a namespace with some names, NAME or NAMESPACE/NAME; empty means all.
// It returns ErrNoFleet if there is none. For each name that is not found, there is a *evaluate.NotFoundError, beside
// the report of the other ones, which is nil without any.
func Agents(ctx context.Context, src source.Source, o Options, names []string) (*report.Agents, error) {
	r, err := collect.Open(ctx, src, &secret.Values{}, o.Progress)
	if err != nil {
		return nil, err
	}
	f, c, unread, err := r.Agents(ctx, o.Namespace)
	if err != nil {
		return nil, err
	}
	desired := directory.Build(directory.Input{Fleet: f, Clusters: []*state.Cluster{c}})
	cover := f.Coverage[state.ClusterKind]
	failure, all := cover.Of("")
	if !all && len(f.Clusters) > 0 && failure.Reason != source.NotInSnapshot {
		unread = append(unread, source.CoverageGaps("listing Cluster objects", cover, "there may be more Clusters")...)
	}
	out := &report.Agents{Head: report.NewHead(report.KindAgents, o.Version, r.Description, desired),
		Gaps: report.Gaps(slices.Concat(r.Description.Gaps, unread)), Notes: r.Description.Notes}
	switch {
	case len(f.Clusters) > 0:
	case len(r.Description.Gaps) > 0:
		return nil, collect.NothingRead(collect.PlaceText(r.Description), r.Description.Gaps[0])
	case all && len(names) == 0 && o.Namespace == "": // Fleet is installed, and manages no cluster
		out.Complete()
		return out, nil
	case !all && failure.Reason != source.KindNotServed && failure.Reason != source.NotInSnapshot:
		return nil, fmt.Errorf("%w: listing Clusters: %s: %s", collect.ErrNothingRead, failure.Reason, failure.Detail)
	default:
		return nil, fmt.Errorf("%w: there are no Clusters; they are on the management cluster", collect.ErrNoFleet)
	}
	found := map[string]bool{}
	for _, a := range evaluate.Agents(desired, r.Description) {
		name, key := a.Cluster.Name, a.Cluster.Namespace+"/"+a.Cluster.Name
		named := len(names) == 0 || slices.Contains(names, name) || slices.Contains(names, key)
		if !named || o.Namespace != "" && o.Namespace != a.Cluster.Namespace {
			continue
		}
		found[name], found[key] = true, true
		if o.Selector == nil || o.Selector.Matches(labels.Set(a.Cluster.Labels)) {
			out.Add(a)
		}
	}
	var missing []error
	for _, name := range names {
		if !found[name] {
			target := evaluate.Target{Kind: evaluate.TargetCluster, Name: name}
			missing = append(missing, collect.OrUnread(evaluate.NotFound(desired, target, o.Namespace), r.Description))
		}
	}
	switch {
	case len(out.Agents) > 0:
	case len(missing) > 0:
		return nil, evaluate.Join(missing)
	case o.Selector != nil:
		return nil, collect.OrUnread(fmt.Errorf("no Cluster has the labels %q", o.Selector), r.Description)
	default:
		return nil, collect.OrUnread(fmt.Errorf("namespace %s has no Clusters", o.Namespace), r.Description)
	}
	out.Complete()
	return out, evaluate.Join(missing)
}

// Versions reads the versions of Kubernetes, and of Fleet's controller and agents.
func Versions(ctx context.Context, src source.Source, o Options) (report.Source, []report.Gap, error) {
	r, err := collect.Open(ctx, src, &secret.Values{}, o.Progress)
	if err != nil {
		return report.Source{}, nil, err
	}
	f, c, gaps, err := r.Versions(ctx)
	if err != nil {
		return report.Source{}, nil, err
	}
	found := directory.Build(directory.Input{Fleet: f, Clusters: []*state.Cluster{c}})
	return report.NewSource(r.Description, found), report.Gaps(append(gaps, r.Description.Gaps...)), nil
}
