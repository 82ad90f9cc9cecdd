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

// Object returns an object with only its identity.
func Object(apiVersion, kind, namespace, name string) *unstructured.Unstructured {
	obj := &unstructured.Unstructured{}
	obj.SetAPIVersion(apiVersion)
	obj.SetKind(kind)
	obj.SetNamespace(namespace)
	obj.SetName(name)
	return obj
}

// Apply creates or changes each object by server-side apply, in order, as this field manager and with force; its
// status, if there is one, through the status subresource. After a CustomResourceDefinition, Apply waits until its
// kind is served. Namespaced objects must state their namespace.
func (c *Cluster) Apply(tb testing.TB, manager string, objs ...client.Object) {
	tb.Helper()
	for _, obj := range objs {
		if err := c.apply(tb.Context(), manager, obj); err != nil {
			tb.Fatalf("applying %s: %v", describe(obj), err)
		}
	}
}

// ApplyYAML applies every object of a stream of YAML or JSON documents, with Lists expanded, as Apply does.
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

// Create creates objects and deletes them at the end of the test, with their finalizers, because no controller and
// no kubelet runs here.
func (c *Cluster) Create(tb testing.TB, objs ...client.Object) {
	tb.Helper()
	for _, obj := range objs {
		if err := c.client.Create(tb.Context(), obj); err != nil {
			tb.Fatalf("creating %s: %v", describe(obj), err)
		}
		kind, err := c.client.GroupVersionKindFor(obj)
		if err != nil {
			tb.Fatal(err)
		}
		// the test may change obj
		created := Object(kind.GroupVersion().String(), kind.Kind, obj.GetNamespace(), obj.GetName())
		tb.Cleanup(func() {
			ctx := context.WithoutCancel(tb.Context())
			unfinished := client.RawPatch(types.MergePatchType, []byte(`{"metadata": {"finalizers": null}}`))
			err := errors.Join(client.IgnoreNotFound(c.client.Delete(ctx, created, client.GracePeriodSeconds(0))),
				client.IgnoreNotFound(c.client.Patch(ctx, created, unfinished)))
			if err != nil {
				tb.Errorf("deleting %s: %v", describe(created), err)
			}
		})
	}
}

// Namespace creates a namespace if it does not exist.
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
	// The client writes the response into its argument; the object of the caller must not change.
	desired := (&unstructured.Unstructured{Object: content}).DeepCopy()
	desired.SetGroupVersionKind(kind)
	unstructured.RemoveNestedField(desired.Object, "metadata", "creationTimestamp") // null in typed objects

	owner := client.FieldOwner(manager)
	if err := c.client.Apply(ctx, client.ApplyConfigurationFromUnstructured(desired.DeepCopy()), owner,
		client.ForceOwnership); err != nil {
		return err
	}
	if status, _, _ := unstructured.NestedMap(desired.Object, "status"); len(status) > 0 {
		err := c.client.Status().Apply(ctx, client.ApplyConfigurationFromUnstructured(desired.DeepCopy()), owner,
			client.ForceOwnership)
		// The object exists, so NotFound means that there is no subresource, and the first request wrote the status.
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

// parser returns a builder for local sources. The decoding must be set before the first source.
func parser() *resource.Builder { return resource.NewLocalBuilder().Unstructured().Flatten() }

// parse returns the objects of a builder, with Lists expanded.
func parse(sources *resource.Builder) ([]*unstructured.Unstructured, error) {
	infos, err := sources.Do().Infos()
	if err != nil {
		return nil, err
	}
	objs := make([]*unstructured.Unstructured, len(infos))
	for i, info := range infos {
		obj, ok := info.Object.(*unstructured.Unstructured)
		if !ok {
			return nil, fmt.Errorf("parsing %s: %T is not a single object", info.Source, info.Object)
		}
		objs[i] = obj
	}
	return objs, nil
}

// describe identifies an object in a message: its kind, or its Go type if the kind is empty, and its key.
func describe(obj client.Object) string {
	kind := obj.GetObjectKind().GroupVersionKind().Kind
	if kind == "" {
		kind = fmt.Sprintf("%T", obj)
	}
	return fmt.Sprintf("%s %s", kind, client.ObjectKeyFromObject(obj))
}
