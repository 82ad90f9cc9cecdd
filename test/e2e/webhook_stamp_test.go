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

// mixed is a bundle of four kinds: with and without a namespace, built in and custom.
const mixed = `
{apiVersion: v1, kind: ConfigMap, metadata: {name: texts}, data: {greeting: hello}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: frontend}
spec:
  selector: {matchLabels: {app: frontend}}
  template: {metadata: {labels: {app: frontend}}, spec: {containers: [{name: frontend, image: "registry.example.com/frontend:1"}]}}
---
` + widget + `
---
{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: e2e-reader}, rules: [{apiGroups: [""], resources: [pods], verbs: [get]}]}
`

// deployMixed deploys it.
func (f *fleetServer) deployMixed() (*bundle, []*unstructured.Unstructured) {
	f.t.Helper()
	f.define(widgets, "widgets.example.com")
	f.removeAtEnd(clusterRole())
	objs := []*unstructured.Unstructured{configMap("texts"), deployment("frontend"), object("example.com/v1", "Widget", apps, "one"), clusterRole()}
	b := f.deploy("guestbook", mixed)
	f.rolledOut()
	return b, objs
}

// rolledOut says of Deployment frontend what its controller would.
func (f *fleetServer) rolledOut() {
	f.t.Helper()
	generation := f.get(deployment("frontend")).GetGeneration()
	f.merge("kube-controller-manager", deployment("frontend"), fmt.Sprintf(`{"status": {"observedGeneration": %d, "replicas": 1, "updatedReplicas": 1,
		"readyReplicas": 1, "availableReplicas": 1, "conditions": [{"type": "Available", "status": "True"},
			{"type": "Progressing", "status": "True", "reason": "NewReplicaSetAvailable"}]}}`, generation), "status")
}

// asList writes objects as one document.
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

// touched gives objects one more label.
func touched(objs []*unstructured.Unstructured) (out []*unstructured.Unstructured) {
	for _, obj := range objs {
		obj = obj.DeepCopy()
		labels := obj.GetLabels()
		labels["touched"] = "yes"
		obj.SetLabels(labels)
		out = append(out, obj)
	}
	return out
}

// TestWebhookTakeOwnership has objects that say they are the bundle's for Helm, and nothing else, come in every way that a write comes. What
// Fleet would not own is owned.
func TestWebhookTakeOwnership(t *testing.T) {
	f := newFleet(t, shared)
	b, objs := f.deployMixed()
	var left []*unstructured.Unstructured // as takeOwnership leaves them
	for _, live := range f.getAll(objs...) {
		left = append(left, b.helmMarked(fresh(live)))
	}
	f.setMetadata(b.helmOnly(), objs...)
	expect(t, f.audit(), outcome{
		Status:      1,
		Deployments: map[string]string{"guestbook": "Modified"},
		Objects: map[string]string{"configmap apps/texts": "Unowned HelmOnly", "deployment.apps apps/frontend": "Unowned HelmOnly",
			widgetKey: "Unowned HelmOnly", "clusterrole.rbac.authorization.k8s.io e2e-reader": "Unowned HelmOnly"},
		Findings: []string{"FD102 configmap apps/texts", "FD102 deployment.apps apps/frontend", "FD102 " + widgetKey, "FD102 clusterrole.rbac.authorization.k8s.io e2e-reader"},
	})

	h := f.serveWebhook("default")
	admin := f.person("")
	document, changed := asList(t, left), asList(t, touched(left))
	remove := func() {
		for _, obj := range objs {
			f.remove(obj)
		}
	}
	for name, write := range map[string]func(){
		"create": func() {
			remove()
			for _, obj := range left {
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
			f.carries(b.stamps(), objs...)
			if out := f.kubectl(document, "apply", "-f", "-"); strings.Count(out, "unchanged") != len(objs) {
				t.Errorf("applied a second time: %s", out)
			}
		},
		"kubectl apply on what is there":  func() { f.kubectl(changed, "apply", "-f", "-") }, // unchanged, kubectl would write nothing
		"kubectl apply on the server":     func() { remove(); f.kubectl(document, "apply", "--server-side", "-f", "-") },
		"kubectl apply on it, once again": func() { f.kubectl(document, "apply", "--server-side", "--force-conflicts", "-f", "-") },
		"kubectl replace":                 func() { f.kubectl(document, "replace", "-f", "-") },
	} {
		t.Run(name, func(t *testing.T) {
			f.setMetadata(b.helmOnly(), objs...)
			f.carries(b.helmOnly(), objs...)
			before := h.counted("stamp", "stamped", "")
			write()
			f.carries(b.stamps(), objs...)
			if got := h.counted("stamp", "stamped", "") - before; got != len(objs) {
				t.Errorf("%d requests were stamped, want %d", got, len(objs))
			}
			f.rolledOut()
			expect(t, f.audit("--require-complete"), outcome{Deployments: map[string]string{"guestbook": "Ready"}})
		})
	}
	if got := admin.told(); got != "" {
		t.Errorf("there were warnings: %s", got)
	}
}

// TestWebhookHelmTakesOwnership has Helm itself take objects over that were there before the bundle: one that somebody had given Helm's marks
// in preparation, and one without any.
func TestWebhookHelmTakesOwnership(t *testing.T) {
	f := newFleet(t, shared)
	h := f.serveWebhook("default")
	b := f.bundle("guestbook", guestbook)
	objs := parts()
	f.Apply(t, "team", b.helmMarked(configMap("settings")), configMap("texts"))
	f.carries(b.helmOnly(), configMap("settings"))
	b.options.TakeOwnership, b.options.User = true, account(agentNamespace, "fleet-agent")
	b.deploy()
	h.knows(len(objs))
	f.carries(b.stamps(), objs...)
	expect(t, f.audit("--require-complete"), outcome{Deployments: map[string]string{"guestbook": "Ready"}})
}

// TestWebhookBare has somebody make a desired object by hand, without any mark.
func TestWebhookBare(t *testing.T) {
	for overlay, stamped := range map[string]bool{"default": false, "exact": true} {
		t.Run(overlay, func(t *testing.T) {
			f := newFleet(t, shared)
			inside, outside := f.bundle("inside", theme), f.bundle("outside", theme)
			inside.options.Namespace, outside.options.Namespace = "exact", "inexact"
			f.labelled("exact", map[string]string{"fleetdoctor.io/adopt": "exact"})
			mine, theirs := object("v1", "ConfigMap", "exact", "theme"), object("v1", "ConfigMap", "inexact", "theme")
			for _, b := range []*bundle{inside, outside} {
				b.deploy()
			}
			h := f.serveWebhook(overlay)
			if stamped {
				h.awaitExact("exact")
			}
			f.setMetadata(nil, mine) // there already, without marks: an update
			f.remove(theirs)
			admin := f.person("")
			admin.must("changing it", admin.patch(mine, `{"metadata":{"labels":{"touched":"yes"}}}`))
			admin.must("creating the other", admin.Create(t.Context(), theirs.DeepCopy()))
			unowned := outcome{Status: 1, Deployments: map[string]string{"inside": "Modified", "outside": "Modified"},
				Objects:  map[string]string{"configmap exact/theme": "Unowned Unmarked", "configmap inexact/theme": "Unowned Unmarked"},
				Findings: []string{"FD102 configmap exact/theme", "FD102 configmap inexact/theme"}}
			want := inside.stamps()
			if stamped {
				unowned.Deployments["inside"], unowned.Findings = "Ready", unowned.Findings[1:]
				delete(unowned.Objects, "configmap exact/theme")
			} else {
				want = map[string]string{}
			}
			f.carries(want, mine)
			f.carries(map[string]string{}, theirs)
			expect(t, f.audit(), unowned)
			f.remove(mine)
			admin.must("creating it", admin.Create(t.Context(), object("v1", "ConfigMap", "exact", "theme")))
			f.carries(want, mine)
			if got := admin.told(); got != "" {
				t.Errorf("warnings: %s", got)
			}
		})
	}
}

// awaitExact returns when the third webhook is called for a namespace.
func (h *hook) awaitExact(namespace string) {
	h.t.Helper()
	poll.Until(h.t, func() error {
		before := h.counted("stamp-exact", "", "")
		if err := h.Client().Create(h.t.Context(), object("v1", "ConfigMap", namespace, "is-it-called"), client.DryRunAll); err != nil {
			return err
		}
		if h.counted("stamp-exact", "", "") == before {
			return fmt.Errorf("stamp-exact is not called for namespace %s", namespace)
		}
		return nil
	})
}

// TestWebhookForeign has a desired object come with the marks of somebody else. Whoever lives keeps it, and both are named; whoever is gone
// does not.
func TestWebhookForeign(t *testing.T) {
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
		marks map[string]string
		says  []string // nothing where it is taken
		// whole says that hash and id are there: a later write that changes neither does not come here.
		whole bool
	}{
		"a bundle":                     {other.stamps(), []string{"bundle guestbook", "bundle other"}, true},
		"the id of a bundle":           {ownership.Metadata{SetID: other.options.SetID}.Values(), []string{"bundle guestbook", "bundle other"}, false},
		"a bundle, and Helm says ours": {of(ownership.Metadata{SetID: other.options.SetID, Hash: other.options.Hash}), []string{"bundle guestbook", "bundle other"}, true},
		"a release of Helm's":          {ownership.Metadata{ManagedBy: "Helm", ReleaseName: "chart", ReleaseNamespace: "tools"}.Values(), []string{"bundle guestbook", "Helm release tools/chart"}, false},
		"a set of Rancher's":           {of(ownership.Metadata{SetID: "monitoring", Hash: fleet.Hash("monitoring")}), []string{"bundle guestbook", `set "monitoring"`}, true},
		"a set that is gone":           {of(gone), nil, true},
		"a hash that is gone":          {of(ownership.Metadata{Hash: gone.Hash}), nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			admin, cm := f.person(""), configMap("texts")
			want := test.marks
			if test.says == nil {
				want = b.stamps()
			}
			check := func(by string) {
				t.Helper()
				f.carries(want, cm)
				if got := admin.told(); (got == "") != (test.says == nil) {
					t.Errorf("%s: warnings: %s", by, got)
				} else {
					says(t, by, got, test.says...)
				}
			}
			f.remove(cm)
			made := configMap("texts")
			labels, annotations := map[string]string{}, map[string]string{}
			for _, k := range ownership.Keys() {
				if v, ok := test.marks[k.Name]; ok && k.Label {
					labels[k.Name] = v
				} else if ok {
					annotations[k.Name] = v
				}
			}
			made.SetLabels(labels)
			made.SetAnnotations(annotations)
			admin.must("creating it", admin.Create(t.Context(), made))
			check("create")
			f.setMetadata(test.marks, cm)
			admin.must("changing it", admin.patch(cm, `{"data":{"touched":"yes"}}`))
			if !test.whole {
				check("update")
			}
		})
	}
}
