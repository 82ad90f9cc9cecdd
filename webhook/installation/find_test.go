// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/install"
)

// TestFind checks how an installation is found, who installed it, and that objects that could not be read never count
// as absent.
func TestFind(t *testing.T) {
	t.Parallel()
	all, err := Chart.Render("other", &Values{})
	if err != nil {
		t.Fatal(err)
	}
	of := func(kind string, change func(*unstructured.Unstructured)) *unstructured.Unstructured {
		for _, o := range all {
			if o.GetKind() == kind && o.GetName() == Name {
				o = o.DeepCopy()
				change(o)
				return o
			}
		}
		t.Fatalf("no %s", kind)
		return nil
	}
	plain := func(*unstructured.Unstructured) {}
	byHelm := func(o *unstructured.Unstructured) {
		o.SetAnnotations(map[string]string{fleet.ReleaseNameAnnotation: "doctor",
			fleet.ReleaseNamespaceAnnotation: "other"})
	}
	byFleet := func(o *unstructured.Unstructured) {
		byHelm(o)
		o.SetLabels(map[string]string{fleet.HashLabel: "0a", install.NameLabel: Name,
			"app.kubernetes.io/managed-by": "Helm"})
	}
	url := func(o *unstructured.Unstructured) {
		byHelm(o)
		rawWebhooks(o)[0]["clientConfig"] = map[string]any{"url": "https://192.0.2.1"}
	}
	registration := install.MutatingKind.GroupVersion()
	old := func(o *unstructured.Unstructured) { o.SetLabels(map[string]string{install.NameLabel: Name}) }
	for _, tc := range []struct {
		name           string
		configurations []*unstructured.Unstructured
		deployment     *unstructured.Unstructured
		forbidden      bool
		want           install.Installation
		unknown        bool
	}{
		{name: "no installation"},
		{name: "by its configuration", forbidden: true,
			configurations: []*unstructured.Unstructured{of(install.MutatingKind.Kind, byHelm)},
			want:           install.Installation{Namespace: "other", Release: "doctor"}},
		{name: "with a URL", configurations: []*unstructured.Unstructured{of(install.MutatingKind.Kind, url)},
			want: install.Installation{Namespace: "other", Release: "doctor"}},
		{name: "by its Deployment", deployment: of("Deployment", byHelm), want: install.Installation{Namespace: "other",
			Release: "doctor"}},
		{name: "by Argo CD", deployment: of("Deployment", plain), want: install.Installation{Namespace: "other"}},
		{name: "by Fleet", deployment: of("Deployment", byFleet), want: install.Installation{Namespace: "other",
			Release: "doctor", Fleet: "other/doctor"}},
		{name: "from before the chart", deployment: of("Deployment", old),
			want: install.Installation{Namespace: "other", Old: true}},
		{name: "without rights", deployment: of("Deployment", plain), forbidden: true, unknown: true},
	} {
		var exist []runtime.Object
		for _, o := range tc.configurations {
			exist = append(exist, o)
		}
		if tc.deployment != nil {
			exist = append(exist, tc.deployment)
		}
		client := fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(),
			map[schema.GroupVersionResource]string{
				{Group: "apps", Version: "v1", Resource: "deployments"}:      "DeploymentList",
				registration.WithResource("mutatingwebhookconfigurations"):   "MutatingWebhookConfigurationList",
				registration.WithResource("validatingwebhookconfigurations"): "ValidatingWebhookConfigurationList"},
			exist...)
		if tc.forbidden {
			client.PrependReactor("*", "deployments", func(clienttesting.Action) (bool, runtime.Object, error) {
				return true, nil, apierrors.NewForbidden(schema.GroupResource{Resource: "deployments"}, "",
					errors.New("forbidden"))
			})
		}
		got, err := Find(t.Context(), &install.Cluster{Dynamic: client})
		if (err != nil) != tc.unknown {
			t.Errorf("%s: %v", tc.name, err)
		}
		if err != nil {
			continue
		}
		if diff := cmp.Diff(tc.want, *got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.name, diff)
		}
	}
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
