// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"maps"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/test/cluster"
	"github.com/fleetdoctor/kubectl-fleetdoctor/test/poll"
)

// calls is the number of requests that reach the webhook while do runs, by handler.
func (h *webhookProcess) calls(do func()) map[string]int {
	h.t.Helper()
	handlers := []string{"stamp", "stamp-exact", "guard"}
	out := map[string]int{}
	for _, name := range handlers {
		out[name] = -h.requestCount(name, "", "")
	}
	do()
	for _, name := range handlers {
		if out[name] += h.requestCount(name, "", ""); out[name] == 0 {
			delete(out, name)
		}
	}
	return out
}

// expectCalls compares the exact number of requests that reach the webhook.
func (h *webhookProcess) expectCalls(what string, want map[string]int, do func()) {
	h.t.Helper()
	got := h.calls(do)
	h.t.Logf("%s: %v", what, got)
	if !maps.Equal(got, want) {
		h.t.Errorf("%s: calls %v, want %v", what, got, want)
	}
}

// TestWebhookUnrelated sends requests that cannot concern a bundle. None of them reaches the webhook.
func TestWebhookUnrelated(t *testing.T) {
	for _, variant := range []string{"default", "exact"} {
		t.Run(variant, func(t *testing.T) {
			f := newFleet(t, shared)
			b, objs := f.deployMixed()
			f.labelNamespace("managed", map[string]string{"fleet.cattle.io/managed": "true"})
			f.labelNamespace("ignored", map[string]string{"fleetdoctor.io/ignore": "true"})
			h := f.serveWebhook(variant)
			h.awaitNotCalled(b, "managed", "ignored")
			for name, do := range unrelated(b, objs) {
				h.expectCalls(name, nil, func() { do(t) })
			}
		})
	}
}

// awaitNotCalled returns when the server uses the new labels of namespaces and does not call the webhook for their
// objects.
func (h *webhookProcess) awaitNotCalled(b *bundle, namespaces ...string) {
	h.t.Helper()
	admin := h.clientAs("")
	for _, ns := range namespaces {
		poll.Until(h.t, func() error {
			var err error
			calls := h.calls(func() {
				err = admin.Create(h.t.Context(), b.withHelmOwnership(object("v1", "ConfigMap", ns, "is-it-called")),
					client.DryRunAll)
			})
			if err == nil && len(calls) > 0 {
				return fmt.Errorf("the webhook is still called for namespace %s", ns)
			}
			return err
		})
	}
}

// unrelated are requests that cannot concern a bundle. objs have their complete ownership metadata.
func unrelated(b *bundle, objs []*unstructured.Unstructured) map[string]func(*testing.T) {
	admin, agent := b.clientAs(""), b.clientAs(account(agentNamespace, "fleet-agent"))
	cycle := func(p *userClient, obj *unstructured.Unstructured) func(*testing.T) {
		return func(t *testing.T) {
			t.Helper()
			p.must("creating it", p.Create(t.Context(), obj.DeepCopy()))
			p.must("patching it", p.patch(obj, `{"metadata":{"labels":{"touched":"yes"}}}`))
			live := b.get(obj)
			live.SetAnnotations(map[string]string{"example.com/touched": "yes"})
			p.must("updating it", p.Update(t.Context(), live))
			b.Apply(t, "somebody", withoutServerFields(live))
			p.must("deleting it", p.Delete(t.Context(), obj.DeepCopy()))
		}
	}
	in := func(namespace string) *unstructured.Unstructured {
		return b.withHelmOwnership(object("v1", "ConfigMap", namespace, "unrelated"))
	}
	foreign := configMap("unrelated")
	foreign.SetLabels(map[string]string{fleet.ManagedByLabel: "kustomize", "app": "some"})
	lease, event := object("coordination.k8s.io/v1", "Lease", apps, "unrelated"),
		object("v1", "Event", apps, "unrelated")
	event.Object["involvedObject"] = map[string]any{"kind": "ConfigMap", "namespace": apps, "name": "texts"}
	return map[string]func(*testing.T){
		"a plain object": cycle(admin, configMap("unrelated")),
		"a cluster-scoped one": cycle(admin, object("rbac.authorization.k8s.io/v1", "ClusterRole", "",
			"unrelated")),
		"a custom resource":              cycle(admin, object("example.com/v1", "Widget", apps, "unrelated")),
		"another manager's":              cycle(admin, foreign),
		"a lease with Helm's metadata":   cycle(admin, b.withHelmOwnership(lease)),
		"an event with Helm's metadata":  cycle(admin, b.withHelmOwnership(event)),
		"kube-system":                    cycle(admin, in("kube-system")),
		"Fleet's namespace":              cycle(admin, in(agentNamespace)),
		"a namespace that Fleet manages": cycle(admin, in("managed")),
		"an ignored namespace":           cycle(admin, in("ignored")),
		"status and scale": func(t *testing.T) {
			t.Helper()
			b.rollOut("frontend")
			scale := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"replicas": int64(2)}}}
			scale.SetAPIVersion("autoscaling/v1")
			scale.SetKind("Scale")
			admin.must("scaling", b.Client().SubResource("scale").Update(t.Context(), deployment("frontend"),
				client.WithSubResourceBody(scale)))
		},
		"reviews": func(t *testing.T) {
			t.Helper()
			access := &authorizationv1.SelfSubjectAccessReview{}
			access.Spec.NonResourceAttributes = &authorizationv1.NonResourceAttributes{Path: "/", Verb: "get"}
			admin.must("reviewing access", admin.Create(t.Context(), access))
			admin.must("reviewing the user", admin.Create(t.Context(), &authenticationv1.SelfSubjectReview{}))
		},
		"owned objects with other changes": func(t *testing.T) {
			t.Helper()
			for _, obj := range objs {
				admin.must("patching "+obj.GetName(), admin.patch(obj,
					`{"metadata":{"labels":{"touched":"twice"},"annotations":{"example.com/a":"b"}}}`))
				admin.must("updating "+obj.GetName(), admin.Update(t.Context(), b.get(obj)))
			}
		},
		"owned objects that Fleet creates": func(t *testing.T) {
			t.Helper()
			for _, live := range b.getAll(objs...) {
				created := withoutServerFields(live)
				created.SetName("more-" + live.GetName())
				agent.must("creating "+created.GetName(), agent.Create(t.Context(), created.DeepCopy()))
				agent.must("patching "+created.GetName(), agent.patch(created,
					`{"metadata":{"annotations":{"example.com/a":"b"}}}`))
				deleteAsGarbageCollector(t, b, created)
			}
		},
	}
}

// deleteAsGarbageCollector deletes an object as the garbage collector.
func deleteAsGarbageCollector(t *testing.T, b *bundle, obj *unstructured.Unstructured) {
	t.Helper()
	collector := b.clientAs(account("kube-system", "generic-garbage-collector"))
	collector.must("deleting "+obj.GetName(), collector.Delete(t.Context(), obj))
}

// TestWebhookCallsOfExact counts the requests that reach the webhook in a namespace with the label
// fleetdoctor.io/adopt=exact: every write of an object without metadata, except of kinds that are never desired.
func TestWebhookCallsOfExact(t *testing.T) {
	f := newFleet(t, shared)
	f.labelNamespace("exact", map[string]string{"fleetdoctor.io/adopt": "exact"})
	b := f.bundle("guestbook", theme)
	b.options.Namespace = "exact"
	b.deploy()
	h := f.serveWebhook("exact")
	h.awaitExact("exact")
	admin := f.clientAs("")
	cycle := func(obj *unstructured.Unstructured) func() {
		return func() {
			t.Helper()
			admin.must("creating it", admin.Create(t.Context(), obj.DeepCopy()))
			admin.must("changing it", admin.patch(obj, `{"metadata":{"labels":{"touched":"yes"}}}`))
			admin.must("deleting it", admin.Delete(t.Context(), obj.DeepCopy()))
		}
	}
	in := func(apiVersion, kind string) *unstructured.Unstructured {
		return object(apiVersion, kind, "exact", "unrelated")
	}
	event, record, controlled := in("v1", "Event"), in("v1", "Secret"), in("v1", "ConfigMap")
	event.Object["involvedObject"] = map[string]any{"kind": "ConfigMap", "namespace": "exact", "name": "theme"}
	record.Object["type"] = "helm.sh/release.v1"
	yes := true
	controlled.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: "theme", UID: "u",
		Controller: &yes}})
	h.expectCalls("an object without metadata", map[string]int{"stamp-exact": 2}, cycle(in("v1", "ConfigMap")))
	h.expectCalls("an object with Helm's metadata", map[string]int{"stamp": 2},
		cycle(b.withHelmOwnership(in("v1", "ConfigMap"))))
	h.expectCalls("a lease", nil, cycle(in("coordination.k8s.io/v1", "Lease")))
	h.expectCalls("an event", nil, cycle(event))
	h.expectCalls("a release record", nil, cycle(record))
	h.expectCalls("a controlled object", nil, cycle(controlled))
	h.expectCalls("an object without a namespace", nil, cycle(object("rbac.authorization.k8s.io/v1", "ClusterRole", "",
		"unrelated")))
	h.expectCalls("an owned object", nil, func() {
		f.merge("somebody", object("v1", "ConfigMap", "exact", "theme"), `{"data":{"touched":"yes"}}`)
	})
}

// fiveObjects is a release of five objects, without Fleet.
const fiveObjects = `
{apiVersion: v1, kind: ConfigMap, metadata: {name: one}, data: {a: %[1]q}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: two}, data: {a: %[1]q}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: three}, data: {a: always}}
---
{apiVersion: v1, kind: Secret, metadata: {name: four}, data: {a: aW52ZW50ZWQ=}}
---
{apiVersion: v1, kind: Service, metadata: {name: five}, spec: {ports: [{port: 80}]}}
`

// TestWebhookCallsOfHelm counts the requests of Helm without Fleet that reach the webhook: one for each write of
// an object, because no expression can tell its objects from those of a Fleet release. No record and no deletion
// reaches it.
func TestWebhookCallsOfHelm(t *testing.T) {
	for _, clientSide := range []bool{false, true} {
		t.Run(fmt.Sprintf("client-side apply %v", clientSide), func(t *testing.T) {
			f := newFleet(t, shared)
			h := f.serveWebhook("default")
			f.namespace("tools")
			o := cluster.ReleaseOptions{Name: "chart", Namespace: "tools", ClientSideApply: clientSide,
				Manifest: fmt.Sprintf(fiveObjects, "1")}
			h.expectCalls("install", map[string]int{"stamp": 5}, func() { f.InstallRelease(t, o) })
			o.Manifest = fmt.Sprintf(fiveObjects, "2")
			written := 5 // a server-side apply is sent even if it changes nothing
			if clientSide {
				written = 2
			}
			h.expectCalls("upgrade", map[string]int{"stamp": written}, func() { f.UpgradeRelease(t, o) })
			h.expectCalls("uninstall", nil, func() {
				if err := f.Uninstall(o); err != nil {
					t.Error(err)
				}
			})
			if got := h.requestCount("stamp", "", "NotWanted"); got != h.requestCount("stamp", "", "") {
				t.Errorf("%d requests were for objects that no bundle desires, of %d", got,
					h.requestCount("stamp", "", ""))
			}
		})
	}
}

// TestWebhookCallsOfFleet counts the requests of Fleet's agent that reach the webhook: only deletions.
func TestWebhookCallsOfFleet(t *testing.T) {
	f := newFleet(t, shared)
	h := f.serveWebhook("exact")
	b := f.bundle("guestbook", fmt.Sprintf(fiveObjects, "1"))
	b.options.User = account(agentNamespace, "fleet-agent")
	h.expectCalls("install", nil, func() { f.InstallRelease(t, b.options) })
	b.options.Manifest = fmt.Sprintf(fiveObjects, "2")
	h.expectCalls("upgrade", nil, func() { f.UpgradeRelease(t, b.options) })
	b.options.Manifest = theme
	h.expectCalls("upgrade that removes all", map[string]int{"guard": 5}, func() { f.UpgradeRelease(t, b.options) })
	h.expectCalls("uninstall", map[string]int{"guard": 1}, func() {
		if err := f.Uninstall(b.options); err != nil {
			t.Error(err)
		}
	})
	if got, all := h.requestCount("guard", "passed", ""), h.requestCount("guard", "", ""); got != all {
		t.Errorf("%d of %d deletions passed", got, all)
	}
}
