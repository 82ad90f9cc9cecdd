// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/cli-runtime/pkg/resource"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

// Apply creates or changes each object by server-side apply, in order, as this field manager and by force; its status,
// where it has one, through the status subresource. A CustomResourceDefinition is served when Apply returns.
// Namespaced objects must name their namespace.
func (c *Cluster) Apply(tb testing.TB, manager string, objs ...client.Object) {
	tb.Helper()
	for _, obj := range objs {
		if err := c.apply(tb.Context(), manager, obj); err != nil {
			tb.Fatalf("applying %s: %v", describe(obj), err)
		}
	}
}

// ApplyYAML applies every object of a stream of YAML or JSON documents, Lists flattened, as Apply does.
func (c *Cluster) ApplyYAML(tb testing.TB, manager, documents string) {
	tb.Helper()
	objs, err := parse(parser().Stream(strings.NewReader(documents), "documents"))
	if err != nil {
		tb.Fatalf("parsing documents to apply: %v", err)
	}
	for _, obj := range objs {
		c.Apply(tb, manager, obj)
	}
}

// Create creates objects that go with the test, whatever finalizers they have got: no controller and no kubelet sees to those here.
func (c *Cluster) Create(tb testing.TB, objs ...client.Object) {
	tb.Helper()
	for _, obj := range objs {
		if err := c.client.Create(tb.Context(), obj); err != nil {
			tb.Fatalf("creating %s: %v", describe(obj), err)
		}
		made := &unstructured.Unstructured{} // for the test may read something else into obj
		kind, err := c.client.GroupVersionKindFor(obj)
		if err != nil {
			tb.Fatal(err)
		}
		made.SetGroupVersionKind(kind)
		made.SetNamespace(obj.GetNamespace())
		made.SetName(obj.GetName())
		tb.Cleanup(func() {
			ctx := context.WithoutCancel(tb.Context())
			unfinished := client.RawPatch(types.MergePatchType, []byte(`{"metadata": {"finalizers": null}}`))
			err := errors.Join(client.IgnoreNotFound(c.client.Delete(ctx, made, client.GracePeriodSeconds(0))),
				client.IgnoreNotFound(c.client.Patch(ctx, made, unfinished)))
			if err != nil {
				tb.Errorf("deleting %s: %v", describe(made), err)
			}
		})
	}
}

// Namespace makes sure that a namespace exists.
func (c *Cluster) Namespace(tb testing.TB, name string) {
	tb.Helper()
	namespace := &corev1.Namespace{}
	namespace.Name = name
	if err := c.client.Create(tb.Context(), namespace); err != nil && !apierrors.IsAlreadyExists(err) {
		tb.Fatalf("creating namespace %q: %v", name, err)
	}
}

func (c *Cluster) apply(ctx context.Context, manager string, obj client.Object) error {
	kind, err := c.client.GroupVersionKindFor(obj)
	if err != nil {
		return err
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
	if err != nil {
		return err
	}
	// The client writes the answer into what it was given, and the caller keeps its object as it is.
	desired := (&unstructured.Unstructured{Object: content}).DeepCopy()
	desired.SetGroupVersionKind(kind)
	unstructured.RemoveNestedField(desired.Object, "metadata", "creationTimestamp") // null in typed objects

	owner := client.FieldOwner(manager)
	if err := c.client.Apply(ctx, client.ApplyConfigurationFromUnstructured(desired.DeepCopy()), owner, client.ForceOwnership); err != nil {
		return err
	}
	if status, _, _ := unstructured.NestedMap(desired.Object, "status"); len(status) > 0 {
		err := c.client.Status().Apply(ctx, client.ApplyConfigurationFromUnstructured(desired.DeepCopy()), owner, client.ForceOwnership)
		// The object is there, so what was not found is the subresource, and its status went in with the rest.
		if err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("writing the status: %w", err)
		}
	}
	if kind.GroupKind() == crdKind {
		return c.awaitCRDs(desired)
	}
	return nil
}

var (
	crdKind       = apiextensionsv1.Kind("CustomResourceDefinition")
	namespaceKind = corev1.SchemeGroupVersion.WithKind("Namespace").GroupKind()
)

// awaitCRDs returns when the server serves the kinds that these objects define.
func (c *Cluster) awaitCRDs(objs ...*unstructured.Unstructured) error {
	crds := make([]*apiextensionsv1.CustomResourceDefinition, len(objs))
	for i, obj := range objs {
		crds[i] = &apiextensionsv1.CustomResourceDefinition{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(obj.Object, crds[i]); err != nil {
			return fmt.Errorf("decoding %s: %w", describe(obj), err)
		}
	}
	if err := envtest.WaitForCRDs(c.env.Config, crds, c.env.CRDInstallOptions); err != nil {
		return fmt.Errorf("waiting for kinds to be served: %w", err)
	}
	return nil
}

// parser returns what reads local sources, none yet; the way to decode must be set before the first is added.
func parser() *resource.Builder { return resource.NewLocalBuilder().Unstructured().Flatten() }

// parse returns the objects of the sources of a parser, Lists flattened, as they are written.
func parse(sources *resource.Builder) ([]*unstructured.Unstructured, error) {
	infos, err := sources.Do().Infos()
	if err != nil {
		return nil, err
	}
	objs := make([]*unstructured.Unstructured, len(infos))
	for i, info := range infos {
		obj, ok := info.Object.(*unstructured.Unstructured)
		if !ok {
			return nil, fmt.Errorf("parsing %s: %T is no single object", info.Source, info.Object)
		}
		objs[i] = obj
	}
	return objs, nil
}

// describe names an object for a message: its kind, or its Go type if it does not carry one, and its key.
func describe(obj client.Object) string {
	kind := obj.GetObjectKind().GroupVersionKind().Kind
	if kind == "" {
		kind = fmt.Sprintf("%T", obj)
	}
	return fmt.Sprintf("%s %s", kind, client.ObjectKeyFromObject(obj))
}
