// SPDX-License-Identifier: Apache-2.0

package install

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
)

// Target is an object to be deleted.
type Target struct {
	object.Ref
	UID types.UID
	// Release is the one of Fleet's that deployed it ("namespace/name"), empty where it was not Fleet. Fleet may bring it back.
	Release string

	live *unstructured.Unstructured
}

// Left is an object that is not deleted, and why.
type Left struct {
	object.Ref
	Why string
}

// Removal is what an installation is to lose, in order, and what is left.
type Removal struct {
	Targets []Target
	Left    []Left
}

func targetOf(o *unstructured.Unstructured) Target {
	return Target{Ref: RefOf(o), UID: o.GetUID(), Release: ReleaseOf(o), live: o}
}

// ReleaseOf returns the release of Fleet's that deployed an object ("namespace/name"), "" where it was not Fleet.
func ReleaseOf(o *unstructured.Unstructured) string {
	if o.GetLabels()[fleet.HashLabel] == "" {
		return ""
	}
	a := o.GetAnnotations()
	return a[fleet.ReleaseNamespaceAnnotation] + "/" + a[fleet.ReleaseNameAnnotation]
}

// Removal finds what carries the label among all that an installation with any options is made of. The namespace is among it only if it is known that
// nobody else lives there.
func (c *Cluster) Removal(ctx context.Context, all []*unstructured.Unstructured) (*Removal, error) {
	removal, err := c.find(ctx, all)
	if err != nil {
		return nil, err
	}
	return removal, c.spare(ctx, removal)
}

func (c *Cluster) find(ctx context.Context, all []*unstructured.Unstructured) (*Removal, error) {
	removal := &Removal{}
	seen := map[object.Key]bool{}
	add := func(o *unstructured.Unstructured) {
		if seen[RefOf(o).Key()] {
			return
		}
		seen[RefOf(o).Key()] = true
		switch {
		case !ours(o):
			removal.Left = append(removal.Left, Left{RefOf(o), "it does not carry the label " + Selector})
		case o.GetDeletionTimestamp() != nil:
			removal.Left = append(removal.Left, Left{RefOf(o), "it is being deleted already"})
		default:
			removal.Targets = append(removal.Targets, targetOf(o))
		}
	}
	for _, d := range all {
		o, err := c.Get(ctx, RefOf(d))
		switch {
		case meta.IsNoMatchError(err): // as cert-manager's are where there is none
		case err != nil:
			return nil, err
		case o != nil:
			add(o)
		}
	}
	if err := c.grants(ctx, all, add); err != nil {
		return nil, err
	}
	slices.SortStableFunc(removal.Targets, func(a, b Target) int { return cmp.Compare(undoRank(a.Kind), undoRank(b.Kind)) })
	return removal, nil
}

// grants finds roles and bindings in namespaces of releases: which these were is not known.
func (c *Cluster) grants(ctx context.Context, all []*unstructured.Unstructured, add func(*unstructured.Unstructured)) error {
	for _, kind := range []string{"Role", "RoleBinding"} {
		gvk := schema.GroupVersionKind{Group: "rbac.authorization.k8s.io", Version: "v1", Kind: kind}
		names := map[string]bool{}
		for _, d := range all {
			if d.GroupVersionKind() == gvk {
				names[d.GetName()] = true
			}
		}
		if len(names) == 0 {
			continue
		}
		err := c.List(ctx, gvk, metav1.NamespaceAll, metav1.ListOptions{LabelSelector: Selector}, func(o *unstructured.Unstructured) error {
			if names[o.GetName()] {
				add(o.DeepCopy())
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// spare leaves a namespace in which somebody else lives, or of which that is not known.
func (c *Cluster) spare(ctx context.Context, r *Removal) error {
	at := slices.IndexFunc(r.Targets, func(t Target) bool { return t.GroupVersionKind() == namespaceKind })
	if at < 0 {
		return nil
	}
	namespace := r.Targets[at]
	why, err := c.inhabited(ctx, namespace.Name, r.Targets)
	if err != nil {
		return err
	}
	if why != "" {
		r.Targets = slices.Delete(r.Targets, at, at+1)
		r.Left = append(r.Left, Left{namespace.Ref, why})
		return nil
	}
	// It goes with all that is in it, and what is left of that is nobody else's: the Secret that cert-manager writes, without the label.
	r.Left = slices.DeleteFunc(r.Left, func(l Left) bool { return l.Namespace == namespace.Name })
	return nil
}

// undoRank orders deletions: first what the API server calls the webhook by, last the namespace.
func undoRank(kind string) int {
	switch kind {
	case mutatingKind.Kind, validatingKind.Kind:
		return 0
	case namespaceKind.Kind:
		return 2
	}
	return 1
}

// Delete deletes the targets in order, and tells of each. What is gone already, or was made anew meanwhile, is passed over.
func (c *Cluster) Delete(ctx context.Context, targets []Target, dryRun bool, tell func(object.Ref)) error {
	for _, t := range targets {
		r, err := c.Resource(t.GroupVersionKind(), t.Namespace)
		if err != nil {
			return err
		}
		if err := remove(ctx, r, t, dryRun, tell); err != nil {
			return err
		}
	}
	return nil
}

func remove(ctx context.Context, r dynamic.ResourceInterface, t Target, dryRun bool, tell func(object.Ref)) error {
	background := metav1.DeletePropagationBackground
	err := r.Delete(ctx, t.Name, metav1.DeleteOptions{PropagationPolicy: &background, DryRun: dryRunOf(dryRun), Preconditions: &metav1.Preconditions{UID: &t.UID}})
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case err != nil:
		return fmt.Errorf("deleting %s: %w", t.Key(), err)
	}
	tell(t.Ref)
	return nil
}

// Configurations returns the webhook configurations that carry the label, whatever their name. It asks for nothing else, and these requests
// pass through no webhook.
func (c *Cluster) Configurations(ctx context.Context) ([]Target, error) {
	var out []Target
	for _, k := range configurations {
		list, err := c.Dynamic.Resource(k.kind.GroupVersion().WithResource(k.resource)).List(ctx, metav1.ListOptions{LabelSelector: Selector})
		if err != nil {
			return nil, fmt.Errorf("listing %s: %w", k.resource, err)
		}
		for i := range list.Items {
			list.Items[i].SetGroupVersionKind(k.kind)
			out = append(out, targetOf(&list.Items[i]))
		}
	}
	return out, nil
}

// Where is the namespace that an installation is in, as its configurations say; "" where they do not.
func Where(configurations []Target) string {
	for _, t := range configurations {
		for _, w := range WebhooksOf(t.live) {
			if ns, _, _ := unstructured.NestedString(w, "clientConfig", "service", "namespace"); ns != "" {
				return ns
			}
		}
	}
	return ""
}

// Disable deletes webhook configurations, as Configurations found them, and nothing else. Each is tried, whatever became of the others.
func (c *Cluster) Disable(ctx context.Context, targets []Target, dryRun bool, tell func(object.Ref)) error {
	var all []error
	for _, t := range targets {
		for _, k := range configurations {
			if t.GroupVersionKind() == k.kind {
				all = append(all, remove(ctx, c.Dynamic.Resource(k.kind.GroupVersion().WithResource(k.resource)), t, dryRun, tell))
			}
		}
	}
	return errors.Join(all...)
}

// Stale is what an installation with other options has left behind: of all that there may be, what is not desired now. The namespace stays.
func (c *Cluster) Stale(ctx context.Context, all, desired []*unstructured.Unstructured) ([]Target, error) {
	removal, err := c.find(ctx, all)
	if err != nil {
		return nil, err
	}
	wanted := map[object.Key]bool{}
	for _, d := range desired {
		wanted[RefOf(d).Key()] = true
	}
	return slices.DeleteFunc(removal.Targets, func(t Target) bool {
		return wanted[t.Key()] || t.GroupVersionKind() == namespaceKind
	}), nil
}
