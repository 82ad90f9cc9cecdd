// SPDX-License-Identifier: Apache-2.0

package repair

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/ownership"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
)

// listed is a source that lists the same objects for every query.
type listed struct {
	source.Source
	raw      []string
	coverage source.Coverage
	err      error
	queries  []source.Query
}

func (l *listed) List(_ context.Context, q source.Query, yield func(source.Object) error) (source.Coverage, error) {
	l.queries = append(l.queries, q)
	for _, raw := range l.raw {
		if err := yield(source.Object{Item: object.Item{Raw: []byte(raw)}, Kind: q.Kind}); err != nil {
			return source.Coverage{}, err
		}
	}
	return l.coverage, l.err
}

// managedBy are the managedFields of an object whose labels and annotations a manager wrote.
func managedBy(manager string, labels, annotations map[string]string) []metav1.ManagedFieldsEntry {
	fields := map[string]any{}
	for field, values := range map[string]map[string]string{"f:labels": labels, "f:annotations": annotations} {
		keys := map[string]any{}
		for k := range values {
			keys["f:"+k] = map[string]any{}
		}
		fields[field] = keys
	}
	raw, _ := json.Marshal(map[string]any{"f:metadata": fields}) // it has only text
	return []metav1.ManagedFieldsEntry{{Manager: manager, Operation: metav1.ManagedFieldsOperationUpdate,
		FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(string(raw))}}
}

// adoptedObject is an object whose labels and annotations adopt wrote.
func adoptedObject(t *testing.T, labels, annotations map[string]string) source.Object {
	t.Helper()
	raw, err := json.Marshal(map[string]any{"metadata": map[string]any{"labels": labels, "annotations": annotations,
		"managedFields": managedBy(ownership.FieldManager, labels, annotations)}})
	if err != nil {
		t.Fatal(err)
	}
	return source.Object{Item: object.Item{Raw: raw}}
}

func live(t *testing.T, uid string, have ownership.Metadata, more map[string]any) string {
	t.Helper()
	labels, annotations := fields(have)
	labels["app"] = "x"
	meta := map[string]any{"managedFields": managedBy(ownership.FieldManager, labels, annotations),
		"name": theme.Name, "namespace": theme.Namespace, "uid": uid, "resourceVersion": "7", "labels": labels,
		"annotations": annotations}
	maps.Copy(meta, more)
	raw, err := json.Marshal(map[string]any{"metadata": meta})
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

func TestPlanUndo(t *testing.T) {
	adopted := item()
	before := ownership.FromValues(map[string]string{"app.kubernetes.io/managed-by": "kustomize",
		"objectset.rio.cattle.io/id": ""})
	entry := Entry{Ref: theme, UID: "u-1", BundleDeployment: "cluster-one/guestbook", Release: "web/guestbook",
		Before: before.Values(), After: adopted.After.Values()}
	other, stripped := adopted.After, adopted.After
	other.SetID, other.Hash, stripped.Hash = "another-set", "another", ""
	theirs := before
	theirs.ManagedBy = "flux"
	for name, tc := range map[string]struct {
		raw      []string
		coverage source.Coverage
		want     report.Action
		text     string
		changes  int
	}{
		"adopted": {[]string{live(t, "u-1", adopted.After, nil)}, source.Covered(), report.ActionRestore, "", 5},
		"never written": {[]string{live(t, "u-1", before, nil)}, source.Covered(), report.ActionNone,
			"it has its previous ownership metadata", 0},
		"adopted for another bundle": {[]string{live(t, "u-1", other, nil)}, source.Covered(), report.ActionRefuse,
			`its owner was changed since: label objectset.rio.cattle.io/hash is "another", annotation ` +
				`objectset.rio.cattle.io/id is "another-set"`, 0},
		"without a hash": {[]string{live(t, "u-1", stripped, nil)}, source.Covered(), report.ActionRestore, "", 4},
		"all keys changed": {[]string{live(t, "u-1", theirs, nil)}, source.Covered(), report.ActionRefuse,
			`no key has the value that was written: label app.kubernetes.io/managed-by is "flux"`, 0},
		"created again": {[]string{live(t, "u-2", adopted.After, nil)}, source.Covered(), report.ActionRefuse,
			"created again", 0},
		"being deleted": {[]string{live(t, "u-1", adopted.After,
			map[string]any{"deletionTimestamp": "2026-01-02T03:04:05Z"})}, source.Covered(),
			report.ActionRefuse, "it is being deleted", 0},
		"deleted": {nil, source.Covered(), report.ActionNone, "it does not exist any more", 0},
		"not read": {nil, source.NotCovered(source.Failure{Reason: source.Forbidden, Detail: "no"}),
			report.ActionRefuse, "it could not be read: Forbidden no", 0},
		"damaged": {[]string{`{"metadata":{"name":["x"]}}`}, source.Covered(), report.ActionRefuse, "ReadFailed", 0},
	} {
		t.Run(name, func(t *testing.T) {
			src := &listed{raw: tc.raw, coverage: tc.coverage}
			items, err := undoOf(src).Plan(t.Context(), []Entry{entry})
			if err != nil || len(items) != 1 {
				t.Fatalf("%d items, error %v", len(items), err)
			}
			got := items[0]
			if got.Action != tc.want || len(got.Changes) != tc.changes ||
				!strings.Contains(strings.Join(append(got.Refusals, got.Message), " "), tc.text) {
				t.Errorf("action %s, refusals %q, message %q, changes %v", got.Action, got.Refusals, got.Message,
					got.Changes)
			}
			if tc.want == report.ActionRestore && (got.ResourceVersion != "7" || got.After != before) {
				t.Errorf("item %+v", got)
			}
		})
	}
	broken := errors.New("broken")
	if _, err := undoOf(&listed{err: broken}).Plan(t.Context(), []Entry{entry}); !errors.Is(err, broken) {
		t.Errorf("error %v", err)
	}
}

// TestPlanUndoChanged has receipts that somebody changed. They would take an object from its owner, or give it to
// another one.
func TestPlanUndoChanged(t *testing.T) {
	own := ownership.Desired("default-guestbook", "guestbook", "web")
	evil := ownership.Desired("default-evil", "evil", "tenant")
	byAdopt := map[string]any{}
	byFleet := func(m ownership.Metadata) map[string]any {
		labels, annotations := fields(m)
		return map[string]any{"managedFields": managedBy("fleetagent", labels, annotations)}
	}
	for name, tc := range map[string]struct {
		now, before, after ownership.Metadata
		managers           map[string]any
		takeFrom           []string
		refusal            string
	}{
		"adopted, from nobody": {own, ownership.Metadata{}, own, byAdopt, nil, ""},
		"adopted, from an owner that exists": {own, evil, own, byAdopt, nil,
			"before the adoption it had ownership metadata of set \"default-evil\", which exists or may exist; " +
				"--dangerous-take-from=default-evil restores it anyway"},
		"adopted, from an owner that is named": {own, evil, own, byAdopt, []string{"default-evil", "tenant/evil"}, ""},
		"never adopted": {own, ownership.Metadata{}, own, byFleet(own), nil,
			"its managedFields do not show"},
		"never adopted, for another owner": {own, evil, own, byFleet(own), nil, "its managedFields do not show"},
		"without metadata": {ownership.Metadata{}, evil, ownership.Metadata{}, byAdopt, []string{"default-evil"},
			"its managedFields do not show that adopt wrote any key"},
	} {
		src := &listed{raw: []string{live(t, "u-1", tc.now, tc.managers)}, coverage: source.Covered()}
		undo := undoOf(src)
		undo.TakeFrom = tc.takeFrom
		items, err := undo.Plan(t.Context(), []Entry{{Ref: theme, UID: "u-1", BundleDeployment: "cluster-one/guestbook",
			Release: "web/guestbook", Before: tc.before.Values(), After: tc.after.Values()}})
		if err != nil {
			t.Fatal(err)
		}
		want := report.ActionRestore
		if tc.refusal != "" {
			want = report.ActionRefuse
		}
		if got := items[0]; got.Action != want || !strings.Contains(strings.Join(got.Refusals, "; "), tc.refusal) {
			t.Errorf("%s: %s, %q", name, got.Action, got.Refusals)
		}
	}
}

// TestPlanUndoLists checks that each kind is listed once: in the namespaces of its objects, or in all if there are
// many.
func TestPlanUndoLists(t *testing.T) {
	var entries []Entry
	for i := range mostNamespaces + 1 {
		e := Entry{Ref: theme, UID: "u"}
		e.Namespace = string(rune('a' + i))
		entries = append(entries, e)
	}
	role := Entry{Ref: theme, UID: "u"}
	role.APIVersion, role.Kind, role.Namespace = "rbac.authorization.k8s.io/v1", "ClusterRole", ""
	for name, tc := range map[string]struct {
		entries []Entry
		want    []int // the number of namespaces of each query
	}{
		"few":            {entries[:2], []int{2}},
		"many":           {entries, []int{0}},
		"cluster-scoped": {[]Entry{role}, []int{0}},
		"two kinds":      {append(slices.Clone(entries[:1]), role), []int{0, 1}},
	} {
		src := &listed{coverage: source.Covered()}
		var got []int
		for gvk, list := range byKind(tc.entries) {
			if _, err := undoOf(src).Plan(t.Context(), list); err != nil {
				t.Fatal(err)
			}
			if q := src.queries[len(src.queries)-1]; q.Kind != gvk || !q.MetadataOnly {
				t.Errorf("%s: query %+v", name, q)
			}
			got = append(got, len(src.queries[len(src.queries)-1].Namespaces))
		}
		slices.Sort(got)
		if !slices.Equal(got, tc.want) {
			t.Errorf("%s: %v namespaces, want %v", name, got, tc.want)
		}
	}
}

func byKind(entries []Entry) map[schema.GroupVersionKind][]Entry {
	out := map[schema.GroupVersionKind][]Entry{}
	for _, e := range entries {
		out[e.GroupVersionKind()] = append(out[e.GroupVersionKind()], e)
	}
	return out
}

// undoOf is an undo on a cluster of which nothing else is known.
func undoOf(src source.Source) Undo {
	return Undo{Clusters: map[string]UndoCluster{"": {Source: src, Facts: NoFacts{}}}}
}
