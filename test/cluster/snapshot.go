// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/resource"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// SnapshotManager is the field manager of objects that LoadSnapshot creates.
const SnapshotManager = "snapshot"

// notLoaded are the kinds of a snapshot that a server without nodes and controllers cannot use.
var notLoaded = map[schema.GroupKind]bool{
	{Kind: "Event"}: true,
	{Kind: "Pod"}:   true, // needs a service account and a node
	{Group: "apiregistration.k8s.io", Kind: "APIService"}: true, // would break discovery
	{Group: "coordination.k8s.io", Kind: "Lease"}:         true,
	{Group: "events.k8s.io", Kind: "Event"}:               true,
}

// rank is the order in which kinds are created; 2 by default. Quotas, webhooks and policies come last, because
// they could refuse other objects or delay them.
var rank = map[schema.GroupKind]int{
	crdKind:                 0,
	namespaceKind:           1,
	{Kind: "LimitRange"}:    3,
	{Kind: "ResourceQuota"}: 3,
	{Group: "admissionregistration.k8s.io", Kind: "MutatingAdmissionPolicyBinding"}:   4,
	{Group: "admissionregistration.k8s.io", Kind: "MutatingWebhookConfiguration"}:     4,
	{Group: "admissionregistration.k8s.io", Kind: "ValidatingAdmissionPolicyBinding"}: 4,
	{Group: "admissionregistration.k8s.io", Kind: "ValidatingWebhookConfiguration"}:   4,
}

// LoadSnapshot creates the objects of a captured cluster, with their status, from the YAML and JSON files in dir.
// Existing objects are not changed. Pods, events, leases and API services are skipped, and kinds that the server does
// not serve are skipped with a line in the test's log. Fields that only the server or a controller can write (uid,
// resourceVersion, managedFields, times, owner references, cluster IPs) are removed. Secrets with values keep their
// owners.
func (c *Cluster) LoadSnapshot(tb testing.TB, dir string) {
	tb.Helper()
	objs, err := parse(parser().
		FilenameParam(false, &resource.FilenameOptions{Filenames: []string{dir}, Recursive: true}))
	if err != nil {
		tb.Fatalf("reading snapshot %s: %v", dir, err)
	}
	slices.SortStableFunc(objs, func(a, b *unstructured.Unstructured) int { return cmp.Compare(rankOf(a), rankOf(b)) })
	definitions := 0
	for definitions < len(objs) && rankOf(objs[definitions]) == 0 {
		definitions++
	}
	c.loadAll(tb, objs[:definitions])
	if err := c.awaitCRDs(objs[:definitions]...); err != nil {
		tb.Fatal(err)
	}
	c.loadAll(tb, objs[definitions:])
}

func (c *Cluster) loadAll(tb testing.TB, objs []*unstructured.Unstructured) {
	tb.Helper()
	for _, obj := range objs {
		if notLoaded[obj.GroupVersionKind().GroupKind()] {
			continue
		}
		switch err := c.load(tb.Context(), obj); {
		case meta.IsNoMatchError(err):
			tb.Logf("skipping %s: %v", describe(obj), err)
		case err != nil:
			tb.Errorf("loading %s: %v", describe(obj), err)
		}
	}
}

func rankOf(obj *unstructured.Unstructured) int {
	if r, ok := rank[obj.GroupVersionKind().GroupKind()]; ok {
		return r
	}
	return 2
}

// load creates one object, then writes its status through the subresource if the kind has one.
func (c *Cluster) load(ctx context.Context, captured *unstructured.Unstructured) error {
	obj := loadable(captured)
	if err := c.restoreOwners(ctx, captured, obj); err != nil {
		return err
	}
	status, hasStatus := obj.Object["status"]
	err := c.client.Create(ctx, obj, client.FieldOwner(SnapshotManager))
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	if err != nil {
		return err
	}
	switch obj.GroupVersionKind().GroupKind() {
	case crdKind, namespaceKind: // the server sets their status
		return nil
	}
	if !hasStatus {
		return nil
	}
	obj.Object["status"] = status
	// The object exists, so NotFound means that there is no subresource, and the first request wrote the status.
	err = c.client.Status().Update(ctx, obj, client.FieldOwner(SnapshotManager))
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("writing the status: %w", err)
	}
	return nil
}

// restoreOwners sets the owners of a Secret with values, which Fleet finds by their uid. The owners must have been
// created before.
func (c *Cluster) restoreOwners(ctx context.Context, captured, obj *unstructured.Unstructured) error {
	kind, _, _ := unstructured.NestedString(captured.Object, "type")
	if captured.GroupVersionKind() != corev1.SchemeGroupVersion.WithKind("Secret") ||
		!strings.HasPrefix(kind, "fleet.cattle.io/") {
		return nil
	}
	owners := captured.GetOwnerReferences()
	for i, ref := range owners {
		owner := &unstructured.Unstructured{}
		owner.SetAPIVersion(ref.APIVersion)
		owner.SetKind(ref.Kind)
		if err := c.client.Get(ctx, client.ObjectKey{Namespace: captured.GetNamespace(), Name: ref.Name},
			owner); err != nil {
			return fmt.Errorf("finding the owner of %s: %w", describe(captured), err)
		}
		owners[i].UID = owner.GetUID()
	}
	obj.SetOwnerReferences(owners)
	return nil
}

// loadable returns a copy of a captured object without the fields that the server would refuse or must choose.
func loadable(captured *unstructured.Unstructured) *unstructured.Unstructured {
	obj := captured.DeepCopy()
	for _, field := range []string{
		"creationTimestamp", "deletionGracePeriodSeconds", "deletionTimestamp", "generation", "managedFields",
		"ownerReferences", "resourceVersion", "selfLink", "uid",
	} {
		unstructured.RemoveNestedField(obj.Object, "metadata", field)
	}
	if obj.GroupVersionKind() == corev1.SchemeGroupVersion.WithKind("Service") {
		if ip, _, _ := unstructured.NestedString(obj.Object, "spec", "clusterIP"); ip != corev1.ClusterIPNone {
			unstructured.RemoveNestedField(obj.Object, "spec", "clusterIP")
			unstructured.RemoveNestedField(obj.Object, "spec", "clusterIPs")
		}
	}
	return obj
}
