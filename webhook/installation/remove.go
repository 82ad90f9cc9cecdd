// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"context"
	"errors"
	"fmt"
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/ptr"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
)

// ReleaseOf returns the Helm release ("namespace/name") with which Fleet deployed an object, "" if Fleet did not or if
// the object is nil.
func ReleaseOf(o *unstructured.Unstructured) string {
	if o == nil || o.GetLabels()[fleet.HashLabel] == "" {
		return ""
	}
	a := o.GetAnnotations()
	return a[fleet.ReleaseNamespaceAnnotation] + "/" + a[fleet.ReleaseNameAnnotation]
}

// Kept is an object that an uninstallation does not delete.
type Kept struct {
	object.Ref
	// Reason is text for people.
	Reason string
}

// Removal lists what an uninstallation deletes, in order, and what it keeps.
type Removal struct {
	Targets []*unstructured.Unstructured
	Kept    []Kept
}

// Removal finds the objects of the installation in a namespace, whatever its options. They include the Secrets that
// cert-manager makes, which do not have the inventory label.
func (c *Cluster) Removal(ctx context.Context, namespace string) (*Removal, error) {
	all, err := renderAll(namespace)
	if err != nil {
		return nil, err
	}
	var refs, secrets []object.Ref
	names := sets.Set[string]{}
	certificates := map[object.Key]string{} // by the Secret that cert-manager makes for them
	for _, d := range slices.Backward(all) {
		refs = append(refs, RefOf(d))
		names.Insert(d.GetKind() + "/" + d.GetName())
		if name, _, _ := unstructured.NestedString(d.Object, "spec", "secretName"); name != "" {
			secret := refTo(secretKind, d.GetNamespace(), name)
			secrets = append(secrets, secret) // after its Certificate, else cert-manager makes it again
			certificates[secret.Key()] = d.GetName()
		}
	}
	r := &Removal{}
	seen := sets.Set[object.Key]{}
	add := func(o *unstructured.Unstructured) {
		ref := RefOf(o)
		certificate, ok := certificates[ref.Key()]
		switch {
		case seen.Has(ref.Key()):
		case !isInstalled(o) && (!ok || o.GetAnnotations()["cert-manager.io/certificate-name"] != certificate):
			r.Kept = append(r.Kept, Kept{ref, "it does not have the label " + Selector})
		case o.GetDeletionTimestamp() != nil:
			r.Kept = append(r.Kept, Kept{ref, "it is being deleted already"})
		case o.GroupVersionKind() == namespaceKind:
			r.Kept = append(r.Kept, Kept{ref, "others may have objects in it. If nobody needs them:\n  kubectl delete namespace " + ref.Name})
		case IsConfiguration(o): // before the Deployment that answers its calls
			r.Targets = slices.Insert(r.Targets, 0, o)
		default:
			r.Targets = append(r.Targets, o)
		}
		seen.Insert(ref.Key())
	}
	for _, ref := range append(refs, secrets...) {
		o, err := c.Get(ctx, ref)
		switch {
		case meta.IsNoMatchError(err): // cert-manager's kinds, without cert-manager
		case err != nil:
			return nil, err
		case o != nil:
			add(o)
		}
	}
	// Grants are in all namespaces: it is unknown which ones an installation had as --release-namespaces.
	for _, kind := range []string{"RoleBinding", "Role"} {
		for o, err := range c.List(ctx, rbacv1.SchemeGroupVersion.WithKind(kind), metav1.NamespaceAll, metav1.ListOptions{LabelSelector: Selector}) {
			switch {
			case err != nil:
				return nil, err
			case names.Has(kind + "/" + o.GetName()):
				add(o)
			}
		}
	}
	return r, nil
}

// Stale returns the objects of the installation in a namespace that are not desired with the present options. Never the
// Namespace.
func (c *Cluster) Stale(ctx context.Context, namespace string, desired []*unstructured.Unstructured) ([]*unstructured.Unstructured, error) {
	r, err := c.Removal(ctx, namespace)
	if err != nil {
		return nil, err
	}
	keep := sets.Set[object.Key]{}
	for _, d := range desired {
		keep.Insert(RefOf(d).Key())
	}
	return slices.DeleteFunc(r.Targets, func(o *unstructured.Unstructured) bool { return !isInstalled(o) || keep.Has(RefOf(o).Key()) }), nil
}

// Delete deletes objects in order, as long as they are the objects that were read. It skips those that no longer exist,
// and stops at the first error.
func (c *Cluster) Delete(ctx context.Context, targets []*unstructured.Unstructured, dryRun DryRun, report Report) error {
	for _, o := range targets {
		ref := RefOf(o)
		if dryRun == DryRunClient {
			report(ref, Deleted)
			continue
		}
		r, err := c.Resource(ref.GroupVersionKind(), ref.Namespace)
		if err != nil {
			return err
		}
		options := metav1.DeleteOptions{PropagationPolicy: ptr.To(metav1.DeletePropagationBackground), DryRun: dryRun.option(),
			Preconditions: metav1.NewUIDPreconditions(string(o.GetUID()))}
		switch err := r.Delete(ctx, ref.Name, options); {
		case apierrors.IsNotFound(err):
		case err != nil:
			return fmt.Errorf("deleting %s: %w", ref.Key(), err)
		default:
			report(ref, Deleted)
		}
	}
	return nil
}

// Disable deletes webhook configurations. Unlike Delete it tries each of them, whatever errors the others had.
func (c *Cluster) Disable(ctx context.Context, configurations []*unstructured.Unstructured, dryRun DryRun, report Report) error {
	var all []error
	for i := range configurations {
		all = append(all, c.Delete(ctx, configurations[i:i+1], dryRun, report))
	}
	return errors.Join(all...)
}
