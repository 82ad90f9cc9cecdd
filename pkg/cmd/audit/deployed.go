// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/audit"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

// deployedKinds returns the kinds that the bundles of a source deploy and that the source serves, ordered by group and kind.
func deployedKinds(ctx context.Context, src source.Source) ([]source.Kind, error) {
	r, err := audit.Read(ctx, src, audit.Options{})
	if err == nil {
		err = r.Found()
	}
	if err != nil {
		return nil, err
	}
	r.Resolve(nil, nil)
	kinds := map[schema.GroupKind]bool{}
	for _, c := range r.Desired.Clusters {
		desired := r.Desired.On(c.ID).Kinds()
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

// deployedWorkspace are the namespaces of what a workspace deploys, sorted: of the BundleDeployments of its
// Clusters, and of their releases. Those that could not be read are missing.
type deployedWorkspace struct{ Clusters, Releases []string }

// deployedNamespaces returns the namespaces of what a workspace deploys.
func deployedNamespaces(ctx context.Context, src source.Source, workspace string) (deployedWorkspace, error) {
	r, err := audit.ReadFleet(ctx, src, audit.Options{Scope: evaluate.Scope{Namespace: workspace}})
	if err != nil {
		return deployedWorkspace{}, err
	}
	f := r.Management
	f.BundleDeployments = slices.DeleteFunc(f.BundleDeployments, func(bd *v1alpha1.BundleDeployment) bool {
		return bd.Labels[fleet.BundleNamespaceLabel] != workspace
	})
	_, releases := f.SecretNamespaces()
	return deployedWorkspace{Clusters: f.InWorkspace(state.BundleDeployment, workspace), Releases: releases}, nil
}
