// SPDX-License-Identifier: Apache-2.0

package compare_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/compare"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
)

// FuzzObjects compares any two objects. The comparison does not panic and changes neither object. An object does not
// differ from itself, nor from itself with more keys in its maps. A changed value is reported at exactly its path. The
// last two properties are checked for custom resources, which can have any content; TestEveryLeaf and
// TestUnstatedFields check them for built-in kinds, which need valid objects.
func FuzzObjects(f *testing.F) {
	_, manifests := readCells(f)
	for i, m := range manifests {
		f.Add([]byte(m.Desired), []byte(m.Live), uint(i))
	}
	f.Add([]byte(`{"metadata":{"finalizers":[{},null,[1]]},"kind":"ConfigMap","apiVersion":"v1"}`),
		[]byte(`{"metadata":{"finalizers":[{}]}}`), uint(0))
	f.Add([]byte(`{"metadata":7,"spec":[[1,2],[{"a":null}]],"":{"":1.5}}`), []byte(`{"spec":null}`), uint(1))
	f.Fuzz(func(t *testing.T, desiredRaw, liveRaw []byte, n uint) {
		desired, _, err := object.Decode(desiredRaw)
		if err != nil {
			return
		}
		live, _, err := object.Decode(liveRaw)
		if err != nil {
			return
		}
		gvk := kindOf(desired)
		unchanged(t, desired, live, gvk)
		itself(t, desired, gvk)
		custom := schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Thing"}
		itself(t, desired, custom)
		itselfAndMore(t, desired, custom)
		changedLeaf(t, desired, custom, n)
	})
}

func kindOf(content map[string]any) schema.GroupVersionKind {
	apiVersion, _ := content["apiVersion"].(string)
	kind, _ := content["kind"].(string)
	return schema.FromAPIVersionAndKind(apiVersion, kind)
}

func unchanged(t *testing.T, desired, live map[string]any, gvk schema.GroupVersionKind) {
	t.Helper()
	before := []map[string]any{runtime.DeepCopyJSON(desired), runtime.DeepCopyJSON(live)}
	for _, d := range compare.Objects(desired, live, gvk) {
		if d.Path.String() == "" || !d.DesiredSet && !d.LiveSet {
			t.Errorf("a difference without a value: %+v", d)
		}
	}
	if diff := cmp.Diff(before, []map[string]any{desired, live}); diff != "" {
		t.Errorf("the arguments were changed (-want +got):\n%s", diff)
	}
}

func itself(t *testing.T, desired map[string]any, gvk schema.GroupVersionKind) {
	t.Helper()
	if got := compare.Objects(desired, runtime.DeepCopyJSON(desired), gvk); len(got) > 0 {
		t.Errorf("an object differs from itself as %s: %v", gvk, paths(got))
	}
}

func itselfAndMore(t *testing.T, desired map[string]any, gvk schema.GroupVersionKind) {
	t.Helper()
	live := runtime.DeepCopyJSON(desired)
	walk(rootOf(t, gvk, live), func(p place) {
		if in, ok := p.value.(map[string]any); ok {
			if _, stated := in["zz-unstated"]; !stated {
				in["zz-unstated"] = "added"
			}
		}
	})
	if got := compare.Objects(desired, live, gvk); len(got) > 0 {
		t.Errorf("an object differs from itself with more keys: %v", paths(got))
	}
}

// changedLeaf changes the n-th compared value.
func changedLeaf(t *testing.T, desired map[string]any, gvk schema.GroupVersionKind, n uint) {
	t.Helper()
	var leaves []place
	walk(rootOf(t, gvk, desired), func(p place) {
		_, ok := other(p.value)
		if !ok || p.tokens[0] == "metadata" || ignored(p, desired) {
			return
		}
		leaves = append(leaves, p)
	})
	if len(leaves) == 0 {
		return
	}
	slices.SortFunc(leaves, func(a, b place) int { return strings.Compare(a.path.String(), b.path.String()) })
	leaf := leaves[n%uint(len(leaves))]
	changed, _ := other(leaf.value)
	got := paths(compare.Objects(desired, with(desired, leaf, changed), gvk))
	if diff := cmp.Diff([]string{leaf.path.String()}, got); diff != "" {
		t.Errorf("%s changed from %v to %v: paths (-want +got):\n%s", leaf.path, leaf.value, changed, diff)
	}
}
