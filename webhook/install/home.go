// SPDX-License-Identifier: Apache-2.0

package install

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// The resources by which an installation is found whose configurations do not tell. They are written down, as those are.
var (
	bindingResource    = schema.GroupVersionResource{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "clusterrolebindings"}
	deploymentResource = deploymentKind.GroupVersion().WithResource("deployments")
)

// Home is the namespace that the cluster's installation is in, "" where there is none. Where its configurations do not say it, as they are gone
// or call an address, its ClusterRoleBinding does, whose name leaves room for one, or its Deployment. The error says that it is not known.
func (c *Cluster) Home(ctx context.Context, configurations []Target) (string, error) {
	if ns := Where(configurations); ns != "" {
		return ns, nil
	}
	binding, unread := c.Dynamic.Resource(bindingResource).Get(ctx, Name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(unread):
		unread = nil
	case unread == nil && present(binding):
		if ns := subjectOf(binding); ns != "" {
			return ns, nil
		}
	}
	deployments, err := c.Dynamic.Resource(deploymentResource).List(ctx, metav1.ListOptions{LabelSelector: Selector})
	if err != nil {
		if unread == nil && ctx.Err() == nil && apierrors.IsForbidden(err) { // there is no binding, and every installation has one
			return "", nil
		}
		return "", fmt.Errorf("looking for an installation: %w", errors.Join(unread, err))
	}
	for i := range deployments.Items {
		if d := &deployments.Items[i]; d.GetName() == Name && present(d) {
			return d.GetNamespace(), nil
		}
	}
	return "", nil
}

// present says whether an object is of an installation, and stays.
func present(o *unstructured.Unstructured) bool { return ours(o) && o.GetDeletionTimestamp() == nil }

// subjectOf is the namespace of the webhook's account in a binding, "" where it has none.
func subjectOf(binding *unstructured.Unstructured) string {
	subjects, _, _ := unstructured.NestedSlice(binding.Object, "subjects")
	for _, s := range subjects {
		m, _ := s.(map[string]any)
		if ns, _ := m["namespace"].(string); m["kind"] == "ServiceAccount" && m["name"] == Name && ns != "" {
			return ns
		}
	}
	return ""
}
