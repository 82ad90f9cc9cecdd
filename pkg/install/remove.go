// SPDX-License-Identifier: Apache-2.0

package install

import (
	"context"
	"errors"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
)

// Objects returns the objects of an installation that exist, in all namespaces, in the order in which they are removed.
// The Namespace is not one of them: others may have objects in it.
func (c *Cluster) Objects(ctx context.Context, of Chart) ([]*unstructured.Unstructured, error) {
	var out []*unstructured.Unstructured
	for _, kind := range of.Kinds {
		for o, err := range c.List(ctx, kind, metav1.NamespaceAll, metav1.ListOptions{LabelSelector: of.Selector()}) {
			switch {
			case meta.IsNoMatchError(err): // a kind of an optional component, such as cert-manager
			case err != nil:
				return nil, err
			case slices.Contains(of.Names, o.GetName()) && o.GetDeletionTimestamp() == nil:
				out = append(out, o)
			}
		}
	}
	return out, nil
}

// Report is called for each object that was deleted.
type Report func(object.Ref)

// Delete deletes objects in order, as long as they are the objects that were read. It skips those that no longer exist,
// and tries each of them, whatever errors the others had. A dry run is one of the server, and deletes nothing.
func (c *Cluster) Delete(ctx context.Context, targets []*unstructured.Unstructured, dryRun bool, report Report) error {
	var all []error
	for _, o := range targets {
		err := c.delete(ctx, o, dryRun)
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

func (c *Cluster) delete(ctx context.Context, o *unstructured.Unstructured, dryRun bool) error {
	r, err := c.Resource(o.GroupVersionKind(), o.GetNamespace())
	if err != nil {
		return err
	}
	options := metav1.DeleteOptions{PropagationPolicy: ptr.To(metav1.DeletePropagationBackground),
		Preconditions: metav1.NewUIDPreconditions(string(o.GetUID()))}
	if dryRun {
		options.DryRun = []string{metav1.DryRunAll}
	}
	return r.Delete(ctx, o.GetName(), options)
}
