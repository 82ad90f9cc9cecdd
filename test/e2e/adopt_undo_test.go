// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/ownership"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/repair"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

// guestbookObjects are the three objects of the guestbook.
func guestbookObjects() []*unstructured.Unstructured {
	return []*unstructured.Unstructured{configMap("settings"), configMap("texts"),
		object("v1", "Service", apps, "frontend")}
}

const (
	textsKey    = "configmap apps/texts"
	frontendKey = "service apps/frontend"
)

// adoptedGuestbook deploys a guestbook, gives its objects three forms of unowned metadata, and adopts them.
func adoptedGuestbook(t *testing.T) (b *bundle, before []*unstructured.Unstructured, a adoption) {
	t.Helper()
	f := newFleet(t, shared)
	b = f.deploy("guestbook", guestbook)
	f.removeOwnership(configMap("settings"))
	f.setOwnership(configMap("texts"), ownership.Metadata{SetID: "default-gone", Hash: fleet.Hash("default-gone"),
		ManagedBy: "kustomize"}.Values())
	// an empty value is not a missing one
	f.setOwnership(object("v1", "Service", apps, "frontend"), map[string]string{fleet.IDAnnotation: "",
		fleet.ManagedByLabel: ""})
	before = f.getAll(guestbookObjects()...)
	a = f.adopt("--yes")
	expectAdoption(t, a, 0, map[string]string{settings: "Adopt NoMark Done", textsKey: "Adopt UnknownHash Done",
		frontendKey: "Adopt NoMark Done"})
	f.expectOnlyOwnership(b.ownership(), before...)
	return b, before, a
}

// TestUndo undoes an adoption twice.
func TestUndo(t *testing.T) {
	b, before, a := adoptedGuestbook(t)
	plan := b.adopt("--undo", a.receipt)
	expectAdoption(t, plan, 1, map[string]string{settings: "Restore", textsKey: "Restore", frontendKey: "Restore"})
	b.expectOnlyOwnership(b.ownership(), before...)
	expectContains(t, "the note", strings.Join(plan.document.Notes, "\n"), b.key())

	wrong := b.adopt("--undo", a.receipt, "--confirm", strings.Repeat("0", 64))
	if wrong.status != 1 {
		t.Errorf("another digest: status %d", wrong.status)
	}
	b.expectOnlyOwnership(b.ownership(), before...)

	expectAdoption(t, b.adopt("--undo", a.receipt, "--confirm", plan.document.Digest), 0,
		map[string]string{settings: "Restore Done", textsKey: "Restore Done", frontendKey: "Restore Done"})
	b.expectRestored(before...)
	restored := b.getAll(guestbookObjects()...)
	expectAdoption(t, b.undo(a.receipt), 0, map[string]string{settings: "None", textsKey: "None", frontendKey: "None"})
	b.expectUnchanged(restored...)
	if got := outcomeOf(b.audit("--server-check", "never")).Objects; len(got) != 3 {
		t.Errorf("objects that the audit reports as not ready: %v", got)
	}
}

// TestUndoCounts checks that an undo counts the other objects of the bundle as they are.
func TestUndoCounts(t *testing.T) {
	f := newFleet(t, shared)
	f.deploy("guestbook", guestbook)
	f.removeOwnership(configMap("settings"))
	got := f.undo(f.adopt("--yes").receipt).document
	if len(got.Deployments) != 1 || got.Deployments[0].Before.Ready != 3 || got.Deployments[0].After.Ready != 2 ||
		got.Deployments[0].After.Unknown != 0 {
		t.Errorf("the counts are %+v, notes %q", got.Deployments, got.Notes)
	}
}

// TestUndoAfterChanges changes objects between adoption and undo. Objects with a changed owner are left alone; the
// others are restored.
func TestUndoAfterChanges(t *testing.T) {
	set := func(patch string) func(*bundle, *unstructured.Unstructured) {
		return func(b *bundle, obj *unstructured.Unstructured) { b.merge("somebody", obj, patch) }
	}
	tests := []struct {
		name, expected, contains string
		change                   func(*bundle, *unstructured.Unstructured)
	}{
		{"untouched", "Restore Done", "", func(*bundle, *unstructured.Unstructured) {}},
		// other fields do not matter
		{"other-fields", "Restore Done", "", set(`{"data":{"a":"2"},"metadata":{"labels":{"more":"1"}}}`)},
		{"hash-gone", "Restore Done", "", set(`{"metadata":{"labels":{"objectset.rio.cattle.io/hash":null}}}`)},
		{"other-set", "Refuse", "its owner was changed",
			set(`{"metadata":{"annotations":{"objectset.rio.cattle.io/id":"default-other"}}}`)},
		{"other-release", "Refuse", `meta.helm.sh/release-name is "other"`,
			set(`{"metadata":{"annotations":{"meta.helm.sh/release-name":"other"}}}`)},
		{"restored-by-hand", "None", "has its previous ownership metadata",
			func(b *bundle, obj *unstructured.Unstructured) { b.removeOwnership(obj) }},
		{"deleted", "None", "does not exist any more", func(b *bundle, obj *unstructured.Unstructured) {
			b.remove(obj)
		}},
		{"created-again", "Refuse", "deleted and created again", func(b *bundle, obj *unstructured.Unstructured) {
			b.remove(obj)
			b.ApplyYAML(b.t, "kubectl",
				"{apiVersion: v1, kind: ConfigMap, metadata: {name: created-again, namespace: apps}}")
			b.setOwnership(obj, b.ownership())
		}},
	}
	f := newFleet(t, shared)
	var manifest strings.Builder
	var objs []*unstructured.Unstructured
	for _, test := range tests {
		fmt.Fprintf(&manifest, "---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: %s}, data: {a: b}}\n",
			test.name)
		objs = append(objs, configMap(test.name))
	}
	b := f.deploy("guestbook", manifest.String())
	f.removeOwnership(objs...)
	before := f.getAll(objs...)
	a := f.adopt("--yes")
	if a.status != 0 {
		t.Fatalf("status %d: %s", a.status, a.stderr)
	}
	want, now := map[string]string{}, map[string]*unstructured.Unstructured{}
	for i, test := range tests {
		test.change(b, objs[i])
		want["configmap apps/"+test.name] = test.expected
		if test.name != "deleted" {
			now[test.name] = f.get(objs[i])
		}
	}
	undone := f.undo(a.receipt)
	expectAdoption(t, undone, 1, want)
	for i, test := range tests {
		o := undone.object(t, "configmap apps/"+test.name)
		expectContains(t, test.name, strings.Join(o.Refusals, "\n")+o.Message, test.contains)
		switch {
		case test.expected == "Restore Done": // the previous ownership metadata, all other fields unchanged
			f.expectOwnershipIgnoringManagers(ownershipOf(before[i]), now[test.name])
		case now[test.name] != nil:
			f.expectUnchanged(now[test.name])
		}
	}
}

// TestUndoReceipts undoes damaged receipts and receipts of other clusters.
func TestUndoReceipts(t *testing.T) {
	b, before, a := adoptedGuestbook(t)
	content, err := os.ReadFile(a.receipt)
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(a.receipt); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode of the receipt: %v, %v", info.Mode(), err)
	}
	lines := bytes.SplitAfter(content, []byte("\n"))
	stated := []byte(`"clusterUID":"` + string(b.get(object("v1", "Namespace", "", "kube-system")).GetUID()) + `"`)
	for name, test := range map[string]struct {
		content  []byte
		contains string
	}{
		"of another cluster": {receiptWithUID(t, content, "00000000-0000-0000-0000-000000000000"),
			"another cluster"},
		"of no cluster":   {receiptWithUID(t, content, ""), "clusterUID"},
		"changed cluster": {bytes.Replace(content, stated, []byte(`"clusterUID":""`), 1), "line 1 is damaged"},
		"changed hash": {bytes.Replace(content, []byte(fleet.Hash("default-gone")),
			[]byte(fleet.Hash("default-other")), 1), "is damaged: its digest does not match"},
		"two receipts": {slices.Concat(content, content), "begins another receipt"},
		"empty":        {nil, "empty"},
		"no receipt":   {[]byte("{}\n"), "line 1 is not the header"},
		"damaged in the middle": {bytes.Join([][]byte{lines[0], []byte("{\"na\n"), lines[2], lines[3]}, nil),
			"line 2 is damaged"},
		"truncated header": {lines[0][:len(lines[0])/2], "line 1"},
	} {
		t.Run(name, func(t *testing.T) {
			r := b.undo(writeReceipt(t, test.content))
			if r.status != 3 || r.stdout != "" {
				t.Errorf("status %d, stdout %s", r.status, r.stdout)
			}
			expectContains(t, "stderr", r.stderr, test.contains)
			b.expectOnlyOwnership(b.ownership(), before...)
		})
	}
	t.Run("none", func(t *testing.T) {
		r := b.undo(filepath.Join(t.TempDir(), "none"))
		if r.status != 3 || r.stdout != "" {
			t.Errorf("status %d, stdout %s", r.status, r.stdout)
		}
	})
	t.Run("truncated", func(t *testing.T) { // after the first object and half of the line of the second
		r := b.undo(writeReceipt(t, bytes.Join([][]byte{lines[0], lines[1], lines[2][:len(lines[2])/2]}, nil)))
		expectAdoption(t, r, 0, map[string]string{settings: "Restore Done"})
		expectContains(t, "the note", strings.Join(r.document.Notes, "\n"), "1 of 3 objects")
		b.expectRestored(before[0])
		b.expectOnlyOwnership(b.ownership(), before[1:]...)
	})
	t.Run("never overwritten", func(t *testing.T) {
		r := run(t.Context(), t, "adopt", "--kubeconfig", b.kubeconfig, "--yes", "--receipt", a.receipt)
		if r.status != 3 {
			t.Errorf("status %d", r.status)
		}
		expectContains(t, "stderr", r.stderr, "Nothing was changed on the cluster", "--receipt")
		b.expectRestored(before[0])
	})
}

// receiptWithUID returns the receipt with another cluster UID and valid digests.
func receiptWithUID(t *testing.T, content []byte, clusterUID string) []byte {
	t.Helper()
	h, entries, err := repair.ReadReceipt(bytes.NewReader(content))
	if err != nil {
		t.Fatal(err)
	}
	var items []repair.Item
	for _, e := range entries {
		items = append(items, repair.Item{Before: ownership.FromValues(e.Before), After: ownership.FromValues(e.After),
			RepairedObject: report.RepairedObject{Ref: e.Ref, UID: e.UID,
				BundleDeployment: e.BundleDeployment, Release: e.Release, Action: report.ActionAdopt}})
	}
	h.ClusterUID = clusterUID
	path := filepath.Join(t.TempDir(), "receipt.jsonl")
	r, err := repair.CreateReceipt(path, h, items, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	out, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func writeReceipt(t *testing.T, content []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "receipt.jsonl")
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
