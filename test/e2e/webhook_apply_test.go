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

// TestWebhookDryRun has requests that store nothing answered as those that do.
func TestWebhookDryRun(t *testing.T) {
	f := newFleet(t, shared)
	b := f.deploy("guestbook", guestbook)
	h := f.serveWebhook("default")
	admin := f.person("")
	f.remove(configMap("texts"))
	would := b.helmMarked(configMap("texts"))
	admin.must("creating it", admin.Create(t.Context(), would, client.DryRunAll))
	if err := carry(b.stamps(), would); err != nil {
		t.Error(err)
	}
	if err := f.Client().Get(t.Context(), client.ObjectKeyFromObject(would), configMap("texts")); !apierrors.IsNotFound(err) {
		t.Errorf("a dry run stored something: %v", err)
	}

	f.setMetadata(b.helmOnly(), configMap("settings"))
	before := f.get(configMap("settings"))
	changed := before.DeepCopy()
	changed.SetLabels(map[string]string{fleet.ManagedByLabel: "Helm", "touched": "yes"})
	admin.must("updating it", admin.Update(t.Context(), changed, client.DryRunAll))
	if err := carry(b.stamps(), changed); err != nil {
		t.Error(err)
	}
	shown := &unstructured.Unstructured{}
	out := f.kubectl(asList(t, []*unstructured.Unstructured{b.helmMarked(configMap("settings"))}), "apply", "--server-side", "--force-conflicts",
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
	if err := carry(b.stamps(), shown); err != nil {
		t.Errorf("kubectl apply --dry-run=server: %v", err)
	}
	f.unchanged(before)
	for range 100 { // no brake counts what is not stored
		admin.must("updating it", admin.patch(configMap("settings"), `{"data":{"a":"b"}}`, client.DryRunAll))
	}
	if told := admin.told(); told != "" || h.gauge("brakes_total") != 0 {
		t.Errorf("warnings: %s", told)
	}
	f.unchanged(before)
}

// TestWebhookServerSideApply applies an object twice by the same manager, and once by another. The marks were set at admission, which comes
// after the server has computed who manages what: they are nobody's, and stay.
func TestWebhookServerSideApply(t *testing.T) {
	f := newFleet(t, shared)
	b := f.deploy("guestbook", guestbook)
	h := f.serveWebhook("default")
	texts := configMap("texts")
	f.remove(texts)
	desired := b.helmMarked(configMap("texts"))
	desired.Object["data"] = map[string]any{"greeting": "hello"}
	f.Apply(t, "team", desired)
	first := f.get(texts)
	for _, manager := range []string{"team", "team", "platform"} {
		f.Apply(t, manager, desired)
		f.carries(b.stamps(), texts)
	}
	if again := f.get(texts); again.GetUID() != first.GetUID() {
		t.Error("it is another object")
	}
	if got := h.counted("stamp", "stamped", ""); got != 1 {
		t.Errorf("%d requests were stamped, want one: the marks stayed", got)
	}
	for _, entry := range f.get(texts).GetManagedFields() {
		for _, path := range fieldPaths(t, entry) {
			if strings.HasSuffix(path, "f:"+fleet.HashLabel) || strings.HasSuffix(path, "f:"+fleet.IDAnnotation) {
				t.Errorf("%s manages %s", entry.Manager, path)
			}
		}
	}
	who := map[string]string{}
	for _, m := range f.owner("configmap/apps/texts").Marks {
		who[m.Key] = m.Who
	}
	for _, key := range []string{fleet.HashLabel, fleet.IDAnnotation} {
		says(t, "what owner says of "+key, who[key], "set at admission")
	}
	says(t, "what owner says of Helm's", who[fleet.ReleaseNameAnnotation], "(Apply)")
	expect(t, f.audit("--require-complete"), outcome{Deployments: map[string]string{"guestbook": "Ready"}})
}

// owner asks whose an object is.
func (f *fleetServer) owner(name string) report.OwnedObject {
	f.t.Helper()
	r := run(f.t.Context(), f.t, "owner", "--kubeconfig", f.kubeconfig, "-o", "json", name)
	document := &report.Ownership{}
	if err := json.Unmarshal([]byte(r.stdout), document); err != nil || len(document.Objects) != 1 {
		f.t.Fatalf("owner %s: %v\n%s%s", name, err, r.stdout, r.stderr)
	}
	return document.Objects[0]
}

// TestWebhookAdoptAndUndo adopts and takes it back while the webhook runs. The marks are gone then, until somebody else writes.
func TestWebhookAdoptAndUndo(t *testing.T) {
	f := newFleet(t, shared)
	b := f.deploy("guestbook", guestbook)
	f.setMetadata(b.helmOnly(), configMap("settings"))
	f.setMetadata(nil, configMap("texts"))
	f.serveWebhook("default")
	admin := f.person("")
	unowned := outcome{Status: 1, Deployments: map[string]string{"guestbook": "Modified"},
		Objects:  map[string]string{settings: "Unowned HelmOnly", textsKey: "Unowned Unmarked"},
		Findings: []string{"FD102 " + settings, "FD102 " + textsKey}}
	expect(t, f.audit(), unowned)
	before := f.getAll(parts()[:2]...)
	a := f.adopt("--yes")
	expectAdoption(t, a, 0, map[string]string{settings: "Adopt OwnRelease Done", textsKey: "Adopt NoMark Done"})
	f.onlyMarks(b.stamps(), before...)
	expect(t, f.audit(), outcome{Deployments: map[string]string{"guestbook": "Ready"}})

	expectAdoption(t, f.undo(a.receipt), 0, map[string]string{settings: "Restore Done", textsKey: "Restore Done"})
	f.restored(before...)
	expect(t, f.audit(), unowned)
	admin.must("writing to one", admin.patch(configMap("settings"), `{"data":{"touched":"yes"}}`))
	admin.must("writing to the other", admin.patch(configMap("texts"), `{"data":{"touched":"yes"}}`))
	f.carries(b.stamps(), configMap("settings"))
	f.carries(map[string]string{}, configMap("texts"))
	if told := admin.told(); told != "" {
		t.Errorf("warnings: %s", told)
	}
}

// TestWebhookUndoUnderDeny takes an adoption back in a guarded namespace: that is done on purpose.
func TestWebhookUndoUnderDeny(t *testing.T) {
	f := newFleet(t, shared)
	b, objs := f.eleven()
	f.setMetadata(nil, objs[:3]...)
	f.serveWebhook("default", "--guard-default=deny")
	b.awaitMode("deny", objs[5])
	before := f.getAll(objs[:3]...)
	a := f.adopt("--yes")
	if a.status != 0 || a.document == nil || len(a.document.Objects) != 3 {
		t.Fatalf("adopting: status %d: %s%s", a.status, a.stdout, a.stderr)
	}
	f.carries(b.stamps(), objs...)
	if undone := f.undo(a.receipt); undone.status != 0 {
		t.Errorf("undoing: status %d: %s%s", undone.status, undone.stdout, undone.stderr)
	}
	f.restored(before...)
}

// TestWebhookIgnore has the opt-out label on an object and on a namespace, set and taken away.
func TestWebhookIgnore(t *testing.T) {
	f := newFleet(t, shared)
	b, objs := f.eleven()
	h := f.serveWebhook("default", "--guard-default=deny")
	b.awaitMode("deny", objs[0])
	admin := f.person("")
	label := func(obj *unstructured.Unstructured, value string) {
		t.Helper()
		admin.must("labelling it", admin.patch(obj, `{"metadata":{"labels":{"fleetdoctor.io/ignore":`+value+`}}}`))
	}
	free := func(obj *unstructured.Unstructured) {
		t.Helper()
		calls := h.counted("", "", "")
		admin.must("stripping what is ignored", admin.remark(obj, none()))
		f.carries(map[string]string{}, obj)
		admin.must("writing Helm's marks", admin.remark(obj, toAny(b.helmOnly())))
		f.carries(b.helmOnly(), obj)
		if got := h.counted("", "", "") - calls; got != 0 {
			t.Errorf("%d requests about what is ignored reached the webhook", got)
		}
	}
	held := func(obj *unstructured.Unstructured) {
		t.Helper()
		f.merge("somebody", obj, `{"data":{"touched":"yes"}}`)
		f.carries(b.stamps(), obj)
		if err := admin.remark(obj, none()); !apierrors.IsForbidden(err) {
			t.Errorf("stripping is not denied: %v", err)
		}
		if err := admin.Delete(t.Context(), obj.DeepCopy()); !apierrors.IsForbidden(err) {
			t.Errorf("deleting is not denied: %v", err)
		}
	}
	label(objs[0], `"true"`)
	free(objs[0])
	label(objs[0], `null`) // Helm's marks say whose it is: stamped by the request that takes the label away
	f.carries(b.stamps(), objs[0])
	held(objs[0])
	label(objs[0], `"false"`)
	held(objs[0])

	f.labelled("guarded", map[string]string{"fleetdoctor.io/ignore": "true"})
	b.awaitMode("off", objs[1])
	h.awaitUncalled(b, "guarded")
	free(objs[1])
	f.labelled("guarded", map[string]string{"fleetdoctor.io/ignore": ""})
	poll.Until(t, func() error {
		dry := f.get(objs[1])
		if err := f.Client().Update(t.Context(), dry, client.DryRunAll); err != nil {
			return err
		}
		return carry(b.stamps(), dry)
	})
	b.awaitMode("deny", objs[2])
	held(objs[1])
	if told := admin.told(); told != "" {
		t.Errorf("warnings: %s", told)
	}
}
