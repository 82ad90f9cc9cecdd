// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/ownership"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/repair"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

// adoption is the result of one run of adopt.
type adoption struct {
	result
	// document is nil if none was printed.
	document *report.Repair
	receipt  string // path of the receipt, if one was written
}

// adopt runs adopt as administrator and decodes its document.
func (f *fleetServer) adopt(args ...string) adoption {
	f.t.Helper()
	return f.writing("adopt", args...)
}

// repair runs repair as administrator and decodes its document.
func (f *fleetServer) repair(args ...string) adoption {
	f.t.Helper()
	return f.writing("repair", args...)
}

// writing runs a verb that writes a receipt.
func (f *fleetServer) writing(verb string, args ...string) adoption {
	f.t.Helper()
	a := adoption{receipt: filepath.Join(f.t.TempDir(), "receipt.jsonl")}
	if !slices.Contains(args, "--undo") {
		args = append(args, "--receipt", a.receipt)
	}
	args = append([]string{verb, "--kubeconfig", f.kubeconfig, "-o", "json"}, args...)
	a.result = run(f.t.Context(), f.t, args...)
	a.document = decodeAdoption(f.t, a.stdout)
	return a
}

// undo restores the values of a receipt.
func (f *fleetServer) undo(receipt string, args ...string) adoption {
	f.t.Helper()
	return f.adopt(append([]string{"--yes", "--undo", receipt}, args...)...)
}

// decodeAdoption decodes the printed document; nil if nothing was printed.
func decodeAdoption(t *testing.T, stdout string) *report.Repair {
	t.Helper()
	if stdout == "" {
		return nil
	}
	document := &report.Repair{}
	if err := json.Unmarshal([]byte(stdout), document); err != nil {
		t.Fatalf("the output of adopt is not one document: %v\n%s", err, stdout)
	}
	return document
}

// expectAdoption compares the exit status and, for each object, its action, situation and outcome.
func expectAdoption(t *testing.T, a adoption, status int, want map[string]string) {
	t.Helper()
	if a.status != status {
		t.Errorf("status %d, want %d; stderr: %s", a.status, status, a.stderr)
	}
	if a.document == nil {
		t.Fatalf("no output; stderr: %s", a.stderr)
	}
	got := map[string]string{}
	for _, o := range a.document.Objects {
		words := []string{string(o.Action), o.Situation, string(o.Outcome)}
		got[o.Key().String()] = strings.Join(slices.DeleteFunc(words, func(w string) bool { return w == "" }), " ")
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("objects (-want +got):\n%s\nstderr: %s\n%s", diff, a.stderr, a.stdout)
	}
}

// object finds an object in the document.
func (a adoption) object(t *testing.T, key string) report.RepairedObject {
	t.Helper()
	if a.document != nil {
		for _, o := range a.document.Objects {
			if o.Key().String() == key {
				return o
			}
		}
	}
	t.Fatalf("no %s in the output of adopt: %s\nstderr: %s", key, a.stdout, a.stderr)
	return report.RepairedObject{}
}

// setOwnership sets these of the five ownership keys on an object and removes the others.
func (f *fleetServer) setOwnership(obj *unstructured.Unstructured, metadata map[string]string) {
	f.t.Helper()
	f.merge("remover", obj, ownershipPatch(f.t, onlyThese(metadata)))
}

// onlyThese has these of the five ownership keys, and nil for the others.
func onlyThese(metadata map[string]string) map[string]any {
	keys := noOwnership()
	maps.Copy(keys, anyValues(metadata))
	return keys
}

// ownershipPatch is the merge patch that writes some of the five ownership keys; nil removes a key.
func ownershipPatch(t *testing.T, keys map[string]any) string {
	t.Helper()
	labels, annotations := map[string]any{}, map[string]any{}
	for _, k := range ownership.Keys() {
		if v, ok := keys[k.Name]; ok && k.Label {
			labels[k.Name] = v
		} else if ok {
			annotations[k.Name] = v
		}
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"labels": labels, "annotations": annotations}})
	if err != nil {
		t.Fatal(err)
	}
	return string(patch)
}

// removeOwnership removes all ownership metadata.
func (f *fleetServer) removeOwnership(objs ...*unstructured.Unstructured) {
	f.t.Helper()
	for _, obj := range objs {
		f.setOwnership(obj, nil)
	}
}

// ownership is the ownership metadata of the bundle's objects, by key.
func (b *bundle) ownership() map[string]string {
	m := ownership.Metadata{
		Hash:             b.options.Hash,
		SetID:            b.options.SetID,
		ManagedBy:        "Helm",
		ReleaseName:      b.name,
		ReleaseNamespace: b.options.Namespace,
	}
	return m.Values()
}

func ownershipOf(obj *unstructured.Unstructured) map[string]string {
	return ownership.MetadataOf(obj.GetLabels(), obj.GetAnnotations()).Values()
}

// getAll reads objects.
func (f *fleetServer) getAll(objs ...*unstructured.Unstructured) []*unstructured.Unstructured {
	f.t.Helper()
	out := make([]*unstructured.Unstructured, len(objs))
	for i, obj := range objs {
		out[i] = f.get(obj)
	}
	return out
}

// expectUnchanged checks that the objects were not written.
func (f *fleetServer) expectUnchanged(before ...*unstructured.Unstructured) {
	f.t.Helper()
	for _, b := range before {
		if diff := cmp.Diff(b.Object, f.get(b).Object); diff != "" {
			f.t.Errorf("%s %s was written to (-before +after):\n%s", b.GetKind(), b.GetName(), diff)
		}
	}
}

// expectOnlyOwnership checks that objects have this ownership metadata and that no other field changed, except for
// resourceVersion and the managers of the changed keys.
func (f *fleetServer) expectOnlyOwnership(want map[string]string, before ...*unstructured.Unstructured) {
	f.t.Helper()
	for _, b := range before {
		f.expectOwnershipIgnoringManagers(want, b)
		f.expectManagedFields(b, f.get(b))
	}
}

// expectOwnershipIgnoringManagers is expectOnlyOwnership without managedFields: after an undo, a manager keeps the
// empty map that it created.
func (f *fleetServer) expectOwnershipIgnoringManagers(want map[string]string, before *unstructured.Unstructured) {
	f.t.Helper()
	now, kind, name := f.get(before), before.GetKind(), before.GetName()
	if diff := cmp.Diff(want, ownershipOf(now)); diff != "" {
		f.t.Errorf("ownership metadata of %s %s (-want +got):\n%s", kind, name, diff)
	}
	if diff := cmp.Diff(withoutOwnership(before), withoutOwnership(now)); diff != "" {
		f.t.Errorf("%s %s changed outside its ownership metadata (-before +after):\n%s", kind, name, diff)
	}
}

// expectRestored checks that objects are as before, except for resourceVersion and managedFields.
func (f *fleetServer) expectRestored(before ...*unstructured.Unstructured) {
	f.t.Helper()
	for _, b := range before {
		if diff := cmp.Diff(withoutVersions(b), withoutVersions(f.get(b))); diff != "" {
			f.t.Errorf("%s %s is not as it was (-before +after):\n%s", b.GetKind(), b.GetName(), diff)
		}
	}
}

// expectManagedFields checks that the field manager of adopt manages exactly the keys that it changed, and that
// the fields of other managers did not change.
func (f *fleetServer) expectManagedFields(before, after *unstructured.Unstructured) {
	f.t.Helper()
	want := map[string]bool{}
	was := ownershipOf(before)
	for key, v := range ownershipOf(after) {
		if old, had := was[key]; !had || old != v {
			want[key] = true
		}
	}
	got := map[string]bool{}
	for _, entry := range after.GetManagedFields() {
		if entry.Manager != ownership.FieldManager {
			continue
		}
		if entry.Operation != metav1.ManagedFieldsOperationUpdate || entry.Subresource != "" {
			f.t.Errorf("%s: %s %s", entry.Manager, entry.Operation, entry.Subresource)
		}
		for _, path := range fieldPaths(f.t, entry) {
			key := path[strings.LastIndex(path, " ")+1:]
			if path != "f:metadata f:labels "+key && path != "f:metadata f:annotations "+key {
				f.t.Errorf("%s manages %s", entry.Manager, path)
			}
			got[strings.TrimPrefix(key, "f:")] = true
		}
	}
	kind, name := after.GetKind(), after.GetName()
	if diff := cmp.Diff(want, got); diff != "" {
		f.t.Errorf("keys of %s %s that adopt's manager manages (-want +got):\n%s", kind, name, diff)
	}
	if diff := cmp.Diff(managedByOthers(f.t, before), managedByOthers(f.t, after)); diff != "" {
		f.t.Errorf("fields of %s %s that other managers manage (-before +after):\n%s", kind, name, diff)
	}
}

// managedByOthers lists the fields of all other managers, without the five ownership keys.
func managedByOthers(t *testing.T, obj *unstructured.Unstructured) map[string][]string {
	t.Helper()
	keys := map[string]bool{}
	for _, k := range ownership.Keys() {
		keys["f:"+k.Name] = true
	}
	out := map[string][]string{}
	for _, entry := range obj.GetManagedFields() {
		if entry.Manager == ownership.FieldManager {
			continue
		}
		for _, path := range fieldPaths(t, entry) {
			if !keys[path[strings.LastIndex(path, " ")+1:]] {
				who := fmt.Sprintf("%s %s %s", entry.Manager, entry.Operation, entry.Subresource)
				out[who] = append(out[who], path)
			}
		}
	}
	return out
}

// fieldPaths lists the leaves of a managedFields entry, as "f:metadata f:labels f:app". The entry "." of a map is
// no leaf.
func fieldPaths(t *testing.T, entry metav1.ManagedFieldsEntry) []string {
	t.Helper()
	var fields map[string]any
	if err := json.Unmarshal(entry.FieldsV1.GetRawBytes(), &fields); err != nil {
		t.Fatal(err)
	}
	var out []string
	var walk func(prefix string, at map[string]any)
	walk = func(prefix string, at map[string]any) {
		for _, name := range slices.Sorted(maps.Keys(at)) {
			path := strings.TrimSpace(prefix + " " + name)
			if below, ok := at[name].(map[string]any); ok && len(below) > 0 {
				walk(path, below)
			} else if name != "." {
				out = append(out, path)
			}
		}
	}
	walk("", fields)
	return out
}

func withoutVersions(obj *unstructured.Unstructured) map[string]any {
	out := obj.DeepCopy()
	out.SetManagedFields(nil)
	out.SetResourceVersion("")
	return out.Object
}

func withoutOwnership(obj *unstructured.Unstructured) map[string]any {
	out := &unstructured.Unstructured{Object: withoutVersions(obj)}
	for _, k := range ownership.Keys() {
		of, fields := out.GetAnnotations(), "annotations"
		if k.Label {
			of, fields = out.GetLabels(), "labels"
		}
		delete(of, k.Name)
		unstructured.RemoveNestedField(out.Object, "metadata", fields)
		if len(of) > 0 && k.Label {
			out.SetLabels(of)
		} else if len(of) > 0 {
			out.SetAnnotations(of)
		}
	}
	return out.Object
}

// configMaps returns n ConfigMaps and a manifest of them.
func configMaps(n int) (objs []*unstructured.Unstructured, manifest string) {
	var b strings.Builder
	for i := range n {
		name := fmt.Sprintf("item-%02d", i)
		objs = append(objs, configMap(name))
		fmt.Fprintf(&b, `---
{apiVersion: v1, kind: ConfigMap, metadata: {name: %s, labels: {app: items}}, data: {number: "%d"}}
`, name, i)
	}
	return objs, b.String()
}

// receiptOutcomes returns the number of objects in a receipt and counts the recorded outcomes.
func receiptOutcomes(t *testing.T, path string) (objects int, byOutcome map[string]int) {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	_, entries, err := repair.ReadReceipt(bytes.NewReader(content))
	if err != nil {
		t.Fatal(err)
	}
	byOutcome = map[string]int{}
	lines := strings.Split(strings.TrimSpace(string(content)), "\n")
	for _, line := range lines[1+len(entries):] {
		var o struct {
			Outcome    string
			Unanswered bool
		}
		if err := json.Unmarshal([]byte(line), &o); err != nil {
			t.Fatalf("a line of the receipt: %v", err)
		}
		if o.Unanswered {
			o.Outcome += " unanswered"
		}
		byOutcome[o.Outcome]++
	}
	return len(entries), byOutcome
}
