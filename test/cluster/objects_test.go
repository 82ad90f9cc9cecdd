// SPDX-License-Identifier: Apache-2.0

package cluster_test

import (
	"context"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

func object(apiVersion, kind, namespace, name string) *unstructured.Unstructured {
	obj := &unstructured.Unstructured{}
	obj.SetAPIVersion(apiVersion)
	obj.SetKind(kind)
	obj.SetNamespace(namespace)
	obj.SetName(name)
	return obj
}

func list(apiVersion, kind string) *unstructured.UnstructuredList {
	objs := &unstructured.UnstructuredList{}
	objs.SetAPIVersion(apiVersion)
	objs.SetKind(kind)
	return objs
}

// get reads what is on the shared server under the identity of obj.
func get(t *testing.T, obj *unstructured.Unstructured) *unstructured.Unstructured {
	t.Helper()
	live := object(obj.GetAPIVersion(), obj.GetKind(), obj.GetNamespace(), obj.GetName())
	if err := shared.Client().Get(t.Context(), client.ObjectKeyFromObject(live), live); err != nil {
		t.Fatalf("reading %s %s: %v", obj.GetKind(), obj.GetName(), err)
	}
	return live
}

// eventually calls try until it succeeds, for what the server does a moment after it answered.
func eventually(t *testing.T, try func() error) {
	t.Helper()
	var last error
	err := wait.PollUntilContextTimeout(t.Context(), 20*time.Millisecond, 30*time.Second, true, func(context.Context) (bool, error) {
		last = try()
		return last == nil, nil
	})
	if err != nil {
		t.Fatalf("%v; at last: %v", err, last)
	}
}
