// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/discovery"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fleetdoctor/kubectl-fleetdoctor/test/cluster"
	"github.com/fleetdoctor/kubectl-fleetdoctor/test/poll"
)

var object = cluster.Object

func configMap(name string) *unstructured.Unstructured { return object("v1", "ConfigMap", apps, name) }

func deployment(name string) *unstructured.Unstructured {
	return object("apps/v1", "Deployment", apps, name)
}

// get reads an object.
func (f *fleetServer) get(obj *unstructured.Unstructured) *unstructured.Unstructured {
	f.t.Helper()
	live := object(obj.GetAPIVersion(), obj.GetKind(), obj.GetNamespace(), obj.GetName())
	if err := f.Client().Get(f.t.Context(), client.ObjectKeyFromObject(live), live); err != nil {
		f.t.Fatalf("reading %s %s: %v", obj.GetKind(), obj.GetName(), err)
	}
	return live
}

// merge changes an object, or one subresource of it, with a JSON merge patch as this field manager.
func (f *fleetServer) merge(manager string, obj *unstructured.Unstructured, patch string, subresource ...string) {
	f.t.Helper()
	raw := client.RawPatch(types.MergePatchType, []byte(patch))
	var err error
	if len(subresource) == 0 {
		err = f.Client().Patch(f.t.Context(), obj.DeepCopy(), raw, client.FieldOwner(manager))
	} else {
		err = f.Client().SubResource(subresource[0]).Patch(f.t.Context(), obj.DeepCopy(), raw,
			client.FieldOwner(manager))
	}
	if err != nil {
		f.t.Fatalf("patching %s %s: %v", obj.GetKind(), obj.GetName(), err)
	}
}

func (f *fleetServer) remove(obj *unstructured.Unstructured) {
	f.t.Helper()
	if err := f.Client().Delete(f.t.Context(), obj); err != nil {
		f.t.Fatalf("deleting %s %s: %v", obj.GetKind(), obj.GetName(), err)
	}
}

// removeFinalizers removes the finalizers of an object, so that it can be deleted.
func (f *fleetServer) removeFinalizers(obj *unstructured.Unstructured) {
	patch := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))
	if err := client.IgnoreNotFound(f.Client().Patch(context.WithoutCancel(f.t.Context()), obj.DeepCopy(),
		patch)); err != nil {
		f.t.Errorf("removing the finalizers of %s %s: %v", obj.GetKind(), obj.GetName(), err)
	}
}

// removeAtEnd deletes a cluster-scoped object when the test ends, if it still exists.
func (f *fleetServer) removeAtEnd(obj *unstructured.Unstructured) {
	ctx := context.WithoutCancel(f.t.Context())
	f.t.Cleanup(func() {
		if err := client.IgnoreNotFound(f.Client().Delete(ctx, obj)); err != nil {
			f.t.Errorf("deleting %s %s: %v", obj.GetKind(), obj.GetName(), err)
		}
	})
}

// define creates a CustomResourceDefinition until the test ends.
func (f *fleetServer) define(crd, name string) {
	f.t.Helper()
	f.ApplyYAML(f.t, "admin", crd)
	ctx := context.WithoutCancel(f.t.Context())
	f.t.Cleanup(func() {
		if err := f.undefine(ctx, name); err != nil {
			f.t.Error(err)
		}
	})
}

// undefine deletes a CustomResourceDefinition, if it exists, and returns when discovery does not list its kind any
// more. Otherwise the next audit would ask for it.
func (f *fleetServer) undefine(ctx context.Context, name string) error {
	crd := object("apiextensions.k8s.io/v1", "CustomResourceDefinition", "", name)
	if err := client.IgnoreNotFound(f.Client().Delete(ctx, crd)); err != nil {
		return fmt.Errorf("deleting kind %s: %w", name, err)
	}
	plural, group, _ := strings.Cut(name, ".")
	err := wait.PollUntilContextTimeout(ctx, poll.Interval, poll.Deadline, true, func(ctx context.Context) (bool,
		error) {
		served, err := f.serves(ctx, group, plural)
		return !served, err
	})
	if err != nil {
		return fmt.Errorf("waiting until kind %s is no longer served: %w", name, err)
	}
	return nil
}

// serves reports whether discovery lists a resource, or its group as broken.
func (f *fleetServer) serves(ctx context.Context, group, plural string) (bool, error) {
	d, err := discovery.NewDiscoveryClientForConfig(f.Config())
	if err != nil {
		return false, err
	}
	_, lists, err := d.ServerGroupsAndResourcesWithContext(ctx)
	if failed, ok := discovery.GroupDiscoveryFailedErrorGroups(err); ok {
		for gv := range failed {
			if gv.Group == group {
				return true, nil
			}
		}
	} else if err != nil {
		return false, err
	}
	for _, l := range lists {
		for _, r := range l.APIResources {
			if r.Name == plural && strings.HasPrefix(l.GroupVersion, group+"/") {
				return true, nil
			}
		}
	}
	return false, nil
}
