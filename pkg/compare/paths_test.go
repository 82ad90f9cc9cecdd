// SPDX-License-Identifier: Apache-2.0

package compare_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/compare"
)

// TestPathsOfCells checks that the path of the difference is exactly that of the changed value, for cells that change
// one stated value.
func TestPathsOfCells(t *testing.T) {
	checked := 0
	cells, _ := readCells(t)
	for _, c := range cells {
		if !c.modified() || len(c.operations) != 1 {
			continue
		}
		desired, ref := decode(t, c.Desired)
		gvk := ref.GroupVersionKind()
		stated, ok := pointed(rootOf(t, gvk, desired), c.operations[0].Path)
		if !ok || stated.value == nil || ignored(stated, desired) {
			continue
		}
		switch stated.value.(type) {
		case map[string]any, []any:
			continue
		}
		if _, touched := restated[c.Manifest]; touched || strings.Contains(c.Note, "admission") {
			continue // more than one field differs
		}
		want := stated.path
		byIndex := want[len(want)-1].Index != nil
		switch {
		case stated.isKey:
			want = stated.element // with another merge key, this element is missing
		case byIndex && c.operations[0].Op != "replace":
			want = want[:len(want)-1] // the length differs, so the path is that of the list
		}
		live, _ := decode(t, c.Live)
		checked++
		got := paths(compare.Objects(desired, live, gvk))
		if diff := cmp.Diff([]string{want.String()}, got); diff != "" {
			t.Errorf("%s, %s: paths (-want +got):\n%s", c.Manifest, c.Name, diff)
		}
	}
	if checked < 1000 {
		t.Errorf("only %d cells change one stated value", checked)
	}
}

// TestEveryLeaf changes every stated value of every manifest of the matrix, one at a time, and checks that exactly its
// path is reported.
func TestEveryLeaf(t *testing.T) {
	checked := 0
	_, manifests := readCells(t)
	for _, m := range manifests {
		desired, ref := decode(t, m.Desired)
		gvk := ref.GroupVersionKind()
		walk(rootOf(t, gvk, desired), func(p place) {
			changed, ok := other(p.value)
			if !ok || ignored(p, desired) || filled(p, changed) {
				return
			}
			want := p.path
			if p.isKey {
				want = p.element
			}
			if p.tokens[0] == "stringData" {
				want = append(fieldpath.MakePathOrDie("data"), want[1:]...) // the API server stores the value there
			}
			checked++
			got := paths(compare.Objects(desired, with(desired, p, changed), gvk))
			if diff := cmp.Diff([]string{want.String()}, got); diff != "" {
				t.Errorf("%s, %s changed from %v to %v: paths (-want +got):\n%s", m.Manifest, p.path, p.value, changed,
					diff)
			}
		})
	}
	if checked < 1800 {
		t.Errorf("only %d values were changed", checked)
	}
}

// TestUnstatedFields adds a field to every map of every manifest that is merged, and checks that there is no
// difference.
func TestUnstatedFields(t *testing.T) {
	_, manifests := readCells(t)
	for _, m := range manifests {
		desired, ref := decode(t, m.Desired)
		gvk := ref.GroupVersionKind()
		live := runtime.DeepCopyJSON(desired)
		walk(rootOf(t, gvk, live), func(p place) {
			if in, ok := p.value.(map[string]any); ok && (!p.whole || isCustom(gvk)) {
				in["zz-unstated"] = "added"
			}
		})
		if got := compare.Objects(desired, live, gvk); len(got) > 0 {
			t.Errorf("%s: %v", m.Manifest, paths(got))
		}
	}
}
