// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/ownership"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/repair"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

// sickUID is the uid of the sick cluster's namespace kube-system.
const sickUID = "844154af-34fc-4c49-a677-577574d9ed45"

// receiptOf writes a receipt of two objects as adopt does: service ingress/edge, which has no ownership metadata, and
// an object that does not exist.
func receiptOf(t *testing.T, clusterUID string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "receipt.jsonl")
	var items []repair.Item
	for _, of := range []struct{ name, uid string }{{"edge", "5c08cc84-9db4-443d-8b4a-977b419f68b7"}, {"edge2", "u"}} {
		items = append(items, repair.Item{After: ownership.Metadata{Hash: "x"},
			RepairedObject: report.RepairedObject{Action: report.ActionAdopt, UID: of.uid,
				Ref: object.Ref{APIVersion: "v1", Kind: "Service", Namespace: "ingress", Name: of.name}}})
	}
	r, err := repair.CreateReceipt(path, repair.Header{Version: "0.3.1", Server: "https://other.example.com",
		ClusterUID: clusterUID}, items, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestAdoptUndoOfSnapshot checks the plan of an undo for a snapshot.
func TestAdoptUndoOfSnapshot(t *testing.T) {
	plan := undoPlan(t, receiptOf(t, sickUID))
	if want := (report.RepairSummary{Objects: 2, Unchanged: 2}); plan.Summary != want {
		t.Errorf("%+v, want %+v", plan.Summary, want)
	}
}

// undoPlan plans to undo a receipt of the sick cluster, which has not changed since then.
func undoPlan(t *testing.T, receipt string) report.Repair {
	t.Helper()
	got := run(t, "adopt", "--snapshot", sick, "--undo", receipt, "-o", "json")
	var plan report.Repair
	if err := json.Unmarshal([]byte(got.out), &plan); err != nil || got.status != 0 || !plan.Undo {
		t.Fatalf("status %d, error %v:\n%s%s", got.status, err, got.out, got.errOut)
	}
	return plan
}

// TestAdoptUndoRefuses checks that a receipt that was changed, or that may be of another cluster, has exit status 3,
// and that the error names the file, the line and the remedy.
func TestAdoptUndoRefuses(t *testing.T) {
	withoutNamespaces := filepath.Join(t.TempDir(), "sick") // kube-system was not captured
	if err := os.CopyFS(withoutNamespaces, os.DirFS(sick)); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(withoutNamespaces, "namespaces.json")); err != nil {
		t.Fatal(err)
	}
	edit := func(old, replacement string) func(string) string {
		return func(text string) string { return strings.Replace(text, old, replacement, 1) }
	}
	for name, tc := range map[string]struct {
		uid, snapshot string
		change        func(string) string
		message       []string
	}{
		"a foreign hash": {sickUID, sick, edit(`"before":{}`, `"before":{"objectset.rio.cattle.io/hash":"foreign"}`),
			[]string{"line 2 is damaged: its digest does not match", "Name a copy of the receipt as it was written."}},
		"another object": {sickUID, sick, edit(`"name":"edge"`, `"name":"victim"`), []string{"line 2 is damaged"}},
		"two receipts": {sickUID, sick, func(text string) string { return text + text },
			[]string{"line 4 begins another receipt", "Put each receipt into a file of its own"}},
		"without a format": {sickUID, sick, edit(`"format":3,`, ""), []string{"line 1 states no format",
			`Undo it with version "0.3.1"`}},
		"without a cluster": {"", sick, edit("", ""),
			[]string{"line 1", "clusterUID"}},
		"of another cluster": {"844154af", sick, edit("", ""), []string{"another cluster", "https://other.example.com",
			"--context"}},
		"of an unknown cluster": {sickUID, withoutNamespaces, edit("", ""),
			[]string{"namespace kube-system: NotInSnapshot"}},
	} {
		t.Run(name, func(t *testing.T) {
			path := receiptOf(t, tc.uid)
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(tc.change(string(text))), 0o600); err != nil {
				t.Fatal(err)
			}
			got := run(t, "adopt", "--snapshot", tc.snapshot, "--undo", path)
			if got.status != 3 || got.out != "" || !strings.Contains(got.errOut, path) {
				t.Errorf("status %d: %s%s", got.status, got.out, got.errOut)
			}
			for _, s := range tc.message {
				if !strings.Contains(got.errOut, s) {
					t.Errorf("the error does not contain %q: %s", s, got.errOut)
				}
			}
		})
	}
}

// TestAdoptUndoOfCutReceipt checks that the objects of a receipt that was cut off can be undone, and that the plan has
// a note.
func TestAdoptUndoOfCutReceipt(t *testing.T) {
	path := receiptOf(t, sickUID)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, text[:len(text)-20], 0o600); err != nil {
		t.Fatal(err)
	}
	plan := undoPlan(t, path)
	if want := (report.RepairSummary{Objects: 1, Unchanged: 1}); plan.Summary != want {
		t.Errorf("%+v, want %+v", plan.Summary, want)
	}
	if !slices.ContainsFunc(plan.Notes, func(n string) bool { return strings.Contains(n, "1 of 2 objects") }) {
		t.Errorf("no note of the truncation: %q", plan.Notes)
	}
}
