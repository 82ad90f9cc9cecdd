// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/test/poll"
)

// TestWebhookNotReady sends requests to the webhook before it has read the releases or the namespaces.
func TestWebhookNotReady(t *testing.T) {
	for _, delayed := range []string{"secrets", "namespaces"} {
		t.Run(delayed, func(t *testing.T) {
			f := newFleet(t, shared)
			b := f.deploy("guestbook", guestbook)
			f.remove(configMap("texts"))
			p := f.proxy()
			free := make(chan struct{})
			release := sync.OnceFunc(func() { close(free) })
			t.Cleanup(release)
			p.onRequest(func(r *http.Request) {
				if strings.HasSuffix(r.URL.Path, "/"+delayed) {
					select {
					case <-free:
					case <-r.Context().Done():
					}
				}
			})
			h := f.newWebhook("--kubeconfig", p.kubeconfig, "--guard-default=deny")
			h.start()
			poll.Until(t, func() error {
				if h.probe("livez") != http.StatusOK {
					return errors.New("the webhook is not alive")
				}
				return nil
			})
			h.register("default")
			h.awaitCalls()
			if status := h.probe("readyz"); status == http.StatusOK {
				t.Error("the webhook reports that it is ready")
			}
			admin, texts := f.clientAs(""), b.withHelmOwnership(configMap("texts"))
			admin.must("creating an object", admin.Create(t.Context(), texts.DeepCopy()))
			f.expectOwnership(b.helmOwnership(), texts)
			admin.must("removing metadata of another", admin.patchOwnership(configMap("settings"), noOwnership()))
			f.expectOwnership(map[string]string{}, configMap("settings"))
			admin.must("deleting a third", admin.Delete(t.Context(), object("v1", "Service", apps, "frontend")))
			if got := admin.takeWarnings(); got != "" {
				t.Errorf("warnings: %s", got)
			}
			if passed, all := h.requestCount("", "passed", "NotReady"), h.requestCount("", "", ""); passed != all ||
				all == 0 {
				t.Errorf("%d of %d requests passed with the reason NotReady", passed, all)
			}

			release()
			h.awaitReady()
			admin.must("changing it", admin.patch(texts, `{"data":{"touched":"yes"}}`))
			f.expectOwnership(b.ownership(), texts)
			if err := admin.Delete(t.Context(), texts); err == nil {
				t.Error("an owned object could be deleted under deny")
			}
		})
	}
}

// TestWebhookLateRecord creates an object before the record that desires it, then deletes the record and creates a
// pending one.
func TestWebhookLateRecord(t *testing.T) {
	f := newFleet(t, shared)
	b := f.deploy("guestbook", guestbook)
	h := f.serveWebhook("default")
	h.awaitObjects(3)
	record := withoutServerFields(f.get(b.record(1)))
	b.writeRecord(2, "pending-upgrade", 0)
	pending := withoutServerFields(f.get(b.record(2)))
	f.removeRecords(b)
	h.awaitObjects(0)
	admin, texts := f.clientAs(""), b.withHelmOwnership(configMap("texts"))
	write := func() {
		t.Helper()
		f.merge("somebody", texts, `{"data":{"at":"`+f.get(texts).GetResourceVersion()+`"}}`)
	}

	f.remove(texts)
	admin.must("creating it early", admin.Create(t.Context(), texts.DeepCopy()))
	f.expectOwnership(b.helmOwnership(), texts)
	admin.must("the record comes", admin.Create(t.Context(), record.DeepCopy()))
	h.awaitObjects(3)
	f.expectOwnership(b.helmOwnership(), texts) // no write since then
	write()
	f.expectOwnership(b.ownership(), texts)

	f.remove(b.record(1))
	h.awaitObjects(0)
	admin.must("removing metadata of an undesired object",
		admin.patchOwnership(texts, map[string]any{fleet.HashLabel: nil, fleet.IDAnnotation: nil}))
	f.expectOwnership(b.helmOwnership(), texts)
	write()
	f.expectOwnership(b.helmOwnership(), texts)
	admin.must("deleting an undesired object", admin.Delete(t.Context(), object("v1", "Service", apps, "frontend")))

	admin.must("a pending record comes", admin.Create(t.Context(), pending.DeepCopy()))
	h.awaitObjects(3)
	write()
	f.expectOwnership(b.ownership(), texts)
	f.remove(b.record(2))
	h.awaitObjects(0)
	if got := admin.takeWarnings(); got != "" {
		t.Errorf("warnings: %s", got)
	}
}

// TestWebhookUpgrade upgrades a release. The webhook handles the newly desired objects, and no longer the previous
// ones.
func TestWebhookUpgrade(t *testing.T) {
	f := newFleet(t, shared)
	b := f.deploy("guestbook", guestbook)
	h := f.serveWebhook("default")
	h.awaitObjects(3)
	b.upgrade(theme)
	h.awaitObjects(1)
	admin := f.clientAs("")
	dropped, added := b.withHelmOwnership(configMap("texts")), b.withHelmOwnership(configMap("theme"))
	admin.must("creating a dropped object", admin.Create(t.Context(), dropped.DeepCopy()))
	f.expectOwnership(b.helmOwnership(), dropped)
	if got := admin.takeWarnings(); got != "" {
		t.Errorf("warnings about an undesired object: %s", got)
	}
	admin.must("deleting an added object", admin.Delete(t.Context(), added.DeepCopy()))
	expectContains(t, "the warning", admin.takeWarnings(), "fleetdoctor/Deleted", "bundle guestbook", "0/1")
	admin.must("creating an added object", admin.Create(t.Context(), added.DeepCopy()))
	f.expectOwnership(b.ownership(), added)
	expect(t, f.audit(), outcome{Deployments: map[string]string{"guestbook": "Ready"}})
	b.upgrade(guestbook) // also over the object that another client has created
	h.awaitObjects(3)
	f.expectOwnership(b.ownership(), guestbookObjects()...)
}

// TestWebhookContested has two bundles that desire one object. Helm's annotations decide; without them, the
// warning names both bundles.
func TestWebhookContested(t *testing.T) {
	f := newFleet(t, shared)
	f.labelNamespace(apps, map[string]string{"fleetdoctor.io/adopt": "exact"})
	bundles := map[string]*bundle{}
	for _, name := range []string{"first", "second"} {
		b := f.bundle(name, theme)
		b.options.TakeOwnership = true
		bundles[name] = b.deploy()
	}
	h := f.serveWebhook("exact")
	h.awaitExact(apps)
	h.awaitObjects(2)
	admin, bare := f.clientAs(""), configMap("theme")
	recreate := func(obj *unstructured.Unstructured) string {
		t.Helper()
		admin.must("deleting it", client.IgnoreNotFound(admin.Delete(t.Context(), bare.DeepCopy())))
		admin.takeWarnings()
		admin.must("creating it", admin.Create(t.Context(), obj.DeepCopy()))
		return admin.takeWarnings()
	}
	expectContains(t, "the warning about an object without metadata", recreate(bare), "bundle first", "bundle second",
		"fleetdoctor/Contested")
	f.expectOwnership(map[string]string{}, bare)
	for name, b := range bundles {
		if warnings := recreate(b.withHelmOwnership(configMap("theme"))); warnings != "" {
			t.Errorf("Helm's metadata of %s: warnings %s", name, warnings)
		}
		f.expectOwnership(b.ownership(), bare)
		admin.must("removing the hash", admin.patchOwnership(bare, map[string]any{fleet.HashLabel: nil}))
		expectContains(t, "the warning", admin.takeWarnings(), "fleetdoctor/Stripped", "bundle "+name, "0/1")
		f.expectOwnership(b.ownership(), bare)
	}
	theirs := configMap("theme")
	theirs.SetLabels(map[string]string{fleet.ManagedByLabel: "Helm"})
	theirs.SetAnnotations(map[string]string{fleet.ReleaseNameAnnotation: "chart",
		fleet.ReleaseNamespaceAnnotation: "tools"})
	expectContains(t, "the warning about an object of another release", recreate(theirs), "fleetdoctor/Contested",
		"bundle first", "bundle second")
}
