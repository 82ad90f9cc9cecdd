// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// reservedNamespaces belong to the cluster or to Fleet. The API server does not call the webhook for objects in them, except in default.
var reservedNamespaces = []string{"default", "kube-system", "kube-public", "kube-node-lease", "cattle-system", "fleet-system", "fleet-clusters-system", "fleet-default", "fleet-local"}

// AllowedNamespace reports whether a webhook may be installed into a namespace: not into one of the cluster or of Fleet, which also has one
// for each cluster.
func AllowedNamespace(namespace string) bool {
	return !slices.Contains(reservedNamespaces, namespace) && !strings.HasPrefix(namespace, "cattle-fleet-") && !strings.HasPrefix(namespace, "cluster-fleet-")
}

// Configurations returns the webhook configurations with the inventory label, whatever their name. No webhook is called for these requests.
func (c *Cluster) Configurations(ctx context.Context) ([]Target, error) {
	var out []Target
	for _, kind := range []schema.GroupVersionKind{mutatingKind, validatingKind} {
		err := c.List(ctx, kind, metav1.NamespaceAll, metav1.ListOptions{LabelSelector: Selector}, func(o *unstructured.Unstructured) error {
			o.SetGroupVersionKind(kind)
			out = append(out, targetOf(o))
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// FindNamespace returns the namespace of the cluster's installation, "" if there is no installation. The configurations name it, unless they
// are deleted or have a URL. Otherwise the ClusterRoleBinding names it, or the Deployment. After an error the namespace is unknown.
func (c *Cluster) FindNamespace(ctx context.Context, configurations []Target) (string, error) {
	for _, t := range configurations {
		for _, w := range WebhooksOf(t.live) {
			if ns, _, _ := unstructured.NestedString(w, "clientConfig", "service", "namespace"); ns != "" {
				return ns, nil
			}
		}
	}
	binding, unread := c.Dynamic.Resource(bindingResource).Get(ctx, Name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(unread):
		unread = nil
	case unread == nil && installed(binding) && binding.GetDeletionTimestamp() == nil:
		if ns := subjectNamespace(binding); ns != "" {
			return ns, nil
		}
	}
	deployments, err := c.Dynamic.Resource(deploymentResource).List(ctx, metav1.ListOptions{LabelSelector: Selector})
	if err != nil {
		if unread == nil && ctx.Err() == nil && apierrors.IsForbidden(err) { // every installation has a binding, and this cluster has none
			return "", nil
		}
		return "", fmt.Errorf("looking for an installation: %w", errors.Join(unread, err))
	}
	for i := range deployments.Items {
		if d := &deployments.Items[i]; d.GetName() == Name && installed(d) && d.GetDeletionTimestamp() == nil {
			return d.GetNamespace(), nil
		}
	}
	return "", nil
}

// subjectNamespace returns the namespace of the webhook's service account in a binding, "" if the binding does not have it.
func subjectNamespace(binding *unstructured.Unstructured) string {
	subjects, _, _ := unstructured.NestedSlice(binding.Object, "subjects")
	for _, s := range subjects {
		m, _ := s.(map[string]any)
		if ns, _ := m["namespace"].(string); m["kind"] == "ServiceAccount" && m["name"] == Name && ns != "" {
			return ns
		}
	}
	return ""
}
