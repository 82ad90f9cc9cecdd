// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func render(t *testing.T, v Values) []*unstructured.Unstructured {
	t.Helper()
	out, err := Render(Namespace, v)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// rawWebhooks returns the webhooks of a configuration so that a test can change them.
func rawWebhooks(o *unstructured.Unstructured) []map[string]any {
	list, _ := o.Object["webhooks"].([]any)
	var out []map[string]any
	for _, e := range list {
		m, _ := e.(map[string]any)
		out = append(out, m)
	}
	return out
}

// TestRenderNamespace checks that no object of an installation in another namespace names the default namespace.
func TestRenderNamespace(t *testing.T) {
	t.Parallel()
	for _, v := range []Values{{}, {Exact: true, Certificates: CertManager}, {ReleaseNamespaces: []string{"shop"}}} {
		all, err := Render("ops", v)
		if err != nil {
			t.Fatal(err)
		}
		for _, u := range all {
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

// TestRenderOrder checks that the webhook configurations are applied after the Deployment, and that an uninstallation
// finds all objects but the Namespace.
func TestRenderOrder(t *testing.T) {
	t.Parallel()
	for _, v := range []Values{{}, {Certificates: CertManager, ReleaseNamespaces: []string{"shop"}}} {
		var kinds []string
		for _, u := range render(t, v) {
			kinds = append(kinds, u.GetKind())
			if u.GetKind() == "Namespace" {
				continue
			}
			if !slices.Contains(removed, u.GroupVersionKind()) || !slices.Contains(names, u.GetName()) {
				t.Errorf("an uninstallation does not find %s", RefOf(u).Key())
			}
		}
		deployment := slices.Index(kinds, "Deployment")
		if kinds[0] != "Namespace" || deployment < 0 || slices.Index(kinds, mutatingKind.Kind) < deployment ||
			slices.Index(kinds, validatingKind.Kind) < deployment {
			t.Errorf("order of kinds: %v", kinds)
		}
	}
}

// TestSchema checks that the schema of the chart refuses values that it does not know.
func TestSchema(t *testing.T) {
	t.Parallel()
	for _, v := range []Values{{Certificates: "mine"}, {GuardDefault: "denny"}, {Replicas: -1},
		{ReleaseNamespaces: []string{"A"}}, {APIServers: []string{"example.com"}}} {
		if _, err := Render(Namespace, v); err == nil || !strings.Contains(err.Error(),
			"values don't meet the specifications") {
			t.Errorf("%+v: %v", v, err)
		}
	}
	addresses := []string{"192.0.2.10", "192.0.2.0/24", "2001:db8::1", "2001:db8::/32"}
	if _, err := Render(Namespace, Values{APIServers: addresses}); err != nil {
		t.Error(err)
	}
}

// TestImageOf checks which versions of the program have an image.
func TestImageOf(t *testing.T) {
	t.Parallel()
	for version, want := range map[string]string{"v1.2.3": "fleetdoctor/kubectl-fleetdoctor:v1.2.3",
		"v1.2.3+build": "fleetdoctor/kubectl-fleetdoctor:v1.2.3_build", "v1.2.3-4-g0123abc": "", "dev": ""} {
		if got, ok := ImageOf(version); got != want || ok != (want != "") {
			t.Errorf("%s: %q, want %q", version, got, want)
		}
	}
}
