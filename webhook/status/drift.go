// SPDX-License-Identifier: Apache-2.0

package status

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fleetdoctor/kubectl-fleetdoctor/webhook/install"
)

// difference is a field of a live object that is not as the manifests have it.
type difference struct {
	// path names the field: "webhooks[stamp.fleetdoctor.io].failurePolicy".
	path string
	// want and got are its values, nil where it is not stated.
	want, got any
}

// String says it in one line; a value that is no single one is not shown.
func (d difference) String() string {
	got, gotPlain := plain(d.got)
	want, wantPlain := plain(d.want)
	switch {
	case d.got == nil && wantPlain:
		return fmt.Sprintf("%s is missing, wants %s", d.path, want)
	case d.got == nil:
		return d.path + " is missing"
	case d.want == nil && gotPlain:
		return fmt.Sprintf("%s is %s, should not be there", d.path, got)
	case d.want == nil:
		return d.path + " should not be there"
	case gotPlain && wantPlain && len(got)+len(want) < 80:
		return fmt.Sprintf("%s is %s, wants %s", d.path, got, want)
	}
	return d.path + " differs"
}

func plain(v any) (string, bool) {
	switch v.(type) {
	case map[string]any, []any:
		return "", false
	}
	return fmt.Sprint(v), true
}

// driftOf compares an object with what is wanted: every field that is stated must be there with its value. What is not stated may be, because
// the server fills in defaults, but for the elements of lists, and for selectors, which would narrow or widen what is meant.
func driftOf(want, got *unstructured.Unstructured) []difference {
	var out []difference
	for _, k := range slices.Sorted(maps.Keys(want.Object)) {
		switch k {
		case "apiVersion", "kind":
		case "metadata":
			for _, m := range []string{"labels", "annotations"} {
				w, _, _ := unstructured.NestedMap(want.Object, k, m)
				g, _, _ := unstructured.NestedMap(got.Object, k, m)
				out = append(out, compareMaps("metadata."+m, w, g)...)
			}
		default:
			out = append(out, compareValues(k, want.Object[k], got.Object[k])...)
		}
	}
	return out
}

// selectors are compared as a whole. Where one is not stated the server writes an empty one, which selects everything.
var selectors = []string{"namespaceSelector", "objectSelector"}

func compareMaps(path string, want, got map[string]any) []difference {
	var out []difference
	for _, k := range slices.Sorted(maps.Keys(want)) {
		out = append(out, compareValues(path+"."+k, want[k], got[k])...)
	}
	if _, webhook := want["clientConfig"]; webhook {
		for _, k := range selectors {
			if m, _ := got[k].(map[string]any); want[k] == nil && len(m) > 0 {
				out = append(out, difference{path: path + "." + k, got: got[k]})
			}
		}
		if address := install.URLOf(got); address != "" && install.URLOf(want) == "" {
			out = append(out, difference{path: path + ".clientConfig.url", got: address})
		}
		if m, _ := got["matchConditions"].([]any); want["matchConditions"] == nil && len(m) > 0 {
			out = append(out, difference{path: path + ".matchConditions", got: got["matchConditions"]})
		}
	}
	return out
}

func compareValues(path string, want, got any) []difference {
	switch w := want.(type) {
	case map[string]any:
		g, ok := got.(map[string]any)
		switch {
		case !ok && len(w) > 0:
			return []difference{{path: path, want: want, got: got}}
		case slices.ContainsFunc(selectors, func(s string) bool { return path == s || strings.HasSuffix(path, "."+s) }) && !reflect.DeepEqual(w, g):
			return []difference{{path: path, want: want, got: got}}
		}
		return compareMaps(path, w, g)
	case []any:
		g, ok := got.([]any)
		if !ok && len(w) > 0 {
			return []difference{{path: path, want: want, got: got}}
		}
		return compareLists(path, w, g)
	}
	if want == nil || same(want, got) { // null in a manifest states nothing
		return nil
	}
	return []difference{{path: path, want: want, got: got}}
}

// compareLists compares elements that have names by them, others by their places. The order of arguments says nothing.
func compareLists(path string, want, got []any) []difference {
	if strings.HasSuffix(path, ".args") {
		byText := func(a, b any) int { return cmp.Compare(fmt.Sprint(a), fmt.Sprint(b)) }
		want, got = slices.SortedFunc(slices.Values(want), byText), slices.SortedFunc(slices.Values(got), byText)
	}
	names, other := named(want), named(got)
	if names == nil || other == nil {
		if len(want) != len(got) {
			return []difference{{path: path, want: want, got: got}}
		}
		var out []difference
		for i := range want {
			out = append(out, compareValues(fmt.Sprintf("%s[%d]", path, i), want[i], got[i])...)
		}
		return out
	}
	var out []difference
	for _, name := range slices.Sorted(maps.Keys(names)) {
		at := fmt.Sprintf("%s[%s]", path, name)
		if g, ok := other[name]; ok {
			out = append(out, compareMaps(at, names[name], g)...)
		} else {
			out = append(out, difference{path: at, want: names[name]})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(other)) {
		if _, ok := names[name]; !ok {
			out = append(out, difference{path: fmt.Sprintf("%s[%s]", path, name), got: other[name]})
		}
	}
	return out
}

// named are the elements of a list by their names, nil where any has none.
func named(list []any) map[string]map[string]any {
	if len(list) == 0 {
		return nil
	}
	out := map[string]map[string]any{}
	for _, e := range list {
		m, _ := e.(map[string]any)
		name, _ := m["name"].(string)
		if name == "" || out[name] != nil {
			return nil
		}
		out[name] = m
	}
	return out
}

// same compares single values; quantities by what they come to, as a server may write them otherwise.
func same(want, got any) bool {
	if reflect.DeepEqual(want, got) {
		return true
	}
	w, ok1 := want.(string)
	g, ok2 := got.(string)
	if !ok1 || !ok2 {
		return false
	}
	a, err1 := resource.ParseQuantity(w)
	b, err2 := resource.ParseQuantity(g)
	return err1 == nil && err2 == nil && a.Cmp(b) == 0
}
