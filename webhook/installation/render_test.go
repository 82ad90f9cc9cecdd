// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/kustomize/api/krusty"

	"github.com/fleetdoctor/kubectl-fleetdoctor/webhook/admission"
)

func render(t *testing.T, o Options) []*unstructured.Unstructured {
	t.Helper()
	out, err := Render(o)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func byKey(objs []*unstructured.Unstructured) map[string]any {
	out := map[string]any{}
	for _, o := range objs {
		out[RefOf(o).Key().String()] = o.Object
	}
	return out
}

// TestRenderAsOverlays checks that this program installs the same objects as kubectl apply -k.
func TestRenderAsOverlays(t *testing.T) {
	t.Parallel()
	for overlay, o := range map[string]Options{
		"default":      {},
		"exact":        {Exact: true},
		"cert-manager": {Certificates: CertManager},
		"scoped":       {ReleaseNamespaces: []string{"guestbook", "shop"}},
	} {
		t.Run(overlay, func(t *testing.T) {
			t.Parallel()
			memory, err := copyManifests()
			if err != nil {
				t.Fatal(err)
			}
			resources, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(memory, "overlays/"+overlay)
			if err != nil {
				t.Fatal(err)
			}
			want := map[string]any{}
			for _, r := range resources.Resources() {
				data, err := r.MarshalJSON()
				if err != nil {
					t.Fatal(err)
				}
				u := &unstructured.Unstructured{}
				if err := u.UnmarshalJSON(data); err != nil {
					t.Fatal(err)
				}
				want[RefOf(u).Key().String()] = u.Object
			}
			if diff := cmp.Diff(want, byKey(render(t, o))); diff != "" {
				t.Errorf("objects (-overlay +install):\n%s", diff)
			}
		})
	}
}

// TestRenderNamespace checks that no object of an installation in another namespace names the default namespace.
func TestRenderNamespace(t *testing.T) {
	t.Parallel()
	for _, o := range []Options{{}, {Exact: true, Certificates: CertManager}, {ReleaseNamespaces: []string{"shop"}}} {
		o.Namespace = "ops"
		for _, u := range render(t, o) {
			text, err := json.Marshal(u.Object)
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(string(text), Namespace) {
				t.Errorf("%s still names %s:\n%s", RefOf(u).Key(), Namespace, text)
			}
		}
	}
}

func TestRenderOptions(t *testing.T) {
	t.Parallel()
	objs := render(t, Options{GuardDefault: admission.GuardDeny, Image: "example/doctor:1", Replicas: 3, ReleaseNamespaces: []string{"shop", "bank", "shop"}})
	var kinds, bound []string
	for _, u := range objs {
		if n := len(kinds); n == 0 || kinds[n-1] != u.GetKind() {
			kinds = append(kinds, u.GetKind())
		}
		if !isInstalled(u) {
			t.Errorf("%s does not have the label", RefOf(u).Key())
		}
		switch u.GetKind() {
		case "Deployment":
			c := decode[appsv1.Deployment](u).Spec.Template.Spec.Containers[0]
			want := []string{"webhook", "serve", "--cert-dir=/certs", "--guard-default=deny", "--release-namespaces=shop,bank,shop"}
			if diff := cmp.Diff(want, c.Args); diff != "" {
				t.Errorf("arguments (-want +got):\n%s", diff)
			}
			if c.Image != "example/doctor:1" || OptionsOf("", u).Replicas != 3 {
				t.Errorf("image %s, replicas %d", c.Image, OptionsOf("", u).Replicas)
			}
		case "RoleBinding":
			if u.GetName() == recordsRole {
				bound = append(bound, u.GetNamespace())
			}
		case "ClusterRoleBinding":
			if u.GetName() == recordsRole {
				t.Error("the webhook may read Secrets in all namespaces")
			}
		}
	}
	if diff := cmp.Diff([]string{"bank", "shop"}, bound); diff != "" {
		t.Errorf("namespaces whose Secrets may be read (-want +got):\n%s", diff)
	}
	if kinds[0] != "Namespace" || !slices.Equal(kinds[len(kinds)-3:], []string{"Deployment", mutatingKind.Kind, validatingKind.Kind}) {
		t.Errorf("order of kinds: %v", kinds)
	}
}

func TestRenderAll(t *testing.T) {
	t.Parallel()
	all, err := renderAll(Namespace)
	if err != nil {
		t.Fatal(err)
	}
	have := byKey(all)
	for _, key := range []string{"secret fleetdoctor-system/fleetdoctor-webhook-cert", "certificate.cert-manager.io fleetdoctor-system/fleetdoctor-webhook",
		"clusterrolebinding.rbac.authorization.k8s.io fleetdoctor-webhook-records", "rolebinding.rbac.authorization.k8s.io fleetdoctor-system/fleetdoctor-webhook-records"} {
		if have[key] == nil {
			t.Errorf("%s is missing", key)
		}
	}
	if len(have) != len(all) {
		t.Error("an object occurs twice")
	}
}

// TestOptionsOf checks that the options can be read from a rendered installation.
func TestOptionsOf(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]Options{
		"default":      {Certificates: SelfSigned, Image: "example/doctor:1", Replicas: Replicas},
		"all options":  {Certificates: SelfSigned, Exact: true, ReleaseNamespaces: []string{"shop", "bank"}, GuardDefault: admission.GuardOff, Image: "example/doctor:1", Replicas: 5},
		"cert-manager": {Certificates: CertManager, Image: "example/doctor:1", Replicas: Replicas},
	} {
		want.Namespace = "ops"
		var deployment *unstructured.Unstructured
		var configurations []*unstructured.Unstructured
		for _, u := range render(t, want) {
			switch u.GetKind() {
			case deploymentKind.Kind:
				deployment = u
			case mutatingKind.Kind, validatingKind.Kind:
				configurations = append(configurations, u)
			}
		}
		if diff := cmp.Diff(want, OptionsOf("ops", deployment, configurations...)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		want.Exact = false
		if diff := cmp.Diff(want, OptionsOf("ops", deployment)); diff != "" {
			t.Errorf("%s, without configurations (-want +got):\n%s", name, diff)
		}
	}
}
