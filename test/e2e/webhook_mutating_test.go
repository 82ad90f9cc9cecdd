// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/ownership"
	"github.com/fleetdoctor/kubectl-fleetdoctor/test/cluster"
	"github.com/fleetdoctor/kubectl-fleetdoctor/test/poll"
)

// mixed is a manifest of four kinds: namespaced and cluster-scoped, built-in and custom.
const mixed = `
{apiVersion: v1, kind: ConfigMap, metadata: {name: texts}, data: {greeting: hello}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: frontend}
spec:
  selector: {matchLabels: {app: frontend}}
  template:
    metadata: {labels: {app: frontend}}
    spec: {containers: [{name: frontend, image: "registry.example.com/frontend:1"}]}
---
` + widget + `
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: e2e-reader}
rules: [{apiGroups: [""], resources: [pods], verbs: [get]}]
`

// deployMixed deploys mixed as bundle guestbook.
func (f *fleetServer) deployMixed() (*bundle, []*unstructured.Unstructured) {
	f.t.Helper()
	f.define(widgets, "widgets.example.com")
	f.removeAtEnd(clusterRole())
	objs := []*unstructured.Unstructured{configMap("texts"), deployment("frontend"), object("example.com/v1", "Widget",
		apps, "one"), clusterRole()}
	b := f.deploy("guestbook", mixed)
	f.rollOut("frontend")
	return b, objs
}

// asList returns objects as one List.
func asList(t *testing.T, objs []*unstructured.Unstructured) string {
	t.Helper()
	items := make([]any, len(objs))
	for i, obj := range objs {
		items[i] = obj.Object
	}
	out, err := json.Marshal(map[string]any{"apiVersion": "v1", "kind": "List", "items": items})
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// withExtraLabel returns copies of objects with one more label.
func withExtraLabel(objs []*unstructured.Unstructured) (out []*unstructured.Unstructured) {
	for _, obj := range objs {
		obj = obj.DeepCopy()
		labels := obj.GetLabels()
		labels["touched"] = "yes"
		obj.SetLabels(labels)
		out = append(out, obj)
	}
	return out
}

// TestWebhookTakeOwnership writes objects with Helm's metadata only, in each way in which a client can write. The
// webhook adds Fleet's metadata.
func TestWebhookTakeOwnership(t *testing.T) {
	f := newFleet(t, shared)
	b, objs := f.deployMixed()
	var helmOnly []*unstructured.Unstructured // as takeOwnership leaves the objects
	for _, live := range f.getAll(objs...) {
		helmOnly = append(helmOnly, b.withHelmOwnership(withoutServerFields(live)))
	}
	f.setOwnershipAsAdopt(b.helmOwnership(), objs...)
	expect(t, f.audit(), outcome{
		Status:      1,
		Deployments: map[string]string{"guestbook": "Modified"},
		Objects: map[string]string{
			"configmap apps/texts":     "Unowned HelmOnly",
			"deployment apps/frontend": "Unowned HelmOnly",
			widgetKey:                  "Unowned HelmOnly",
			"clusterrole e2e-reader":   "Unowned HelmOnly",
		},
		Findings: []string{
			"FD102 configmap apps/texts",
			"FD102 deployment apps/frontend",
			"FD102 " + widgetKey,
			"FD102 clusterrole e2e-reader",
		},
	})

	h := f.serveWebhook("default")
	admin := f.clientAs("")
	document, changed := asList(t, helmOnly), asList(t, withExtraLabel(helmOnly))
	remove := func() {
		for _, obj := range objs {
			f.remove(obj)
		}
	}
	for name, write := range map[string]func(){
		"create": func() {
			remove()
			for _, obj := range helmOnly {
				admin.must("creating "+obj.GetName(), admin.Create(t.Context(), obj.DeepCopy()))
			}
		},
		"update": func() {
			for _, live := range f.getAll(objs...) {
				live.SetLabels(map[string]string{fleet.ManagedByLabel: "Helm", "touched": "yes"})
				admin.must("updating "+live.GetName(), admin.Update(t.Context(), live))
			}
		},
		"patch": func() {
			for _, obj := range objs {
				f.merge("somebody", obj, `{"metadata":{"labels":{"touched":"yes"}}}`)
			}
		},
		"kubectl apply": func() {
			remove()
			f.kubectl(document, "apply", "-f", "-")
			f.expectOwnership(b.ownership(), objs...)
			if out := f.kubectl(document, "apply", "-f", "-"); strings.Count(out, "unchanged") != len(objs) {
				t.Errorf("the second apply: %s", out)
			}
		},
		// kubectl does not write unchanged objects
		"kubectl apply on existing objects": func() { f.kubectl(changed, "apply", "-f", "-") },
		"kubectl apply, server-side": func() {
			remove()
			f.kubectl(document, "apply", "--server-side", "-f",
				"-")
		},
		"kubectl apply, server-side, again": func() {
			f.kubectl(document, "apply", "--server-side", "--force-conflicts", "-f", "-")
		},
		"kubectl replace": func() { f.kubectl(document, "replace", "-f", "-") },
	} {
		t.Run(name, func(t *testing.T) {
			f.setOwnershipAsAdopt(b.helmOwnership(), objs...)
			f.expectOwnership(b.helmOwnership(), objs...)
			before := h.requestCount("stamp", "stamped", "")
			write()
			f.expectOwnership(b.ownership(), objs...)
			if got := h.requestCount("stamp", "stamped", "") - before; got != len(objs) {
				t.Errorf("%d requests were stamped, want %d", got, len(objs))
			}
			f.rollOut("frontend")
			expect(t, f.audit("--require-complete"), outcome{Deployments: map[string]string{"guestbook": "Ready"}})
		})
	}
	if got := admin.takeWarnings(); got != "" {
		t.Errorf("warnings: %s", got)
	}
}

// TestWebhookHelmTakesOwnership has Helm take over existing objects: one with Helm's metadata and one without any.
func TestWebhookHelmTakesOwnership(t *testing.T) {
	f := newFleet(t, shared)
	h := f.serveWebhook("default")
	b := f.bundle("guestbook", guestbook)
	objs := guestbookObjects()
	f.Apply(t, "team", b.withHelmOwnership(configMap("settings")), configMap("texts"))
	f.expectOwnership(b.helmOwnership(), configMap("settings"))
	b.options.TakeOwnership, b.options.User = true, account(agentNamespace, "fleet-agent")
	b.deploy()
	h.awaitObjects(len(objs))
	f.expectOwnership(b.ownership(), objs...)
	expect(t, f.audit("--require-complete"), outcome{Deployments: map[string]string{"guestbook": "Ready"}})
}

// TestWebhookWithoutMetadata creates a desired object without any ownership metadata.
func TestWebhookWithoutMetadata(t *testing.T) {
	for variant, stamped := range map[string]bool{"default": false, "exact": true} {
		t.Run(variant, func(t *testing.T) {
			f := newFleet(t, shared)
			inside, outside := f.bundle("inside", theme), f.bundle("outside", theme)
			inside.options.Namespace, outside.options.Namespace = "exact", "inexact"
			f.labelNamespace("exact", map[string]string{"fleetdoctor.io/adopt": "exact"})
			mine, theirs := object("v1", "ConfigMap", "exact", "theme"), object("v1", "ConfigMap", "inexact", "theme")
			for _, b := range []*bundle{inside, outside} {
				b.deploy()
			}
			h := f.serveWebhook(variant)
			if stamped {
				h.awaitExact("exact")
			}
			f.setOwnershipAsAdopt(nil, mine) // an existing object without metadata: an update
			f.remove(theirs)
			admin := f.clientAs("")
			admin.must("changing it", admin.patch(mine, `{"metadata":{"labels":{"touched":"yes"}}}`))
			admin.must("creating the other", admin.Create(t.Context(), theirs.DeepCopy()))
			unowned := outcome{Status: 1, Deployments: map[string]string{"inside": "Modified", "outside": "Modified"},
				Objects: map[string]string{"configmap exact/theme": "Unowned Unmarked",
					"configmap inexact/theme": "Unowned Unmarked"},
				Findings: []string{"FD102 configmap exact/theme", "FD102 configmap inexact/theme"}}
			want := inside.ownership()
			if stamped {
				unowned.Deployments["inside"], unowned.Findings = "Ready", unowned.Findings[1:]
				delete(unowned.Objects, "configmap exact/theme")
			} else {
				want = map[string]string{}
			}
			f.expectOwnership(want, mine)
			f.expectOwnership(map[string]string{}, theirs)
			expect(t, f.audit(), unowned)
			f.remove(mine)
			admin.must("creating it", admin.Create(t.Context(), object("v1", "ConfigMap", "exact", "theme")))
			f.expectOwnership(want, mine)
			if got := admin.takeWarnings(); got != "" {
				t.Errorf("warnings: %s", got)
			}
		})
	}
}

// awaitExact returns when the webhook stamp-exact is called for a namespace.
func (h *webhookProcess) awaitExact(namespace string) {
	h.t.Helper()
	poll.Until(h.t, func() error {
		before := h.requestCount("stamp-exact", "", "")
		if err := h.Client().Create(h.t.Context(), object("v1", "ConfigMap", namespace, "is-it-called"),
			client.DryRunAll); err != nil {
			return err
		}
		if h.requestCount("stamp-exact", "", "") == before {
			return fmt.Errorf("stamp-exact is not called for namespace %s", namespace)
		}
		return nil
	})
}

// TestWebhookForeignOwner creates a desired object with the metadata of another owner. An owner that exists keeps
// the object, and the warning names both; an owner that is gone does not.
func TestWebhookForeignOwner(t *testing.T) {
	f := newFleet(t, shared)
	b := f.deploy("guestbook", guestbook)
	other := f.deploy("other", theme)
	f.namespace("tools")
	f.InstallRelease(t, cluster.ReleaseOptions{Name: "chart", Namespace: "tools", Manifest: theme})
	f.serveWebhook("default")
	gone := ownership.Metadata{SetID: "default-gone", Hash: fleet.Hash("default-gone")}
	of := func(m ownership.Metadata) map[string]string {
		m.ManagedBy, m.ReleaseName, m.ReleaseNamespace = "Helm", "guestbook", apps
		return m.Values()
	}
	for name, test := range map[string]struct {
		metadata map[string]string
		contains []string // of the warning; nil if the object is stamped
		// complete reports whether hash and id are set: then a later write of another field does not reach the webhook.
		complete bool
	}{
		"a bundle": {other.ownership(), []string{"bundle guestbook", "bundle other"}, true},
		"the id of a bundle": {ownership.Metadata{SetID: other.options.SetID}.Values(),
			[]string{"bundle guestbook", "bundle other"}, false},
		"a bundle, with our Helm metadata": {of(ownership.Metadata{SetID: other.options.SetID,
			Hash: other.options.Hash}), []string{"bundle guestbook", "bundle other"}, true},
		"a release of Helm's": {ownership.Metadata{ManagedBy: "Helm", ReleaseName: "chart",
			ReleaseNamespace: "tools"}.Values(), []string{"bundle guestbook", "Helm release tools/chart"}, false},
		"a set of Rancher's": {of(ownership.Metadata{SetID: "monitoring",
			Hash: fleet.Hash("monitoring")}), []string{"bundle guestbook", `set "monitoring"`}, true},
		"a deleted set":           {of(gone), nil, true},
		"a hash of a deleted set": {of(ownership.Metadata{Hash: gone.Hash}), nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			admin, cm := f.clientAs(""), configMap("texts")
			want := test.metadata
			if test.contains == nil {
				want = b.ownership()
			}
			check := func(by string) {
				t.Helper()
				f.expectOwnership(want, cm)
				if got := admin.takeWarnings(); (got == "") != (test.contains == nil) {
					t.Errorf("%s: warnings: %s", by, got)
				} else {
					expectContains(t, by, got, test.contains...)
				}
			}
			f.remove(cm)
			created := configMap("texts")
			labels, annotations := map[string]string{}, map[string]string{}
			for _, k := range ownership.Keys() {
				if v, ok := test.metadata[k.Name]; ok && k.Label {
					labels[k.Name] = v
				} else if ok {
					annotations[k.Name] = v
				}
			}
			created.SetLabels(labels)
			created.SetAnnotations(annotations)
			admin.must("creating it", admin.Create(t.Context(), created))
			check("create")
			f.setOwnershipAsAdopt(test.metadata, cm)
			admin.must("changing it", admin.patch(cm, `{"data":{"touched":"yes"}}`))
			if !test.complete {
				check("update")
			}
		})
	}
}
