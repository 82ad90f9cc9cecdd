// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// reservedNamespaces belong to the cluster or to Fleet. The API server does not call the webhook for objects in them,
// except in default.
var reservedNamespaces = []string{"default", "kube-system", "kube-public", "kube-node-lease", "cattle-system", "fleet-system", "fleet-clusters-system", "fleet-default", "fleet-local"}

// AllowedNamespace reports whether a webhook may be installed into a namespace: not into one of the cluster or of
// Fleet, which also has one for each cluster.
func AllowedNamespace(namespace string) bool {
	return !slices.Contains(reservedNamespaces, namespace) && !strings.HasPrefix(namespace, "cattle-fleet-") && !strings.HasPrefix(namespace, "cluster-fleet-")
}

// Configurations returns the webhook configurations with the inventory label, whatever their name. No webhook is called
// for these requests.
func (c *Cluster) Configurations(ctx context.Context) ([]*unstructured.Unstructured, error) {
	var out []*unstructured.Unstructured
	for _, kind := range []schema.GroupVersionKind{mutatingKind, validatingKind} {
		for o, err := range c.List(ctx, kind, metav1.NamespaceAll, metav1.ListOptions{LabelSelector: Selector}) {
			if err != nil {
				return nil, err
			}
			out = append(out, o)
		}
	}
	return out, nil
}

// Namespace returns the namespace of the cluster's installation, "" if there is no installation. After an error it is
// unknown.
func (c *Cluster) Namespace(ctx context.Context) (string, error) {
	configurations, err := c.Configurations(ctx)
	if err != nil {
		return "", err
	}
	return c.NamespaceOf(ctx, configurations)
}

// NamespaceOf returns the namespace of the installation that has the configurations. Their webhooks name it, unless
// they have a URL. Without configurations, the ClusterRoleBinding names it, or the Deployment.
func (c *Cluster) NamespaceOf(ctx context.Context, configurations []*unstructured.Unstructured) (string, error) {
	for _, o := range configurations {
		for _, w := range webhooksOf(o) {
			if s := w.ClientConfig.Service; s != nil {
				return s.Namespace, nil
			}
		}
	}
	binding, unread := c.Get(ctx, refTo(bindingKind, "", Name))
	if binding != nil && isInstalled(binding) && binding.GetDeletionTimestamp() == nil {
		for _, s := range decode[rbacv1.ClusterRoleBinding](binding).Subjects {
			if s.Kind == rbacv1.ServiceAccountKind && s.Name == Name && s.Namespace != "" {
				return s.Namespace, nil
			}
		}
	}
	for d, err := range c.List(ctx, deploymentKind, metav1.NamespaceAll, metav1.ListOptions{LabelSelector: Selector}) {
		switch {
		case apierrors.IsForbidden(err) && unread == nil && ctx.Err() == nil: // every installation has a binding, and this cluster has none
			return "", nil
		case err != nil:
			return "", fmt.Errorf("looking for an installation: %w", errors.Join(unread, err))
		case d.GetName() == Name && isInstalled(d) && d.GetDeletionTimestamp() == nil:
			return d.GetNamespace(), nil
		}
	}
	return "", nil
}
