// SPDX-License-Identifier: Apache-2.0

package query

import (
	"maps"
	"slices"
	"strings"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/desired"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
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

// FindDeleted returns the objects of a kind with a name, ordered by namespace. An empty namespace means all namespaces. That
// of a BundleDeployment may be its workspace. An object that could not be read is found if a BundleDeployment names
// it.
func FindDeleted(desired *desired.DesiredState, kind, namespace, name string) []*Deleted {
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
		for _, o := range k.Of(desired.Fleet) {
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
		if of := owners[d.Bundle]; of != "" {
			key = of
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
func bundleOwners(desired *desired.DesiredState, kind string) map[string]string {
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
