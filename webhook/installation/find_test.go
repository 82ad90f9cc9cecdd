// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"errors"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"
)

// TestNamespaceOf checks how an installation without configurations is found, and that objects that could not be read
// never count as absent.
func TestNamespaceOf(t *testing.T) {
	t.Parallel()
	of := func(kind string) *unstructured.Unstructured {
		for _, o := range render(t, Options{Namespace: "other"}) {
			if o.GetKind() == kind && o.GetName() == Name {
				return o
			}
		}
		t.Fatalf("no %s", kind)
		return nil
	}
	binding, deployment := of("ClusterRoleBinding"), of("Deployment")
	for _, tc := range []struct {
		name      string
		exist     []runtime.Object
		forbidden []string
		want      string
		unknown   bool
	}{
		{name: "no installation"},
		{name: "with its binding", exist: []runtime.Object{binding}, want: "other"},
		{name: "with its Deployment", exist: []runtime.Object{deployment}, want: "other"},
		{name: "objects without the label", exist: []runtime.Object{unlabelled(binding), unlabelled(deployment)}},
		{name: "without the right to get the binding", exist: []runtime.Object{deployment}, forbidden: []string{"clusterrolebindings"}, want: "other"},
		{name: "without the right to list Deployments, and without the binding", forbidden: []string{"deployments"}},
		{name: "without any right", exist: []runtime.Object{binding, deployment}, forbidden: []string{"clusterrolebindings", "deployments"}, unknown: true},
	} {
		client := fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), map[schema.GroupVersionResource]string{
			{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "clusterrolebindings"}: "ClusterRoleBindingList",
			{Group: "apps", Version: "v1", Resource: "deployments"}:                              "DeploymentList"}, tc.exist...)
		for _, resource := range tc.forbidden {
			client.PrependReactor("*", resource, func(clienttesting.Action) (bool, runtime.Object, error) {
				return true, nil, apierrors.NewForbidden(schema.GroupResource{Resource: resource}, "", errors.New("forbidden"))
			})
		}
		got, err := (&Cluster{Dynamic: client}).NamespaceOf(t.Context(), nil)
		if got != tc.want || (err != nil) != tc.unknown {
			t.Errorf("%s: %q, want %q (%v)", tc.name, got, tc.want, err)
		}
	}
}
