// SPDX-License-Identifier: Apache-2.0

package collect

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/desired"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
)

// Accounts sets the ServiceAccounts with which agents deploy bundles. Those that could not be read are no gap: they are
// part of the prediction.
func (r *Reader) Accounts(ctx context.Context, deployments []*desired.BundleDeployment) error {
	var namespaces []string
	for _, d := range deployments {
		if agent := d.AgentNamespace(); agent != "" && !slices.Contains(namespaces, agent) {
			namespaces = append(namespaces, agent)
		}
	}
	if len(namespaces) == 0 {
		return nil
	}
	slices.Sort(namespaces)
	found := map[types.NamespacedName]bool{}
	q := source.Query{Kind: corev1.SchemeGroupVersion.WithKind("ServiceAccount"), Namespaces: namespaces}
	cover, err := r.listMetadata(ctx, q, func(m *object.Meta) {
		found[types.NamespacedName{Namespace: m.Metadata.Namespace, Name: m.Metadata.Name}] = true
	})
	for _, d := range deployments {
		d.Account = desired.AccountOf(&d.Deployment, found, cover)
	}
	return err
}
