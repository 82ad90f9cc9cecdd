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

// TestWebhookCold has requests reach the webhook before it knows any release: the server does not answer it yet.
func TestWebhookCold(t *testing.T) {
	for _, held := range []string{"secrets", "namespaces"} {
		t.Run(held, func(t *testing.T) {
			f := newFleet(t, shared)
			b := f.deploy("guestbook", guestbook)
			f.remove(configMap("texts"))
			p := f.proxy()
			free := make(chan struct{})
			letGo := sync.OnceFunc(func() { close(free) })
			t.Cleanup(letGo)
			p.intercept(func(r *http.Request) {
				if strings.HasSuffix(r.URL.Path, "/"+held) {
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
					return errors.New("it is not alive")
				}
				return nil
			})
			h.register("default")
			h.awaitCalls()
			if status := h.probe("readyz"); status == http.StatusOK {
				t.Error("it says that it is ready")
			}
			admin, texts := f.person(""), b.helmMarked(configMap("texts"))
			admin.must("creating an object", admin.Create(t.Context(), texts.DeepCopy()))
			f.carries(b.helmOnly(), texts)
			admin.must("stripping another", admin.remark(configMap("settings"), none()))
			f.carries(map[string]string{}, configMap("settings"))
			admin.must("deleting a third", admin.Delete(t.Context(), object("v1", "Service", apps, "frontend")))
			if got := admin.told(); got != "" {
				t.Errorf("warnings: %s", got)
			}
			if passed, all := h.counted("", "passed", "NotReady"), h.counted("", "", ""); passed != all || all == 0 {
				t.Errorf("%d of %d requests passed for that it was not ready", passed, all)
			}

			letGo()
			h.awaitReady()
			admin.must("changing it", admin.patch(texts, `{"data":{"touched":"yes"}}`))
			f.carries(b.stamps(), texts)
			if err := admin.Delete(t.Context(), texts); err == nil {
				t.Error("an owned object could be deleted under deny")
			}
		})
	}
}

// TestWebhookRecordComesLate has an object come before the record that desires it; then the record goes, and comes back as one that Helm is
// still at work on.
func TestWebhookRecordComesLate(t *testing.T) {
	f := newFleet(t, shared)
	b := f.deploy("guestbook", guestbook)
	h := f.serveWebhook("default")
	h.knows(3)
	record := fresh(f.get(b.record(1)))
	b.writeRecord(2, "pending-upgrade")
	pending := fresh(f.get(b.record(2)))
	f.removeRecords(b)
	h.knows(0)
	admin, texts := f.person(""), b.helmMarked(configMap("texts"))
	write := func() {
		t.Helper()
		f.merge("somebody", texts, `{"data":{"at":"`+f.get(texts).GetResourceVersion()+`"}}`)
	}

	f.remove(texts)
	admin.must("creating it early", admin.Create(t.Context(), texts.DeepCopy()))
	f.carries(b.helmOnly(), texts)
	admin.must("the record comes", admin.Create(t.Context(), record.DeepCopy()))
	h.knows(3)
	f.carries(b.helmOnly(), texts) // nobody writes to it
	write()
	f.carries(b.stamps(), texts)

	f.remove(b.record(1))
	h.knows(0)
	admin.must("stripping what nobody desires", admin.remark(texts, map[string]any{fleet.HashLabel: nil, fleet.IDAnnotation: nil}))
	f.carries(b.helmOnly(), texts)
	write()
	f.carries(b.helmOnly(), texts)
	admin.must("deleting what nobody desires", admin.Delete(t.Context(), object("v1", "Service", apps, "frontend")))

	admin.must("a pending record comes", admin.Create(t.Context(), pending.DeepCopy()))
	h.knows(3)
	write()
	f.carries(b.stamps(), texts)
	f.remove(b.record(2))
	h.knows(0)
	if got := admin.told(); got != "" {
		t.Errorf("warnings: %s", got)
	}
}

// TestWebhookUpgraded upgrades a release. What it desires from now on is stamped and guarded, and what it desired before is not.
func TestWebhookUpgraded(t *testing.T) {
	f := newFleet(t, shared)
	b := f.deploy("guestbook", guestbook)
	h := f.serveWebhook("default")
	h.knows(3)
	b.upgrade(theme)
	h.knows(1)
	admin := f.person("")
	dropped, added := b.helmMarked(configMap("texts")), b.helmMarked(configMap("theme"))
	admin.must("creating what was dropped", admin.Create(t.Context(), dropped.DeepCopy()))
	f.carries(b.helmOnly(), dropped)
	if got := admin.told(); got != "" {
		t.Errorf("warnings about what is not desired: %s", got)
	}
	admin.must("deleting what was added", admin.Delete(t.Context(), added.DeepCopy()))
	says(t, "the warning", admin.told(), "guestbook will be at most 0/1")
	admin.must("creating what was added", admin.Create(t.Context(), added.DeepCopy()))
	f.carries(b.stamps(), added)
	expect(t, f.audit(), outcome{Deployments: map[string]string{"guestbook": "Ready"}})
	b.upgrade(guestbook) // as Fleet does it, over what somebody else has made meanwhile
	h.knows(3)
	f.carries(b.stamps(), parts()...)
}

// TestWebhookContested has two bundles desire an object. It is whose it says it is; where it says nothing, nobody's, and both are named.
func TestWebhookContested(t *testing.T) {
	f := newFleet(t, shared)
	f.labelled(apps, map[string]string{"fleetdoctor.io/adopt": "exact"})
	bundles := map[string]*bundle{}
	for _, name := range []string{"first", "second"} {
		b := f.bundle(name, theme)
		b.options.TakeOwnership = true
		bundles[name] = b.deploy()
	}
	h := f.serveWebhook("exact")
	h.awaitExact(apps)
	h.knows(2)
	admin, bare := f.person(""), configMap("theme")
	remake := func(obj *unstructured.Unstructured) string {
		t.Helper()
		admin.must("deleting it", client.IgnoreNotFound(admin.Delete(t.Context(), bare.DeepCopy())))
		admin.told()
		admin.must("creating it", admin.Create(t.Context(), obj.DeepCopy()))
		return admin.told()
	}
	says(t, "the warning about a bare object", remake(bare), "bundle first", "bundle second", "fleetdoctor/Contested")
	f.carries(map[string]string{}, bare)
	for name, b := range bundles {
		if told := remake(b.helmMarked(configMap("theme"))); told != "" {
			t.Errorf("as Helm says, it is %s's: warnings %s", name, told)
		}
		f.carries(b.stamps(), bare)
		admin.must("stripping it", admin.remark(bare, map[string]any{fleet.HashLabel: nil}))
		says(t, "the warning", admin.told(), "bundle "+name, name+" will be at most 0/1")
		f.carries(b.stamps(), bare)
	}
	theirs := configMap("theme")
	theirs.SetLabels(map[string]string{fleet.ManagedByLabel: "Helm"})
	theirs.SetAnnotations(map[string]string{fleet.ReleaseNameAnnotation: "chart", fleet.ReleaseNamespaceAnnotation: "tools"})
	says(t, "the warning about an object of somebody else", remake(theirs), "fleetdoctor/Contested", "bundle first", "bundle second")
}
