// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

// widgets is a kind whose schema makes the list of rules a map.
const widgets = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  names: {kind: Widget, listKind: WidgetList, plural: widgets, singular: widget}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              size: {type: string, default: small}
              rules:
                type: array
                x-kubernetes-list-type: map
                x-kubernetes-list-map-keys: [name]
                items: {type: object, required: [name], properties: {name: {type: string}, port: {type: integer}}}
`

const widget = "{apiVersion: example.com/v1, kind: Widget, metadata: {name: one}, spec: {rules: [{name: mine, port: " +
	"1}]}}"

const widgetKey = "widget.example.com apps/one"

// TestServerCheckOrder changes the order of a list of a custom resource, which the schema declares as a map. Applying
// the manifest restores it.
func TestServerCheckOrder(t *testing.T) {
	f := newFleet(t, shared)
	f.define(widgets, "widgets.example.com")
	f.deploy("guestbook", strings.Replace(widget, "port: 1}", "port: 1}, {name: other, port: 2}", 1))
	f.merge("kubectl-edit", object("example.com/v1", "Widget", apps, "one"),
		`{"spec":{"rules":[{"name":"other","port":2},{"name":"mine","port":1}]}}`)
	for _, check := range []string{"never", "auto", "always"} {
		expect(t, f.audit("--server-check", check), modifiedWidget)
	}
}

// modifiedWidget is the outcome if the widget differs.
var modifiedWidget = outcome{Status: 1, Deployments: map[string]string{"guestbook": "Modified"},
	Objects: map[string]string{widgetKey: "Modified"}, Findings: []string{"FD104 " + widgetKey}}

// TestServerCheckAddition adds an element to the same list. Applying the manifest would keep it, and Fleet reports it.
func TestServerCheckAddition(t *testing.T) {
	f := newFleet(t, shared)
	f.define(widgets, "widgets.example.com")
	f.deploy("guestbook", widget)
	f.ApplyYAML(t, "sidecar", "{apiVersion: example.com/v1, kind: Widget, metadata: {name: one, namespace: apps}, "+
		"spec: {rules: [{name: theirs}]}}")
	for _, check := range []string{"never", "auto", "always"} {
		r := f.audit("--server-check", check)
		expect(t, r, modifiedWidget)
		got := r.resource(t, "guestbook", widgetKey)
		if len(got.Differences) != 1 || got.Differences[0].Manager != "sidecar" ||
			(got.Message == "") != (check == "never") {
			t.Errorf("%s: the message is %q, the differences are %+v", check, got.Message, got.Differences)
		}
	}
}

// TestServerCheckConfirms checks that drift is confirmed by the server, and that the check stores nothing.
func TestServerCheckConfirms(t *testing.T) {
	f := newFleet(t, shared)
	f.deploy("guestbook", guestbook)
	f.merge("kubectl-edit", configMap("settings"), `{"data":{"colour":"red"}}`)
	before := f.resourceVersions()
	for check, message := range map[string]string{
		"never": "", "auto": "confirmed by the server: applying the manifest would change it",
		"always": "confirmed by the server: applying the manifest would change it",
	} {
		r := f.audit("--server-check", check)
		expect(t, r, outcome{Status: 1, Deployments: map[string]string{"guestbook": "Modified"},
			Objects: map[string]string{settings: "Modified"}, Findings: []string{"FD104 " + settings}})
		got := r.resource(t, "guestbook", settings)
		want := []report.Difference{{Path: ".data.colour", Pointer: "/data/colour", Desired: evaluate.Plain("blue"),
			Live:    evaluate.Plain("red"),
			Manager: "kubectl-edit", Operation: "Update", Time: justNow}}
		if diff := cmp.Diff(want, got.Differences); diff != "" || got.Message != message {
			t.Errorf("%s: message %q, want %q; differences (-want +got):\n%s", check, got.Message, message, diff)
		}
	}
	if diff := cmp.Diff(before, f.resourceVersions()); diff != "" {
		t.Errorf("the check changed objects (-before +after):\n%s", diff)
	}
}

// resourceVersions are the resource versions of the guestbook's objects.
func (f *fleetServer) resourceVersions() map[string]string {
	f.t.Helper()
	out := map[string]string{}
	for _, obj := range []struct{ kind, name string }{{"ConfigMap", "settings"}, {"ConfigMap", "texts"},
		{"Service", "frontend"}} {
		out[obj.name] = f.get(object("v1", obj.kind, apps, obj.name)).GetResourceVersion()
	}
	return out
}

// TestServerCheckImmutable creates objects again with other values of immutable fields.
func TestServerCheckImmutable(t *testing.T) {
	f := newFleet(t, shared)
	b := f.deploy("guestbook", "{apiVersion: v1, kind: ConfigMap, immutable: true, metadata: {name: theme}, data: "+
		"{colour: blue}}\n---"+web)
	metadata := fmt.Sprintf("namespace: apps, labels: {objectset.rio.cattle.io/hash: %s}, annotations: "+
		"{objectset.rio.cattle.io/id: %s}",
		b.options.Hash, b.options.SetID)
	f.remove(configMap("theme"))
	f.remove(deployment("web"))
	f.ApplyYAML(t, "kubectl", fmt.Sprintf(`
{apiVersion: v1, kind: ConfigMap, immutable: true, metadata: {name: theme, %[1]s}, data: {colour: red}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, %[1]s}
spec:
  replicas: 2
  selector: {matchLabels: {app: other}}
  template: {metadata: {labels: {app: other}}, spec: {containers: [{name: web, image: "example.com/web:1"}]}}
`, metadata))
	f.rollOut("web")
	const theme = "configmap apps/theme"
	r := f.audit("--server-check=auto")
	expect(t, r, outcome{Status: 1, Deployments: map[string]string{"guestbook": "Modified"},
		Objects:  map[string]string{theme: "Modified", webKey: "Modified"},
		Findings: []string{"FD104 " + theme, "FD104 " + webKey}})
	for _, key := range []string{theme, webKey} {
		expectContains(t, key, r.resource(t, "guestbook", key).Message, "cannot be applied in place")
	}
	for _, finding := range r.report.Findings {
		if finding.Code == "FD104" {
			expectContains(t, "the evidence", finding.Evidence[len(finding.Evidence)-1], "cannot be applied in place")
		}
	}
}

// TestServerCheckForbidden uses a user who may read everything and write nothing.
func TestServerCheckForbidden(t *testing.T) {
	f := newFleet(t, shared)
	f.define(widgets, "widgets.example.com")
	f.deploy("guestbook", widget)
	f.ApplyYAML(t, "sidecar", "{apiVersion: example.com/v1, kind: Widget, metadata: {name: one, namespace: apps}, "+
		"spec: {rules: [{name: theirs}]}}")
	reader := f.user("reader", rule("*", "*", "list"))
	getter := f.user("getter", rule("*", "*", "list", "get"))
	for name, test := range map[string]struct{ kubeconfig, check, message string }{
		"auto":                  {reader, "auto", ""},
		"always, without get":   {reader, "always", "not confirmed by the server: a dry run is not permitted"},
		"always, without patch": {getter, "always", "not confirmed by the server: a dry run is not permitted"},
	} {
		r := f.audit("--kubeconfig", test.kubeconfig, "--server-check", test.check)
		expect(t, r, outcome{Status: 1, Deployments: map[string]string{"guestbook": "Modified"},
			Objects: map[string]string{widgetKey: "Modified"}, Findings: []string{"FD104 " + widgetKey}})
		if got := r.resource(t, "guestbook", widgetKey).Message; got != test.message {
			t.Errorf("%s: message %q, want %q", name, got, test.message)
		}
	}
}

// TestServerCheckAlways checks objects that do not differ. To apply their manifests would remove what others
// added, and what the bundle ignores; this is no drift.
func TestServerCheckAlways(t *testing.T) {
	f := newFleet(t, shared)
	b := f.bundle("guestbook", guestbook+`
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: e2e-aggregated}
aggregationRule: {clusterRoleSelectors: [{matchLabels: {e2e: aggregated}}]}
rules: []
`)
	f.removeAtEnd(object("rbac.authorization.k8s.io/v1", "ClusterRole", "", "e2e-aggregated"))
	b.spec = "{diff: {comparePatches: [{apiVersion: v1, kind: ConfigMap, name: texts, namespace: apps, jsonPointers: " +
		"[/data/greeting]}]}}"
	b.deploy()
	f.merge("translator", configMap("texts"), `{"data":{"greeting":"bonjour"}}`)
	// a selector is applied as a whole
	f.merge("mesh", object("v1", "Service", apps, "frontend"), `{"spec":{"selector":{"mesh":"in"}}}`)
	f.merge("kube-controller-manager", object("rbac.authorization.k8s.io/v1", "ClusterRole", "", "e2e-aggregated"),
		`{"rules":[{"apiGroups":[""],"resources":["pods"],"verbs":["get"]}]}`)
	p := f.proxy()
	for _, check := range []string{"never", "auto", "always"} {
		expect(t, f.audit("--kubeconfig", p.kubeconfig, "--server-check", check),
			outcome{Deployments: map[string]string{"guestbook": "Ready"}})
	}
	patched := p.matching("PATCH")
	slices.Sort(patched)
	want := []string{
		"/api/v1/namespaces/apps/configmaps/settings", "/api/v1/namespaces/apps/configmaps/texts",
		"/api/v1/namespaces/apps/services/frontend",
		"/apis/rbac.authorization.k8s.io/v1/clusterroles/e2e-aggregated",
	}
	if diff := cmp.Diff(want, patched); diff != "" {
		t.Errorf("dry runs (-want +got):\n%s", diff)
	}
}
