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
	"k8s.io/apimachinery/pkg/types"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
)

// Target is an object to delete.
type Target struct {
	object.Ref
	UID types.UID
	// Release is the Helm release ("namespace/name") with which Fleet deployed the object, empty if Fleet did not. Fleet may create the
	// object again.
	Release string

	live *unstructured.Unstructured
}

func targetOf(o *unstructured.Unstructured) Target {
	return Target{Ref: RefOf(o), UID: o.GetUID(), Release: ReleaseOf(o), live: o}
}

// Live returns the objects as they were read.
func Live(targets []Target) []*unstructured.Unstructured {
	var out []*unstructured.Unstructured
	for _, t := range targets {
		out = append(out, t.live)
	}
	return out
}

// ReleaseOf returns the Helm release ("namespace/name") with which Fleet deployed an object, "" if Fleet did not.
func ReleaseOf(o *unstructured.Unstructured) string {
	if o.GetLabels()[fleet.HashLabel] == "" {
		return ""
	}
	a := o.GetAnnotations()
	return a[fleet.ReleaseNamespaceAnnotation] + "/" + a[fleet.ReleaseNameAnnotation]
}

// KeptReason says why an uninstallation does not delete an object.
type KeptReason string

const (
	// KeptNamespace is the reason of the Namespace: others may have objects in it.
	KeptNamespace KeptReason = "Namespace"
	// KeptUnlabelled is the reason of an object without the inventory label.
	KeptUnlabelled KeptReason = "Unlabelled"
	// KeptDeleting is the reason of an object that is being deleted already.
	KeptDeleting KeptReason = "Deleting"
)

// Kept is an object that an uninstallation does not delete.
type Kept struct {
	object.Ref
	Reason KeptReason
}

// Removal has what an uninstallation deletes, in order, and what it keeps.
type Removal struct {
	Targets []Target
	Kept    []Kept
}

// Removal finds the objects of an installation. all are the objects that an installation may consist of, whatever its options. It includes
// the Secrets that cert-manager makes, which do not have the inventory label.
func (c *Cluster) Removal(ctx context.Context, all []*unstructured.Unstructured) (*Removal, error) {
	r, err := c.find(ctx, all)
	if err != nil {
		return nil, err
	}
	for _, d := range all {
		name, _, _ := unstructured.NestedString(d.Object, "spec", "secretName")
		if d.GetKind() != "Certificate" || name == "" {
			continue
		}
		secret, err := c.Get(ctx, object.Ref{APIVersion: "v1", Kind: secretKind.Kind, Namespace: d.GetNamespace(), Name: name})
		if err != nil {
			return nil, err
		}
		if secret == nil || installed(secret) || secret.GetAnnotations()["cert-manager.io/certificate-name"] != d.GetName() {
			continue
		}
		r.Kept = slices.DeleteFunc(r.Kept, func(k Kept) bool { return k.Key() == RefOf(secret).Key() })
		r.Targets = append(r.Targets, targetOf(secret)) // after its Certificate, else cert-manager makes it again
	}
	return r, nil
}

// Stale returns the objects that an installation with other options has left: those of all that are not desired. Never the Namespace.
func (c *Cluster) Stale(ctx context.Context, all, desired []*unstructured.Unstructured) ([]Target, error) {
	r, err := c.find(ctx, all)
	if err != nil {
		return nil, err
	}
	keep := map[object.Key]bool{}
	for _, d := range desired {
		keep[RefOf(d).Key()] = true
	}
	return slices.DeleteFunc(r.Targets, func(t Target) bool { return keep[t.Key()] }), nil
}

func (c *Cluster) find(ctx context.Context, all []*unstructured.Unstructured) (*Removal, error) {
	r := &Removal{}
	seen := map[object.Key]bool{}
	add := func(o *unstructured.Unstructured) {
		ref := RefOf(o)
		if seen[ref.Key()] {
			return
		}
		seen[ref.Key()] = true
		switch _, called := configurations[o.GroupVersionKind()]; {
		case !installed(o):
			r.Kept = append(r.Kept, Kept{ref, KeptUnlabelled})
		case o.GetDeletionTimestamp() != nil:
			r.Kept = append(r.Kept, Kept{ref, KeptDeleting})
		case o.GroupVersionKind() == namespaceKind:
			r.Kept = append(r.Kept, Kept{ref, KeptNamespace})
		case called: // before the Deployment that answers its calls
			r.Targets = slices.Insert(r.Targets, 0, targetOf(o))
		default:
			r.Targets = append(r.Targets, targetOf(o))
		}
	}
	for _, d := range slices.Backward(all) {
		o, err := c.Get(ctx, RefOf(d))
		switch {
		case meta.IsNoMatchError(err): // cert-manager's kinds, without cert-manager
		case err != nil:
			return nil, err
		case o != nil:
			add(o)
		}
	}
	return r, c.findGrants(ctx, all, add)
}

// findGrants finds roles and bindings in all namespaces: it is unknown which namespaces an installation had as --release-namespaces.
func (c *Cluster) findGrants(ctx context.Context, all []*unstructured.Unstructured, add func(*unstructured.Unstructured)) error {
	known := map[string]bool{}
	for _, d := range all {
		known[d.GetKind()+"/"+d.GetName()] = true
	}
	for _, kind := range []string{"RoleBinding", "Role"} {
		gvk := rbacv1.SchemeGroupVersion.WithKind(kind)
		err := c.List(ctx, gvk, metav1.NamespaceAll, metav1.ListOptions{LabelSelector: Selector}, func(o *unstructured.Unstructured) error {
			if known[kind+"/"+o.GetName()] {
				add(o)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// Delete deletes the targets in order and reports each. It skips objects that no longer exist and stops at the first error.
func (c *Cluster) Delete(ctx context.Context, targets []Target, dryRun bool, report func(object.Ref)) error {
	for _, t := range targets {
		if err := c.delete(ctx, t, dryRun, report); err != nil {
			return err
		}
	}
	return nil
}

// Disable deletes webhook configurations. Unlike Delete it tries each of them, whatever errors the others had.
func (c *Cluster) Disable(ctx context.Context, configurations []Target, dryRun bool, report func(object.Ref)) error {
	var all []error
	for _, t := range configurations {
		all = append(all, c.delete(ctx, t, dryRun, report))
	}
	return errors.Join(all...)
}

func (c *Cluster) delete(ctx context.Context, t Target, dryRun bool, report func(object.Ref)) error {
	r, err := c.Resource(t.GroupVersionKind(), t.Namespace)
	if err != nil {
		return err
	}
	background := metav1.DeletePropagationBackground
	err = r.Delete(ctx, t.Name, metav1.DeleteOptions{PropagationPolicy: &background, DryRun: dryRunOf(dryRun), Preconditions: &metav1.Preconditions{UID: &t.UID}})
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case err != nil:
		return fmt.Errorf("deleting %s: %w", t.Key(), err)
	}
	report(t.Ref)
	return nil
}
