// SPDX-License-Identifier: Apache-2.0

package install

import (
	"context"
	"errors"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
)

// Objects returns the objects of the installation in a namespace that exist, in the order in which they are removed.
// The Namespace is not one of them: others may have objects in it.
func (c *Cluster) Objects(ctx context.Context, chart Chart, namespace string) ([]*unstructured.Unstructured, error) {
	var out []*unstructured.Unstructured
	for _, kind := range chart.Kinds {
		searched := namespace
		if kind == RoleBindingKind { // a binding is in the namespace to which it gives access
			searched = metav1.NamespaceAll
		}
		for o, err := range c.List(ctx, kind, searched, metav1.ListOptions{LabelSelector: chart.Selector()}) {
			switch {
			case apierrors.IsNotFound(err): // a kind of an optional component, such as cert-manager
			case err != nil:
				return nil, err
			case chart.has(o, namespace) && o.GetDeletionTimestamp() == nil:
				out = append(out, o)
			}
		}
	}
	return out, nil
}

// has reports whether an object with the inventory label belongs to the installation in a namespace. Objects of other
// scope name the namespace, except for ClusterRoles that no Helm release made.
func (c Chart) has(o *unstructured.Unstructured, namespace string) bool {
	if !slices.Contains(c.Names, o.GetName()) {
		return false
	}
	named := c.namespacesIn(o)
	isUnnamed := o.GetNamespace() == "" && len(named) == 0
	return o.GetNamespace() == namespace || isUnnamed || slices.Contains(named, namespace)
}

// Delete deletes objects in order, as long as they are the objects that were read, and calls report for each. It skips
// those that no longer exist, and tries each of them, whatever errors the others had. A dry run is one of the server,
// and deletes nothing.
func (c *Cluster) Delete(ctx context.Context, targets []*unstructured.Unstructured, dryRun bool,
	report func(object.Ref),
) error {
	var all []error
	for _, o := range targets {
		options := metav1.DeleteOptions{PropagationPolicy: ptr.To(metav1.DeletePropagationBackground),
			Preconditions: metav1.NewUIDPreconditions(string(o.GetUID()))}
		if dryRun {
			options.DryRun = []string{metav1.DryRunAll}
		}
		err := c.Resource(o.GroupVersionKind(), o.GetNamespace()).Delete(ctx, o.GetName(), options)
		switch {
		case apierrors.IsNotFound(err):
		case err != nil:
			all = append(all, fmt.Errorf("deleting %s: %w", RefOf(o).Key(), err))
		default:
			report(RefOf(o))
		}
	}
	return errors.Join(all...)
}

// DeleteOutdated deletes the webhook configurations with more webhooks than the chart now has. Another field manager
// owns their caBundle, so Helm would leave incomplete webhooks.
func (c *Cluster) DeleteOutdated(ctx context.Context, before, desired []*unstructured.Unstructured) error {
	webhooks := func(o *unstructured.Unstructured) int {
		list, _, _ := unstructured.NestedSlice(o.Object, "webhooks")
		return len(list)
	}
	var outdated []*unstructured.Unstructured
	for _, old := range before {
		for _, next := range desired {
			isSame := RefOf(old).Key() == RefOf(next).Key()
			if !isSame || webhooks(old) <= webhooks(next) {
				continue
			}
			live, err := c.Get(ctx, old.GroupVersionKind(), "", old.GetName())
			if err != nil {
				return err
			}
			if live != nil {
				outdated = append(outdated, live)
			}
		}
	}
	return c.Delete(ctx, outdated, false, func(object.Ref) {})
}
