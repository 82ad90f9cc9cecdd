// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/install"
)

func render(t *testing.T, v Values) []*unstructured.Unstructured {
	t.Helper()
	out, err := Chart.Render(install.Namespace, &v)
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
		all, err := Chart.Render("ops", &v)
		if err != nil {
			t.Fatal(err)
		}
		for _, u := range all {
			text, err := json.Marshal(u.Object)
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(string(text), install.Namespace) {
				t.Errorf("%s still names %s:\n%s", install.RefOf(u).Key(), install.Namespace, text)
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
			if !slices.Contains(Chart.Kinds, u.GroupVersionKind()) || !slices.Contains(Chart.Names, u.GetName()) {
				t.Errorf("an uninstallation does not find %s", install.RefOf(u).Key())
			}
		}
		deployment := slices.Index(kinds, "Deployment")
		if kinds[0] != "Namespace" || deployment < 0 || slices.Index(kinds, install.MutatingKind.Kind) < deployment ||
			slices.Index(kinds, install.ValidatingKind.Kind) < deployment {
			t.Errorf("order of kinds: %v", kinds)
		}
	}
}

// TestSchema checks that the schema of the chart refuses values that it does not know.
func TestSchema(t *testing.T) {
	t.Parallel()
	for _, v := range []Values{{Certificates: "mine"}, {GuardDefault: "denny"}, {Common: install.Common{Replicas: -1}},
		{ReleaseNamespaces: []string{"A"}}, {Common: install.Common{APIServers: []string{"example.com"}}}} {
		if _, err := Chart.Render(install.Namespace, &v); err == nil || !strings.Contains(err.Error(),
			"values don't meet the specifications") {
			t.Errorf("%+v: %v", v, err)
		}
	}
	addresses := []string{"192.0.2.10", "192.0.2.0/24", "2001:db8::1", "2001:db8::/32"}
	if _, err := Chart.Render(install.Namespace, &Values{Common: install.Common{APIServers: addresses}}); err != nil {
		t.Error(err)
	}
}
