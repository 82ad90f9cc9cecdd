// SPDX-License-Identifier: Apache-2.0

package install

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/compare"
)

// drift compares a live object with the desired one: the fields of the manifest, and additional fields of the live
// object that change the effect of the installation (named list elements such as containers and webhooks, and the scope
// of a webhook).
func drift(desired, live *unstructured.Unstructured) []compare.Difference {
	kind := desired.GroupVersionKind()
	ignored := func(d compare.Difference) bool { return d.Order } // it has no effect in these manifests
	out := slices.DeleteFunc(compare.Objects(desired.Object, live.Object, kind), ignored)
	rest := live.DeepCopy()
	unstructured.RemoveNestedField(rest.Object, "status")
	for _, d := range compare.Objects(rest.Object, desired.Object, kind) {
		if !ignored(d) && !d.LiveSet && isExtra(d) {
			out = append(out, compare.Difference{Path: d.Path, Live: d.Desired, LiveSet: true})
		}
	}
	return out
}

// isExtra reports whether a value that only the live object has is more than a default of the server.
func isExtra(d compare.Difference) bool {
	if m, ok := d.Desired.(map[string]any); ok && len(m) == 0 {
		return false
	}
	scope := []string{"namespaceSelector", "objectSelector", "matchConditions", "url"}
	isScope := func(e fieldpath.PathElement) bool { return slices.Contains(scope, ptr.Deref(e.FieldName, "")) }
	return d.Path[len(d.Path)-1].Key != nil || slices.ContainsFunc(d.Path, isScope)
}

// driftText describes a difference in one line. It shows a value only if it is a short scalar.
func driftText(d compare.Difference) string {
	path := d.Path.String()
	live, desired := scalarText(d.Live), scalarText(d.Desired)
	switch {
	case !d.LiveSet:
		return path + " is missing" + desired
	case !d.DesiredSet:
		return path + live + " is not in the manifest"
	case live == "" || desired == "":
		return path + " differs"
	}
	return path + " is" + live + ", desired is" + desired
}

func scalarText(v any) string {
	switch v.(type) {
	case nil, map[string]any, []any:
		return ""
	}
	if text := fmt.Sprintf(" %v", v); len(text) <= 60 {
		return text
	}
	return ""
}
