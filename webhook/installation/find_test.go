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

// TestNamespaceOf holds how an installation without configurations is found, and that unread objects never count as absent.
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
		there     []runtime.Object
		forbidden []string
		want      string
		unknown   bool
	}{
		{name: "nowhere"},
		{name: "by its binding", there: []runtime.Object{binding}, want: "other"},
		{name: "by its Deployment", there: []runtime.Object{deployment}, want: "other"},
		{name: "somebody else's", there: []runtime.Object{unlabelled(binding), unlabelled(deployment)}},
		{name: "no right to look at the binding", there: []runtime.Object{deployment}, forbidden: []string{"clusterrolebindings"}, want: "other"},
		{name: "no right to list Deployments, and no binding", forbidden: []string{"deployments"}},
		{name: "no right at all", there: []runtime.Object{binding, deployment}, forbidden: []string{"clusterrolebindings", "deployments"}, unknown: true},
	} {
		client := fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), map[schema.GroupVersionResource]string{
			{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "clusterrolebindings"}: "ClusterRoleBindingList",
			{Group: "apps", Version: "v1", Resource: "deployments"}:                              "DeploymentList"}, tc.there...)
		for _, resource := range tc.forbidden {
			client.PrependReactor("*", resource, func(clienttesting.Action) (bool, runtime.Object, error) {
				return true, nil, apierrors.NewForbidden(schema.GroupResource{Resource: resource}, "", errors.New("no"))
			})
		}
		got, err := (&Cluster{Dynamic: client}).NamespaceOf(t.Context(), nil)
		if got != tc.want || (err != nil) != tc.unknown {
			t.Errorf("%s: %q, want %q (%v)", tc.name, got, tc.want, err)
		}
	}
}
