// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/discovery"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// RemoveNamespace deletes a namespace, if it exists, with all its objects. No controller does that here: a
// namespace that is only deleted stays and accepts no more objects.
func (c *Cluster) RemoveNamespace(ctx context.Context, name string) error {
	namespace := &corev1.Namespace{}
	namespace.Name = name
	// Deleted before its objects, so that no new objects are accepted.
	if err := c.client.Delete(ctx, namespace); err != nil {
		return client.IgnoreNotFound(err)
	}
	d, err := discovery.NewDiscoveryClientForConfig(c.env.Config)
	if err != nil {
		return err
	}
	kinds, err := d.ServerPreferredNamespacedResources()
	if err != nil {
		return fmt.Errorf("listing kinds: %w", err)
	}
	for _, list := range kinds {
		for _, r := range list.APIResources {
			if !slices.Contains(r.Verbs, "deletecollection") {
				continue
			}
			kind := &unstructured.Unstructured{Object: map[string]any{"apiVersion": list.GroupVersion, "kind": r.Kind}}
			err := c.client.DeleteAllOf(ctx, kind, client.InNamespace(name))
			// a kind that was deleted meanwhile
			if err != nil && !apierrors.IsNotFound(err) && !meta.IsNoMatchError(err) {
				return fmt.Errorf("deleting the %[2]s of namespace %[1]s: %[3]w", name, r.Name, err)
			}
		}
	}
	if err := c.client.Get(ctx, client.ObjectKeyFromObject(namespace), namespace); err != nil {
		return client.IgnoreNotFound(err)
	}
	namespace.Spec.Finalizers = nil
	if err := client.IgnoreNotFound(c.client.SubResource("finalize").Update(ctx, namespace)); err != nil {
		return fmt.Errorf("removing namespace %s: %w", name, err)
	}
	return nil
}

// RemoveNamespacesAfter removes namespaces at the end of the test.
func (c *Cluster) RemoveNamespacesAfter(tb testing.TB, names ...string) {
	tb.Helper()
	tb.Cleanup(func() {
		for _, name := range names {
			if err := c.RemoveNamespace(context.WithoutCancel(tb.Context()), name); err != nil {
				tb.Error(err)
			}
		}
	})
}
