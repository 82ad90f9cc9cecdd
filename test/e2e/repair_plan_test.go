// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/ownership"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

// sickShop has an object for each step that writes objects.
func sickShop(t *testing.T) (b *bundle, before []*unstructured.Unstructured, want map[string]string) {
	t.Helper()
	f := newFleet(t, shared)
	f.removeAtEnd(bound)
	b = f.deploy("shop", guestbook+"---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: kept, "+keep+"}}\n---\n"+
		strings.Split(fixed, "---\n")[2])
	b.upgrade(guestbook + "---\n" + strings.Split(fixed, "---\n")[2])
	f.removeOwnership(object("v1", "Service", apps, "frontend"))
	f.remove(configMap("texts"))
	f.merge("someone", configMap("settings"), `{"data":{"colour":"red"}}`)
	f.replace(bound, "writer", "roleRef", "name")
	return b, f.getAll(configMap("kept"), object("v1", "Service", apps, "frontend"), configMap("settings"), bound),
		map[string]string{"configmap apps/kept": "Remove", frontendKey: "Adopt NoMark", textsKey: "Create",
			settings: "Restore", keyOf(bound): "Recreate"}
}

// allowed permits all steps.
var allowed = []string{"--allow", "recreate,delete,deploy"}

// TestRepairIsReviewed shows a plan, and applies only the plan that was confirmed.
func TestRepairIsReviewed(t *testing.T) {
	b, before, want := sickShop(t)
	nothing := func(what string) {
		t.Helper()
		b.expectUnchanged(before...)
		b.expectGone(configMap("texts"))
		if t.Failed() {
			t.Fatalf("%s wrote to the cluster", what)
		}
	}
	plan := b.repair(allowed...)
	expectSteps(t, plan, 1, want)
	expectContains(t, "stderr", plan.stderr, "not applied", "--confirm="+plan.document.Digest)
	nothing("a plan")

	client := b.repair(append(allowed, "--dry-run=client", "--yes")...)
	expectSteps(t, client, 0, want)
	nothing("a dry run of the client")

	done := map[string]string{}
	for key, step := range want {
		done[key] = step + " Done"
	}
	server := b.repair(append(allowed, "--dry-run=server")...)
	expectSteps(t, server, 0, done)
	nothing("a dry run of the server")

	other := b.repair(append(allowed, "--confirm", strings.Repeat("0", 64))...)
	expectSteps(t, other, 1, want)
	expectContains(t, "stderr", other.stderr, "not applied", plan.document.Digest)
	nothing("another digest")

	b.merge("someone", configMap("settings"), `{"data":{"size":"small"}}`)
	before = b.getAll(before...)
	changed := b.repair(append(allowed, "--confirm", plan.document.Digest)...)
	expectSteps(t, changed, 1, want)
	nothing("the digest of an earlier plan")

	applied := b.repair(append(allowed, "--confirm", changed.document.Digest)...)
	expectSteps(t, applied, 0, done)
	expectReady(t, b.fleetServer, "after the repair")
	expectSteps(t, b.repair("--yes", "--undo", applied.receipt), 0, map[string]string{
		"configmap apps/kept": "Create Done", frontendKey: "Restore Done", textsKey: "Remove Done",
		settings: "Restore Done", keyOf(bound): "Create Done"})
	b.expectContent("after the undo", before...)
	b.expectGone(configMap("texts"))
}

// TestUndoOlderReceipt undoes a receipt as the version before repair wrote it.
func TestUndoOlderReceipt(t *testing.T) {
	b, before, a := adoptedGuestbook(t)
	uid := b.get(object("v1", "Namespace", "", "kube-system")).GetUID()
	lines := []string{fmt.Sprintf(`{"apiVersion":"fleetdoctor.io/v1alpha1","kind":"AdoptionReceipt","format":2,`+
		`"takenAt":"2026-01-02T03:04:05Z","version":"0.3.1","clusterUID":%q,"digest":"%064d","objects":%d`, uid, 0,
		len(before))}
	for _, obj := range before {
		encode := func(values map[string]string) string {
			text, err := json.Marshal(values)
			if err != nil {
				t.Fatal(err)
			}
			return string(text)
		}
		lines = append(lines, fmt.Sprintf(`{"apiVersion":%q,"kind":%q,"namespace":%q,"name":%q,"uid":%q,`+
			`"bundleDeployment":%q,"release":"apps/guestbook","before":%s,"after":%s`, obj.GetAPIVersion(),
			obj.GetKind(), obj.GetNamespace(), obj.GetName(), obj.GetUID(), b.key(),
			encode(ownershipOf(obj)), encode(b.ownership())))
	}
	var text bytes.Buffer
	digest := ""
	for _, line := range lines {
		digest = fmt.Sprintf("%x", sha256.Sum256([]byte(digest+line)))
		fmt.Fprintf(&text, "%s,\"chain\":%q}\n", line, digest)
	}
	text.WriteString(`{"entry":1,"outcome":"Done"}` + "\n")
	receipt := writeReceipt(t, text.Bytes())
	for verb, undo := range map[string]func(...string) adoption{"adopt": b.adopt, "repair": b.repair} {
		t.Run(verb, func(t *testing.T) {
			expectAdoption(t, undo("--yes", "--undo", receipt), 0,
				map[string]string{settings: "Restore Done", textsKey: "Restore Done", frontendKey: "Restore Done"})
			b.expectRestored(before...)
			if again := b.adopt("--yes"); again.status != 0 {
				t.Errorf("adopting again: status %d: %s", again.status, again.stderr)
			}
		})
	}
	if a.status != 0 {
		t.Errorf("status %d", a.status)
	}
}

// TestRepairChangedAfterPlan changes objects after the plan was made, before they are written. Nothing of these changes
// is lost.
func TestRepairChangedAfterPlan(t *testing.T) {
	for name, clientSide := range map[string]bool{"server-side": false, "client-side": true} {
		t.Run(name, func(t *testing.T) {
			f := newFleet(t, shared)
			objs, manifest := configMaps(7)
			b := f.bundle("items", manifest)
			b.options.ClientSideApply = clientSide
			b.deploy()
			for _, obj := range objs[:5] {
				f.merge("someone", obj, `{"data":{"number":"changed"}}`)
			}
			f.remove(objs[5])
			f.remove(objs[6])
			var once sync.Once
			p := f.proxy()
			p.onRequest(func(r *http.Request) {
				creates := r.Method == http.MethodPost && strings.Contains(r.URL.Path, "configmaps")
				if r.Method != http.MethodPatch && !creates || r.URL.Query().Has("dryRun") {
					return
				}
				once.Do(func() {
					f.merge("other", objs[0], `{"data":{"number":"newer"}}`)
					f.merge("other", objs[1], `{"data":{"more":"kept"},"metadata":{"annotations":{"note":"kept"}}}`)
					f.remove(objs[2])
					f.remove(objs[3])
					const again = "{apiVersion: v1, kind: ConfigMap, metadata: {name: %s, namespace: apps}, " +
						"data: {is: other}}"
					f.ApplyYAML(t, "kubectl", fmt.Sprintf(again, "item-03"))
					f.merge("other", objs[4], `{"metadata":{"labels":{"app":"other"}}}`)
					f.ApplyYAML(t, "kubectl", fmt.Sprintf(again, "item-05"))
				})
			})
			done := f.repair("--yes", "--kubeconfig", p.kubeconfig)
			expectSteps(t, done, 3, map[string]string{
				"configmap apps/item-00": "Restore Changed", "configmap apps/item-01": "Restore Done",
				"configmap apps/item-02": "Restore Changed", "configmap apps/item-03": "Restore Changed",
				"configmap apps/item-04": "Restore Done", "configmap apps/item-05": "Create Changed",
				"configmap apps/item-06": "Create Done"})
			for i, want := range []map[string]string{{"number": "newer"}, {"number": "1", "more": "kept"}, nil,
				{"is": "other"}, {"number": "4"}, {"is": "other"}, {"number": "6"}} {
				if want == nil {
					f.expectGone(objs[i])
					continue
				}
				got, _, err := unstructured.NestedStringMap(f.get(objs[i]).Object, "data")
				if err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
					t.Errorf("%s has %v (%v), want %v", objs[i].GetName(), got, err, want)
				}
			}
			if label := f.get(objs[4]).GetLabels()["app"]; label != "other" {
				t.Errorf("the label, which is not of the plan, is %q", label)
			}
			if undone := f.repair("--yes", "--undo", done.receipt); undone.object(t, keyOf(objs[5])).Action !=
				report.ActionRefuse {
				t.Errorf("the undo deletes the object of another program: %s", undone.stdout)
			}
			if note := f.get(objs[1]).GetAnnotations()["note"]; note != "kept" {
				t.Errorf("the annotation is %q", note)
			}
		})
	}
}

// TestRepairKilledWhileCreating kills the program while it creates objects. A second run creates the others. The
// receipt of the first run undoes what it is known to have created, and nothing else.
func TestRepairKilledWhileCreating(t *testing.T) {
	f := newFleet(t, shared)
	objs, manifest := configMaps(itemCount)
	b := f.deploy("items", manifest)
	for _, n := range []int{0, 7, itemCount} {
		t.Run(fmt.Sprintf("after %d writes", n), func(t *testing.T) {
			for _, obj := range f.getAll(objs...) {
				f.remove(obj)
			}
			receipt := filepath.Join(t.TempDir(), "receipt.jsonl")
			b.killVerb("repair", n, func() { awaitReceipt(t, receipt, n) }, "--receipt", receipt)
			if objects, settled := receiptOutcomes(t, receipt); objects != itemCount || settled["Done"] != n {
				t.Errorf("the receipt has %d objects and the outcomes %v", objects, settled)
			}
			second := f.repair("--yes")
			if second.status != 0 || second.document.Summary.Done != itemCount-n {
				t.Errorf("repairing again: status %d, %+v: %s", second.status, second.document.Summary, second.stderr)
			}
			expectReady(t, f, "after the second run")

			undone := f.repair("--yes", "--undo", receipt)
			s := undone.document.Summary
			if s.Done != n || s.Refused != itemCount-n {
				t.Errorf("undoing: %+v", s)
			}
			for _, o := range undone.document.Objects {
				if o.Action == report.ActionRefuse {
					expectContains(t, "the refusal", strings.Join(o.Refusals, ""),
						"not known whether the repair created it")
				}
			}
			if n < itemCount {
				if undone := f.repair("--yes", "--undo", second.receipt); undone.document.Summary.Done != itemCount-n {
					t.Errorf("undoing the second run: %+v", undone.document.Summary)
				}
			}
			for _, obj := range objs {
				f.expectGone(obj)
			}
			f.repair("--yes")
		})
	}
}

// TestRepairKilledWhileRestoring kills the program while it restores fields. The receipt undoes exactly what was
// written.
func TestRepairKilledWhileRestoring(t *testing.T) {
	f := newFleet(t, shared)
	objs, manifest := configMaps(itemCount)
	b := f.deploy("items", manifest)
	for _, obj := range objs {
		f.merge("someone", obj, `{"data":{"number":"changed"}}`)
	}
	before := f.getAll(objs...)
	receipt := filepath.Join(t.TempDir(), "receipt.jsonl")
	const written = 7 // after a dry run of each object
	b.killVerb("repair", itemCount+written, func() { awaitReceipt(t, receipt, written) }, "--receipt", receipt)
	restored := slices.DeleteFunc(f.getAll(objs...), func(obj *unstructured.Unstructured) bool {
		number, _, err := unstructured.NestedString(obj.Object, "data", "number")
		return err != nil || number == "changed"
	})
	if len(restored) != written {
		t.Errorf("%d objects were restored, want %d", len(restored), written)
	}
	undone := f.repair("--yes", "--undo", receipt)
	if s := undone.document.Summary; undone.status != 0 || s.Done != written || s.Unchanged != itemCount-written {
		t.Errorf("status %d, %+v: %s", undone.status, s, undone.stderr)
	}
	f.expectContent("after the undo", before...)
	if done := f.repair("--yes"); done.status != 0 || done.document.Summary.Done != itemCount {
		t.Errorf("repairing: status %d, %+v", done.status, done.document.Summary)
	}
	for _, obj := range f.getAll(objs...) {
		if slices.Contains(writers(obj), ownership.FieldManager+" Apply") {
			t.Errorf("%s was applied by %s", obj.GetName(), ownership.FieldManager)
		}
	}
	expectReady(t, f, "after the repair")
}
