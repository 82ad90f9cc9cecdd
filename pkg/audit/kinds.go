// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

// DesiredKinds returns the kinds that the bundles of a source deploy and that the source serves, ordered by group and kind.
func DesiredKinds(ctx context.Context, src source.Source) ([]source.Kind, error) {
	r, err := read(ctx, src, Options{})
	if err == nil {
		err = r.found()
	}
	if err != nil {
		return nil, err
	}
	r.resolve(nil, nil)
	kinds := map[schema.GroupKind]bool{}
	for _, c := range r.desired.Clusters {
		desired := r.desired.On(c).Kinds()
		if f, all := c.State.Coverage.Records.Of(""); !all && len(desired) == 0 {
			return nil, fmt.Errorf("reading release records: %s", f.Reason)
		}
		maps.Copy(kinds, desired)
	}
	var out []source.Kind
	for _, k := range r.Kinds.All() {
		if kinds[k.GroupKind()] {
			out = append(out, k)
			delete(kinds, k.GroupKind()) // one version of it is enough
		}
	}
	return out, nil
}

// WorkspaceNamespaces are the namespaces of what a workspace deploys, sorted: of the BundleDeployments of its
// Clusters, and of their releases. Those that could not be read are missing.
type WorkspaceNamespaces struct{ Clusters, Releases []string }

// NamespacesOf returns the namespaces of what a workspace deploys.
func NamespacesOf(ctx context.Context, src source.Source, workspace string) (WorkspaceNamespaces, error) {
	r, err := readFleet(ctx, src, Options{Scope: evaluate.Scope{Namespace: workspace}})
	if err != nil {
		return WorkspaceNamespaces{}, err
	}
	f := r.fleet
	f.BundleDeployments = slices.DeleteFunc(f.BundleDeployments, func(bd *v1alpha1.BundleDeployment) bool {
		return bd.Labels[fleet.BundleNamespaceLabel] != workspace
	})
	_, releases := f.SecretNamespaces()
	return WorkspaceNamespaces{Clusters: f.InWorkspace(state.BundleDeployment, workspace), Releases: releases}, nil
}
