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

// calls is how many requests more reached the webhook while something was done, by handler.
func (h *hook) calls(do func()) map[string]int {
	h.t.Helper()
	handlers := []string{"stamp", "stamp-exact", "guard"}
	out := map[string]int{}
	for _, name := range handlers {
		out[name] = -h.counted(name, "", "")
	}
	do()
	for _, name := range handlers {
		if out[name] += h.counted(name, "", ""); out[name] == 0 {
			delete(out, name)
		}
	}
	return out
}

// expectCalls holds how many requests reach the webhook, to the last.
func (h *hook) expectCalls(what string, want map[string]int, do func()) {
	h.t.Helper()
	got := h.calls(do)
	h.t.Logf("%s: %v", what, got)
	if !maps.Equal(got, want) {
		h.t.Errorf("%s: calls %v, want %v", what, got, want)
	}
}

// TestWebhookUnrelated makes requests of every sort that cannot matter. Not one of them leaves the API server.
func TestWebhookUnrelated(t *testing.T) {
	for _, overlay := range []string{"default", "exact"} {
		t.Run(overlay, func(t *testing.T) {
			f := newFleet(t, shared)
			b, objs := f.deployMixed()
			f.labelled("kept", map[string]string{"fleet.cattle.io/managed": "true"})
			f.labelled("ignored", map[string]string{"fleetdoctor.io/ignore": "true"})
			h := f.serveWebhook(overlay)
			h.awaitUncalled(b, "kept", "ignored")
			for name, do := range unrelated(b, objs) {
				h.expectCalls(name, nil, func() { do(t) })
			}
		})
	}
}

// awaitUncalled returns when the server knows the labels of namespaces: nothing about their objects is sent any more.
func (h *hook) awaitUncalled(b *bundle, namespaces ...string) {
	h.t.Helper()
	admin := h.person("")
	for _, ns := range namespaces {
		poll.Until(h.t, func() error {
			var err error
			calls := h.calls(func() {
				err = admin.Create(h.t.Context(), b.helmMarked(object("v1", "ConfigMap", ns, "is-it-called")), client.DryRunAll)
			})
			if err == nil && len(calls) > 0 {
				return fmt.Errorf("the webhook is called for namespace %s", ns)
			}
			return err
		})
	}
}

// unrelated are requests that cannot matter. objs are whole.
func unrelated(b *bundle, objs []*unstructured.Unstructured) map[string]func(*testing.T) {
	admin, agent := b.person(""), b.person(account(agentNamespace, "fleet-agent"))
	cycle := func(p *person, obj *unstructured.Unstructured) func(*testing.T) {
		return func(t *testing.T) {
			t.Helper()
			p.must("creating it", p.Create(t.Context(), obj.DeepCopy()))
			p.must("patching it", p.patch(obj, `{"metadata":{"labels":{"touched":"yes"}}}`))
			live := b.get(obj)
			live.SetAnnotations(map[string]string{"example.com/touched": "yes"})
			p.must("updating it", p.Update(t.Context(), live))
			b.Apply(t, "somebody", fresh(live))
			p.must("deleting it", p.Delete(t.Context(), obj.DeepCopy()))
		}
	}
	in := func(namespace string) *unstructured.Unstructured {
		return b.helmMarked(object("v1", "ConfigMap", namespace, "unrelated"))
	}
	foreign := configMap("unrelated")
	foreign.SetLabels(map[string]string{fleet.ManagedByLabel: "kustomize", "app": "some"})
	lease, event := object("coordination.k8s.io/v1", "Lease", apps, "unrelated"), object("v1", "Event", apps, "unrelated")
	event.Object["involvedObject"] = map[string]any{"kind": "ConfigMap", "namespace": apps, "name": "texts"}
	return map[string]func(*testing.T){
		"a plain object":                    cycle(admin, configMap("unrelated")),
		"a cluster-scoped one":              cycle(admin, object("rbac.authorization.k8s.io/v1", "ClusterRole", "", "unrelated")),
		"a custom resource":                 cycle(admin, object("example.com/v1", "Widget", apps, "unrelated")),
		"a foreign manager's":               cycle(admin, foreign),
		"a lease with Helm's marks":         cycle(admin, b.helmMarked(lease)),
		"an event with Helm's marks":        cycle(admin, b.helmMarked(event)),
		"kube-system":                       cycle(admin, in("kube-system")),
		"Fleet's namespace":                 cycle(admin, in(agentNamespace)),
		"a namespace that Fleet keeps":      cycle(admin, in("kept")),
		"a namespace that is to be ignored": cycle(admin, in("ignored")),
		"status and scale": func(t *testing.T) {
			t.Helper()
			b.rolledOut()
			scale := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"replicas": int64(2)}}}
			scale.SetAPIVersion("autoscaling/v1")
			scale.SetKind("Scale")
			admin.must("scaling", b.Client().SubResource("scale").Update(t.Context(), deployment("frontend"), client.WithSubResourceBody(scale)))
		},
		"reviews": func(t *testing.T) {
			t.Helper()
			admin.must("asking who may", admin.Create(t.Context(), &authorizationv1.SelfSubjectAccessReview{
				Spec: authorizationv1.SelfSubjectAccessReviewSpec{NonResourceAttributes: &authorizationv1.NonResourceAttributes{Path: "/", Verb: "get"}}}))
			admin.must("asking who is", admin.Create(t.Context(), &authenticationv1.SelfSubjectReview{}))
		},
		"owned objects that change beside their marks": func(t *testing.T) {
			t.Helper()
			for _, obj := range objs {
				admin.must("patching "+obj.GetName(), admin.patch(obj, `{"metadata":{"labels":{"touched":"twice"},"annotations":{"example.com/a":"b"}}}`))
				admin.must("updating "+obj.GetName(), admin.Update(t.Context(), b.get(obj)))
			}
		},
		"owned objects that Fleet makes anew": func(t *testing.T) {
			t.Helper()
			for _, live := range b.getAll(objs...) {
				made := fresh(live)
				made.SetName("more-" + live.GetName())
				agent.must("creating "+made.GetName(), agent.Create(t.Context(), made.DeepCopy()))
				agent.must("patching "+made.GetName(), agent.patch(made, `{"metadata":{"annotations":{"example.com/a":"b"}}}`))
				removeUnseen(t, b, made)
			}
		},
	}
}

// removeUnseen deletes a marked object as the garbage collector would.
func removeUnseen(t *testing.T, b *bundle, obj *unstructured.Unstructured) {
	t.Helper()
	collector := b.person(account("kube-system", "generic-garbage-collector"))
	collector.must("deleting "+obj.GetName(), collector.Delete(t.Context(), obj))
}

// TestWebhookCallsOfExact counts which requests reach the webhook in a namespace that asked for bare objects to be stamped too: every write of
// one, and of nothing that is never desired.
func TestWebhookCallsOfExact(t *testing.T) {
	f := newFleet(t, shared)
	f.labelled("exact", map[string]string{"fleetdoctor.io/adopt": "exact"})
	b := f.bundle("guestbook", theme)
	b.options.Namespace = "exact"
	b.deploy()
	h := f.serveWebhook("exact")
	h.awaitExact("exact")
	admin := f.person("")
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
	controlled.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: "theme", UID: "u", Controller: &yes}})
	h.expectCalls("a bare object", map[string]int{"stamp-exact": 2}, cycle(in("v1", "ConfigMap")))
	h.expectCalls("an object with Helm's marks", map[string]int{"stamp": 2}, cycle(b.helmMarked(in("v1", "ConfigMap"))))
	h.expectCalls("a lease", nil, cycle(in("coordination.k8s.io/v1", "Lease")))
	h.expectCalls("an event", nil, cycle(event))
	h.expectCalls("a release record", nil, cycle(record))
	h.expectCalls("a controlled object", nil, cycle(controlled))
	h.expectCalls("an object without a namespace", nil, cycle(object("rbac.authorization.k8s.io/v1", "ClusterRole", "", "unrelated")))
	h.expectCalls("an owned object", nil, func() {
		f.merge("somebody", object("v1", "ConfigMap", "exact", "theme"), `{"data":{"touched":"yes"}}`)
	})
}

// five is a release of five objects, of somebody who does not use Fleet.
const five = `
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

// TestWebhookCallsOfHelm counts which requests of plain Helm reach the webhook: no expression can tell an object that carries Helm's marks from
// one of a release of Fleet's. One for each object, at each write, and nothing else: no record, no deletion.
func TestWebhookCallsOfHelm(t *testing.T) {
	for _, clientSide := range []bool{false, true} {
		t.Run(fmt.Sprintf("client-side apply %v", clientSide), func(t *testing.T) {
			f := newFleet(t, shared)
			h := f.serveWebhook("default")
			f.namespace("tools")
			o := cluster.ReleaseOptions{Name: "chart", Namespace: "tools", ClientSideApply: clientSide, Manifest: fmt.Sprintf(five, "1")}
			h.expectCalls("install", map[string]int{"stamp": 5}, func() { f.InstallRelease(t, o) })
			o.Manifest = fmt.Sprintf(five, "2")
			written := 5 // a server-side apply is a request even where it changes nothing
			if clientSide {
				written = 2
			}
			h.expectCalls("upgrade", map[string]int{"stamp": written}, func() { f.UpgradeRelease(t, o) })
			h.expectCalls("uninstall", nil, func() {
				if err := f.Uninstall(o); err != nil {
					t.Error(err)
				}
			})
			if got := h.counted("stamp", "", "NotWanted"); got != h.counted("stamp", "", "") {
				t.Errorf("%d requests were about what no bundle desires, of %d", got, h.counted("stamp", "", ""))
			}
		})
	}
}

// TestWebhookCallsOfFleet counts which requests of Fleet's agent reach the webhook: what it deletes, alone.
func TestWebhookCallsOfFleet(t *testing.T) {
	f := newFleet(t, shared)
	h := f.serveWebhook("exact")
	b := f.bundle("guestbook", fmt.Sprintf(five, "1"))
	b.options.User = account(agentNamespace, "fleet-agent")
	h.expectCalls("install", nil, func() { f.InstallRelease(t, b.options) })
	b.options.Manifest = fmt.Sprintf(five, "2")
	h.expectCalls("upgrade", nil, func() { f.UpgradeRelease(t, b.options) })
	b.options.Manifest = theme
	h.expectCalls("upgrade that drops all", map[string]int{"guard": 5}, func() { f.UpgradeRelease(t, b.options) })
	h.expectCalls("uninstall", map[string]int{"guard": 1}, func() {
		if err := f.Uninstall(b.options); err != nil {
			t.Error(err)
		}
	})
	if got, all := h.counted("guard", "passed", ""), h.counted("guard", "", ""); got != all {
		t.Errorf("%d of %d deletions passed", got, all)
	}
}
