// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/install"
)

// TestFind checks by which objects an installation is found, who installed it, that a Deployment in another namespace
// decides nothing, and that objects that could not be read never count as absent.
func TestFind(t *testing.T) {
	t.Parallel()
	binding, mutating, deployment := "ClusterRoleBinding", install.MutatingKind.Kind, "Deployment"
	plain := func(*unstructured.Unstructured) {}
	in := func(release string) func(*unstructured.Unstructured) {
		return func(o *unstructured.Unstructured) {
			namespace, name, _ := strings.Cut(release, "/")
			o.SetAnnotations(map[string]string{fleet.ReleaseNameAnnotation: name,
				fleet.ReleaseNamespaceAnnotation: namespace})
		}
	}
	byFleet := func(o *unstructured.Unstructured) {
		in("other/doctor")(o)
		o.SetLabels(map[string]string{fleet.HashLabel: "0a", install.NameLabel: Name})
	}
	foreign := func(o *unstructured.Unstructured) { o.SetLabels(nil) }
	deleted := func(o *unstructured.Unstructured) { o.SetDeletionTimestamp(&metav1.Time{Time: now}) }
	none := install.Installation{Namespace: install.Namespace}
	named := install.Installation{Namespace: "other", Named: "other"}
	released := install.Installation{Namespace: "other", Named: "other", Release: "doctor"}
	for _, tc := range []struct {
		name      string
		exist     []runtime.Object
		namespace string
		forbidden string
		want      install.Installation
		wantError string
	}{
		{name: "no installation", want: none},
		{name: "by its ClusterRoleBinding", exist: objects(t, "other", binding, in("other/doctor")), want: released},
		{name: "only a configuration", exist: objects(t, "other", mutating, in("other/doctor")), want: none},
		{name: "by Argo CD", exist: objects(t, "other", binding, plain), want: named},
		{name: "by Fleet", exist: objects(t, "other", binding, byFleet), want: install.Installation{Namespace: "other",
			Named: "other", Release: "doctor", Fleet: "other/doctor"}},
		{name: "by Fleet, in the default namespace, without the binding",
			exist: objects(t, install.Namespace, deployment, byFleet), want: install.Installation{
				Namespace: install.Namespace, Release: "doctor", Fleet: "other/doctor"}},
		{name: "a Deployment of a tenant", exist: objects(t, "tenant", deployment, in("tenant/doctor")), want: none},
		{name: "a Deployment of a tenant, beside an installation", exist: slices.Concat(
			objects(t, "a-tenant", deployment, plain), objects(t, "other", binding, in("other/doctor"))),
			want: released},
		{name: "a binding of another program", exist: objects(t, "other", binding, foreign), want: none},
		{name: "a binding that is being deleted", exist: objects(t, "other", binding, deleted), want: none},
		{name: "another namespace, by name", namespace: "third",
			exist: objects(t, "other", binding, in("other/doctor")),
			want:  install.Installation{Namespace: "third", Named: "other"}},
		{name: "without a right for bindings", forbidden: "clusterrolebindings", wantError: "forbidden"},
		{name: "without a right for Deployments", forbidden: "deployments", wantError: "forbidden"},
	} {
		client := fake.NewSimpleDynamicClient(runtime.NewScheme(), tc.exist...)
		client.PrependReactor("*", tc.forbidden, func(clienttesting.Action) (bool, runtime.Object, error) {
			return tc.forbidden != "", nil, apierrors.NewForbidden(schema.GroupResource{Resource: tc.forbidden}, "",
				errors.New("forbidden"))
		})
		got, err := (&install.Cluster{Dynamic: client}).Find(t.Context(), Chart, tc.namespace)
		if err != nil {
			if tc.wantError == "" || !strings.Contains(err.Error(), tc.wantError) {
				t.Errorf("%s: %v", tc.name, err)
			}
			continue
		}
		ignored := cmpopts.IgnoreFields(install.Installation{}, "Deployment")
		if diff := cmp.Diff(tc.want, *got, ignored); diff != "" || tc.wantError != "" {
			t.Errorf("%s (-want +got):\n%s", tc.name, diff)
		}
	}
}

// objects returns the changed object of a kind in the chart for a namespace.
func objects(t *testing.T, namespace, kind string, change func(*unstructured.Unstructured)) []runtime.Object {
	t.Helper()
	all, err := Chart.Render(namespace, &Values{})
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range all {
		if o.GetKind() == kind && o.GetName() == Name {
			change(o)
			return []runtime.Object{o}
		}
	}
	t.Fatalf("no %s", kind)
	return nil
}

// TestAllowedNamespace checks that the webhook cannot be installed into the namespaces that its configurations exclude,
// except its own.
func TestAllowedNamespace(t *testing.T) {
	t.Parallel()
	for _, o := range render(t, Values{}) {
		for _, w := range rawWebhooks(o) {
			selectors, _, _ := unstructured.NestedSlice(w, "namespaceSelector", "matchExpressions")
			first, _ := selectors[0].(map[string]any)
			excluded, _, _ := unstructured.NestedStringSlice(first, "values")
			for _, n := range excluded {
				if install.AllowedNamespace(n) != (n == install.Namespace) {
					t.Errorf("%s: %t", n, install.AllowedNamespace(n))
				}
			}
		}
	}
	for n, want := range map[string]bool{"default": false, "fleet-local": false,
		"cluster-fleet-local-local-1a3d67d0a899": false,
		"cattle-fleet-other":                     false, "shop": true, "fleet-doctor": true} {
		if install.AllowedNamespace(n) != want {
			t.Errorf("%s: %t, want %t", n, install.AllowedNamespace(n), want)
		}
	}
}
