// SPDX-License-Identifier: Apache-2.0

package cluster_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fleetdoctor/kubectl-fleetdoctor/test/cluster"
)

var object = cluster.Object

func list(apiVersion, kind string) *unstructured.UnstructuredList {
	objs := &unstructured.UnstructuredList{}
	objs.SetAPIVersion(apiVersion)
	objs.SetKind(kind)
	return objs
}

// get reads an object of the shared server.
func get(t *testing.T, obj *unstructured.Unstructured) *unstructured.Unstructured {
	t.Helper()
	live := object(obj.GetAPIVersion(), obj.GetKind(), obj.GetNamespace(), obj.GetName())
	if err := shared.Client().Get(t.Context(), client.ObjectKeyFromObject(live), live); err != nil {
		t.Fatalf("reading %s %s: %v", obj.GetKind(), obj.GetName(), err)
	}
	return live
}
