// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"encoding/json"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
	"github.com/fleetdoctor/kubectl-fleetdoctor/test/poll"
)

// TestWebhookDryRun checks that dry runs get the same response as other requests.
func TestWebhookDryRun(t *testing.T) {
	f := newFleet(t, shared)
	b := f.deploy("guestbook", guestbook)
	h := f.serveWebhook("default")
	admin := f.clientAs("")
	f.remove(configMap("texts"))
	created := b.withHelmOwnership(configMap("texts"))
	admin.must("creating it", admin.Create(t.Context(), created, client.DryRunAll))
	if err := compareOwnership(b.ownership(), created); err != nil {
		t.Error(err)
	}
	if err := f.Client().Get(t.Context(), client.ObjectKeyFromObject(created),
		configMap("texts")); !apierrors.IsNotFound(err) {
		t.Errorf("a dry run stored something: %v", err)
	}

	f.setOwnershipAsAdopt(b.helmOwnership(), configMap("settings"))
	before := f.get(configMap("settings"))
	changed := before.DeepCopy()
	changed.SetLabels(map[string]string{fleet.ManagedByLabel: "Helm", "touched": "yes"})
	admin.must("updating it", admin.Update(t.Context(), changed, client.DryRunAll))
	if err := compareOwnership(b.ownership(), changed); err != nil {
		t.Error(err)
	}
	shown := &unstructured.Unstructured{}
	out := f.kubectl(asList(t, []*unstructured.Unstructured{b.withHelmOwnership(configMap("settings"))}), "apply",
		"--server-side", "--force-conflicts",
		"--dry-run=server", "-o", "json", "-f", "-")
	if err := json.Unmarshal([]byte(out), shown); err != nil {
		t.Fatal(err)
	}
	if shown.IsList() {
		items, err := shown.ToList()
		if err != nil || len(items.Items) != 1 {
			t.Fatalf("kubectl shows %s (%v)", out, err)
		}
		shown = &items.Items[0]
	}
	if err := compareOwnership(b.ownership(), shown); err != nil {
		t.Errorf("kubectl apply --dry-run=server: %v", err)
	}
	f.expectUnchanged(before)
	for range 100 { // the rate limit does not count dry runs
		admin.must("updating it", admin.patch(configMap("settings"), `{"data":{"a":"b"}}`, client.DryRunAll))
	}
	if warnings := admin.takeWarnings(); warnings != "" || h.gauge("brakes_total") != 0 {
		t.Errorf("warnings: %s", warnings)
	}
	f.expectUnchanged(before)
}

// TestWebhookServerSideApply applies an object twice by one manager and once by another. The webhook adds the
// metadata after the server has computed the managers: the added keys have no manager, and stay.
func TestWebhookServerSideApply(t *testing.T) {
	f := newFleet(t, shared)
	b := f.deploy("guestbook", guestbook)
	h := f.serveWebhook("default")
	texts := configMap("texts")
	f.remove(texts)
	desired := b.withHelmOwnership(configMap("texts"))
	desired.Object["data"] = map[string]any{"greeting": "hello"}
	f.Apply(t, "team", desired)
	first := f.get(texts)
	for _, manager := range []string{"team", "team", "platform"} {
		f.Apply(t, manager, desired)
		f.expectOwnership(b.ownership(), texts)
	}
	if again := f.get(texts); again.GetUID() != first.GetUID() {
		t.Error("the object was created again")
	}
	if got := h.requestCount("stamp", "stamped", ""); got != 1 {
		t.Errorf("%d requests were stamped, want one: the metadata stays", got)
	}
	for _, entry := range f.get(texts).GetManagedFields() {
		for _, path := range fieldPaths(t, entry) {
			if strings.HasSuffix(path, "f:"+fleet.HashLabel) || strings.HasSuffix(path, "f:"+fleet.IDAnnotation) {
				t.Errorf("%s manages %s", entry.Manager, path)
			}
		}
	}
	setBy := map[string]string{}
	for _, m := range f.owner("configmap/apps/texts").Metadata {
		setBy[m.Key] = m.Who
	}
	for _, key := range []string{fleet.HashLabel, fleet.IDAnnotation} {
		expectContains(t, "owner of "+key, setBy[key], "set at admission")
	}
	expectContains(t, "owner of Helm's key", setBy[fleet.ReleaseNameAnnotation], "(Apply)")
	expect(t, f.audit("--require-complete"), outcome{Deployments: map[string]string{"guestbook": "Ready"}})
}

// owner runs the verb owner.
func (f *fleetServer) owner(name string) report.OwnedObject {
	f.t.Helper()
	r := run(f.t.Context(), f.t, "owner", "--kubeconfig", f.kubeconfig, "-o", "json", name)
	document := &report.Ownership{}
	if err := json.Unmarshal([]byte(r.stdout), document); err != nil || len(document.Objects) != 1 {
		f.t.Fatalf("owner %s: %v\n%s%s", name, err, r.stdout, r.stderr)
	}
	return document.Objects[0]
}

// TestWebhookAdoptAndUndo adopts and undoes while the webhook runs. The restored metadata stays until the next
// write of another client.
func TestWebhookAdoptAndUndo(t *testing.T) {
	f := newFleet(t, shared)
	b := f.deploy("guestbook", guestbook)
	f.setOwnershipAsAdopt(b.helmOwnership(), configMap("settings"))
	f.setOwnershipAsAdopt(nil, configMap("texts"))
	f.serveWebhook("default")
	admin := f.clientAs("")
	unowned := outcome{Status: 1, Deployments: map[string]string{"guestbook": "Modified"},
		Objects:  map[string]string{settings: "Unowned HelmOnly", textsKey: "Unowned Unmarked"},
		Findings: []string{"FD102 " + settings, "FD102 " + textsKey}}
	expect(t, f.audit(), unowned)
	before := f.getAll(guestbookObjects()[:2]...)
	a := f.adopt("--yes")
	expectAdoption(t, a, 0, map[string]string{settings: "Adopt OwnRelease Done", textsKey: "Adopt NoMark Done"})
	f.expectOnlyOwnership(b.ownership(), before...)
	expect(t, f.audit(), outcome{Deployments: map[string]string{"guestbook": "Ready"}})

	expectAdoption(t, f.undo(a.receipt), 0, map[string]string{settings: "Restore Done", textsKey: "Restore Done"})
	f.expectRestored(before...)
	expect(t, f.audit(), unowned)
	admin.must("writing to one", admin.patch(configMap("settings"), `{"data":{"touched":"yes"}}`))
	admin.must("writing to the other", admin.patch(configMap("texts"), `{"data":{"touched":"yes"}}`))
	f.expectOwnership(b.ownership(), configMap("settings"))
	f.expectOwnership(map[string]string{}, configMap("texts"))
	if warnings := admin.takeWarnings(); warnings != "" {
		t.Errorf("warnings: %s", warnings)
	}
}

// TestWebhookUndoUnderDeny undoes an adoption in a namespace with the mode deny. The webhook permits it.
func TestWebhookUndoUnderDeny(t *testing.T) {
	f := newFleet(t, shared)
	b, objs := f.deployEleven()
	f.setOwnershipAsAdopt(nil, objs[:3]...)
	f.serveWebhook("default", "--guard-default=deny")
	b.awaitGuardMode("deny", objs[5])
	before := f.getAll(objs[:3]...)
	a := f.adopt("--yes")
	if a.status != 0 || a.document == nil || len(a.document.Objects) != 3 {
		t.Fatalf("adopting: status %d: %s%s", a.status, a.stdout, a.stderr)
	}
	f.expectOwnership(b.ownership(), objs...)
	if undone := f.undo(a.receipt); undone.status != 0 {
		t.Errorf("undoing: status %d: %s%s", undone.status, undone.stdout, undone.stderr)
	}
	f.expectRestored(before...)
}

// TestWebhookIgnore sets and removes the opt-out label on an object and on a namespace.
func TestWebhookIgnore(t *testing.T) {
	f := newFleet(t, shared)
	b, objs := f.deployEleven()
	h := f.serveWebhook("default", "--guard-default=deny")
	b.awaitGuardMode("deny", objs[0])
	admin := f.clientAs("")
	label := func(obj *unstructured.Unstructured, value string) {
		t.Helper()
		admin.must("labelling it", admin.patch(obj, `{"metadata":{"labels":{"fleetdoctor.io/ignore":`+value+`}}}`))
	}
	expectIgnored := func(obj *unstructured.Unstructured) {
		t.Helper()
		calls := h.requestCount("", "", "")
		admin.must("removing metadata of an ignored object", admin.patchOwnership(obj, noOwnership()))
		f.expectOwnership(map[string]string{}, obj)
		admin.must("writing Helm's metadata", admin.patchOwnership(obj, anyValues(b.helmOwnership())))
		f.expectOwnership(b.helmOwnership(), obj)
		if got := h.requestCount("", "", "") - calls; got != 0 {
			t.Errorf("%d requests for an ignored object reached the webhook", got)
		}
	}
	expectGuarded := func(obj *unstructured.Unstructured) {
		t.Helper()
		f.merge("somebody", obj, `{"data":{"touched":"yes"}}`)
		f.expectOwnership(b.ownership(), obj)
		if err := admin.patchOwnership(obj, noOwnership()); !apierrors.IsForbidden(err) {
			t.Errorf("removing metadata is not denied: %v", err)
		}
		if err := admin.Delete(t.Context(), obj.DeepCopy()); !apierrors.IsForbidden(err) {
			t.Errorf("a deletion is not denied: %v", err)
		}
	}
	label(objs[0], `"true"`)
	expectIgnored(objs[0])
	label(objs[0], `null`) // Helm's metadata decides: the request that removes the label is stamped
	f.expectOwnership(b.ownership(), objs[0])
	expectGuarded(objs[0])
	label(objs[0], `"false"`)
	expectGuarded(objs[0])

	f.labelNamespace("guarded", map[string]string{"fleetdoctor.io/ignore": "true"})
	b.awaitGuardMode("off", objs[1])
	h.awaitNotCalled(b, "guarded")
	expectIgnored(objs[1])
	f.labelNamespace("guarded", map[string]string{"fleetdoctor.io/ignore": ""})
	poll.Until(t, func() error {
		dry := f.get(objs[1])
		if err := f.Client().Update(t.Context(), dry, client.DryRunAll); err != nil {
			return err
		}
		return compareOwnership(b.ownership(), dry)
	})
	b.awaitGuardMode("deny", objs[2])
	expectGuarded(objs[1])
	if warnings := admin.takeWarnings(); warnings != "" {
		t.Errorf("warnings: %s", warnings)
	}
}
