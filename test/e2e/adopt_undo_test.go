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

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/adopt"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/ownership"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

// parts are the three objects of the guestbook.
func parts() []*unstructured.Unstructured {
	return []*unstructured.Unstructured{configMap("settings"), configMap("texts"), object("v1", "Service", apps, "frontend")}
}

const (
	textsKey    = "configmap apps/texts"
	frontendKey = "service apps/frontend"
)

// adopted is a guestbook whose objects were of three kinds of nobody, and were adopted.
func adopted(t *testing.T) (b *bundle, before []*unstructured.Unstructured, a adoption) {
	t.Helper()
	f := newFleet(t, shared)
	b = f.deploy("guestbook", guestbook)
	f.strip(configMap("settings"))
	f.mark(configMap("texts"), ownership.Metadata{SetID: "default-gone", Hash: fleet.Hash("default-gone"), ManagedBy: "kustomize"}.Values())
	f.mark(object("v1", "Service", apps, "frontend"), map[string]string{fleet.IDAnnotation: "", fleet.ManagedByLabel: ""}) // empty is not absent
	before = f.getAll(parts()...)
	a = f.adopt("--yes")
	expectAdoption(t, a, 0, map[string]string{settings: "Adopt NoMark Done", textsKey: "Adopt UnknownHash Done", frontendKey: "Adopt NoMark Done"})
	f.onlyMarks(b.stamps(), before...)
	return b, before, a
}

// TestUndo takes an adoption back, once and again.
func TestUndo(t *testing.T) {
	b, before, a := adopted(t)
	plan := b.adopt("--undo", a.receipt)
	expectAdoption(t, plan, 1, map[string]string{settings: "Restore", textsKey: "Restore", frontendKey: "Restore"})
	b.onlyMarks(b.stamps(), before...)
	says(t, "the note", strings.Join(plan.document.Notes, "\n"), b.key())

	wrong := b.adopt("--undo", a.receipt, "--confirm", strings.Repeat("0", 64))
	if wrong.status != 1 {
		t.Errorf("another digest: status %d", wrong.status)
	}
	b.onlyMarks(b.stamps(), before...)

	expectAdoption(t, b.adopt("--undo", a.receipt, "--confirm", plan.document.Digest), 0,
		map[string]string{settings: "Restore Done", textsKey: "Restore Done", frontendKey: "Restore Done"})
	b.restored(before...)
	restored := b.getAll(parts()...)
	expectAdoption(t, b.undo(a.receipt), 0, map[string]string{settings: "None", textsKey: "None", frontendKey: "None"})
	b.unchanged(restored...)
	if got := outcomeOf(b.audit("--server-check", "never")).Objects; len(got) != 3 {
		t.Errorf("the audit says that these are not ready: %v", got)
	}
}

// TestUndoAfterChanges lets something happen to each of some objects between adoption and undo. What changed hands is left, the others are
// restored all the same.
func TestUndoAfterChanges(t *testing.T) {
	set := func(patch string) func(*bundle, *unstructured.Unstructured) {
		return func(b *bundle, obj *unstructured.Unstructured) { b.merge("somebody", obj, patch) }
	}
	tests := []struct {
		name, becomes, says string
		happens             func(*bundle, *unstructured.Unstructured)
	}{
		{"untouched", "Restore Done", "", func(*bundle, *unstructured.Unstructured) {}},
		{"other-fields", "Restore Done", "", set(`{"data":{"a":"2"},"metadata":{"labels":{"more":"1"}}}`)}, // no reason to keep it
		{"mark-changed", "Refuse", "its owner was changed", set(`{"metadata":{"labels":{"objectset.rio.cattle.io/hash":"` + fleet.Hash("default-thief") + `"}}}`)},
		{"mark-gone", "Refuse", "meta.helm.sh/release-name is gone", set(`{"metadata":{"annotations":{"meta.helm.sh/release-name":null}}}`)},
		{"by-hand", "None", "has its previous ownership metadata", func(b *bundle, obj *unstructured.Unstructured) { b.strip(obj) }},
		{"deleted", "None", "does not exist any more", func(b *bundle, obj *unstructured.Unstructured) { b.remove(obj) }},
		{"made-anew", "Refuse", "deleted and created again", func(b *bundle, obj *unstructured.Unstructured) {
			b.remove(obj)
			b.ApplyYAML(b.t, "kubectl", "{apiVersion: v1, kind: ConfigMap, metadata: {name: made-anew, namespace: apps}}")
			b.mark(obj, b.stamps())
		}},
	}
	f := newFleet(t, shared)
	var manifest strings.Builder
	var objs []*unstructured.Unstructured
	for _, test := range tests {
		fmt.Fprintf(&manifest, "---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: %s}, data: {a: b}}\n", test.name)
		objs = append(objs, configMap(test.name))
	}
	b := f.deploy("guestbook", manifest.String())
	f.strip(objs...)
	before := f.getAll(objs...)
	a := f.adopt("--yes")
	if a.status != 0 {
		t.Fatalf("status %d: %s", a.status, a.stderr)
	}
	want, now := map[string]string{}, map[string]*unstructured.Unstructured{}
	for i, test := range tests {
		test.happens(b, objs[i])
		want["configmap apps/"+test.name] = test.becomes
		if test.name != "deleted" {
			now[test.name] = f.get(objs[i])
		}
	}
	undone := f.undo(a.receipt)
	expectAdoption(t, undone, 1, want)
	for i, test := range tests {
		o := undone.object(t, "configmap apps/"+test.name)
		says(t, test.name, strings.Join(o.Refusals, "\n")+o.Message, test.says)
		switch {
		case test.becomes == "Restore Done": // the marks as before, all else as it is now
			f.marked(stampsOf(before[i]), now[test.name])
		case now[test.name] != nil:
			f.unchanged(now[test.name])
		}
	}
}

// TestUndoReceipts undoes what damaged receipts, and receipts of others, still say.
func TestUndoReceipts(t *testing.T) {
	b, before, a := adopted(t)
	content, err := os.ReadFile(a.receipt)
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(a.receipt); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the receipt's mode: %v, %v", info.Mode(), err)
	}
	lines := bytes.SplitAfter(content, []byte("\n"))
	stated := []byte(`"clusterUID":"` + string(b.get(object("v1", "Namespace", "", "kube-system")).GetUID()) + `"`)
	for name, test := range map[string]struct {
		content []byte
		says    string
	}{
		"of another cluster":    {rewritten(t, content, "00000000-0000-0000-0000-000000000000"), "another cluster"},
		"of no cluster":         {rewritten(t, content, ""), "clusterUID"},
		"its cluster changed":   {bytes.Replace(content, stated, []byte(`"clusterUID":""`), 1), "line 1 is damaged"},
		"a foreign hash":        {bytes.Replace(content, []byte(fleet.Hash("default-gone")), []byte(fleet.Hash("default-thief")), 1), "is damaged: its digest does not match"},
		"two receipts":          {slices.Concat(content, content), "begins another receipt"},
		"empty":                 {nil, "empty"},
		"no receipt":            {[]byte("{}\n"), "line 1 is not the header"},
		"damaged in the middle": {bytes.Join([][]byte{lines[0], []byte("{\"na\n"), lines[2], lines[3]}, nil), "line 2 is damaged"},
		"its header cut":        {lines[0][:len(lines[0])/2], "line 1"},
	} {
		t.Run(name, func(t *testing.T) {
			r := b.undo(writeReceipt(t, test.content))
			if r.status != 3 || r.stdout != "" {
				t.Errorf("status %d, stdout %s", r.status, r.stdout)
			}
			says(t, "stderr", r.stderr, test.says)
			b.onlyMarks(b.stamps(), before...)
		})
	}
	t.Run("none", func(t *testing.T) {
		r := b.undo(filepath.Join(t.TempDir(), "none"))
		if r.status != 3 || r.stdout != "" {
			t.Errorf("status %d, stdout %s", r.status, r.stdout)
		}
	})
	t.Run("cut off", func(t *testing.T) { // the first object is whole, of the second only half a line is there
		r := b.undo(writeReceipt(t, bytes.Join([][]byte{lines[0], lines[1], lines[2][:len(lines[2])/2]}, nil)))
		expectAdoption(t, r, 0, map[string]string{settings: "Restore Done"})
		says(t, "the note", strings.Join(r.document.Notes, "\n"), "1 of 3 objects")
		b.restored(before[0])
		b.onlyMarks(b.stamps(), before[1:]...)
	})
	t.Run("never overwritten", func(t *testing.T) {
		r := run(t.Context(), t, "adopt", "--kubeconfig", b.kubeconfig, "--yes", "--receipt", a.receipt)
		if r.status != 3 {
			t.Errorf("status %d", r.status)
		}
		says(t, "stderr", r.stderr, "Nothing was changed on the cluster", "--receipt")
		b.restored(before[0])
	})
}

// rewritten is a receipt with the uid of another cluster, and the digests of that.
func rewritten(t *testing.T, content []byte, clusterUID string) []byte {
	t.Helper()
	h, entries, err := adopt.ReadReceipt(bytes.NewReader(content))
	if err != nil {
		t.Fatal(err)
	}
	var items []adopt.Item
	for _, e := range entries {
		items = append(items, adopt.Item{Before: ownership.FromValues(e.Before), After: ownership.FromValues(e.After), AdoptedObject: report.AdoptedObject{Ref: e.Ref, UID: e.UID,
			BundleDeployment: e.BundleDeployment, Release: e.Release, Action: report.ActionAdopt}})
	}
	h.ClusterUID = clusterUID
	path := filepath.Join(t.TempDir(), "receipt.jsonl")
	r, err := adopt.CreateReceipt(path, h, items)
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
