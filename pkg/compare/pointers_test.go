// SPDX-License-Identifier: Apache-2.0

package compare_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/compare"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
)

// TestPointers checks which differences have a JSON pointer. An empty one excludes nothing.
func TestPointers(t *testing.T) {
	config := object.Ref{APIVersion: "v1", Kind: "ConfigMap", Namespace: "ns", Name: "a"}
	deployment := object.Ref{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "ns", Name: "web"}
	custom := object.Ref{APIVersion: "example.com/v1", Kind: "Widget", Namespace: "ns", Name: "w"}
	pod := func(containers string) string { return `spec: {template: {spec: {containers: [` + containers + `]}}}` }
	operation := func(path string) compare.Rule {
		return compare.Rule{APIVersion: "v1", Kind: "ConfigMap", Namespace: "ns", Name: "a",
			Operations: []compare.Operation{{Op: "remove", Path: path}}}
	}
	for _, tc := range []struct {
		name          string
		ref           object.Ref
		rules         []compare.Rule
		desired, live string
		want          []string
	}{
		{name: "fields", ref: config, desired: `data: {a: x, b: x, c: x}`, live: `data: {a: y, c: x}`,
			want: []string{"/data/a", "/data/b"}},
		{name: "keys with slash and tilde", ref: config, desired: `metadata: {labels: {a/b: x, c~d: x}}`,
			live: `metadata: {labels: {a/b: w, c~d: w}}`,
			want: []string{"/metadata/labels/a~1b", "/metadata/labels/c~0d"}},
		{name: "stringData", ref: object.Ref{APIVersion: "v1", Kind: "Secret", Namespace: "ns", Name: "s"},
			desired: `stringData: {a: x}`, live: `data: {a: eQ==}`, want: []string{"/data/a"}},
		{name: "element in the same position", ref: deployment,
			desired: pod(`{name: a, image: x}, {name: b, image: x}`),
			live:    pod(`{name: a, image: x}, {name: b, image: y}`),
			want:    []string{"/spec/template/spec/containers/1/image"}},
		{name: "element in another position", ref: deployment, desired: pod(`{name: b, image: x}`),
			live: pod(`{name: a, image: z}, {name: b, image: y}`), want: []string{""}},
		{name: "element before another one is missing", ref: deployment,
			desired: pod(`{name: a, image: x}, {name: b, image: x}`), live: pod(`{name: b, image: x}`),
			want: []string{""}},
		{name: "last element is missing", ref: deployment, desired: pod(`{name: a, image: x}, {name: b, image: x}`),
			live: pod(`{name: a, image: x}`),
			want: []string{"/spec/template/spec/containers/1"}},
		{name: "key with a default", ref: object.Ref{APIVersion: "v1", Kind: "Service", Namespace: "ns", Name: "s"},
			desired: `spec: {ports: [{port: 80, targetPort: 1}]}`,
			live:    `spec: {ports: [{port: 80, protocol: TCP, targetPort: 2}]}`,
			want:    []string{"/spec/ports/0/targetPort"}},
		{name: "atomic list", ref: deployment, desired: pod(`{name: a, args: [x, y, z]}`),
			live: pod(`{name: a, args: [1, y, 2]}`),
			want: []string{"/spec/template/spec/containers/0/args/0", "/spec/template/spec/containers/0/args/2"}},
		{name: "atomic list of another length", ref: deployment, desired: pod(`{name: a, args: [x, y]}`),
			live: pod(`{name: a, args: [x]}`),
			want: []string{"/spec/template/spec/containers/0/args"}},
		{name: "custom resource", ref: custom, desired: `spec: {list: [{a: 1}], x: 1}`,
			live: `spec: {list: [{a: 1}, {a: 2}], x: 2}`, want: []string{"/spec/list", "/spec/x"}},
		{name: "order", ref: deployment, desired: pod(`{name: a, image: x}, {name: b, image: x}`),
			live: pod(`{name: b, image: y}, {name: a, image: x}`),
			want: []string{"", "/spec/template/spec/containers"}},
		{name: "operation that succeeds", ref: config, rules: []compare.Rule{operation("/data/b")},
			desired: `data: {a: x, b: x}`, live: `data: {a: y, b: y}`, want: []string{"/data/a"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			desired, live := parse(t, tc.desired), parse(t, tc.live)
			a, b := desired, live
			if compare.Applies(tc.rules, tc.ref) {
				a, b = applied(t, tc.rules, tc.ref, desired), applied(t, tc.rules, tc.ref, live)
			}
			differences := compare.Objects(a, b, tc.ref.GroupVersionKind())
			got := compare.Pointers(tc.rules, tc.ref, desired, live, differences)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Fatalf("pointers (-want +got):\n%s", diff)
			}
			if slices.Contains(got, "") {
				return
			}
			rules := append(slices.Clone(tc.rules), compare.Exclude(tc.ref, got))
			if left := ruled(t, rules, tc.ref, desired, live); len(left) > 0 {
				t.Errorf("with the pointers, %v remain", left)
			}
		})
	}
}

func applied(t *testing.T, rules []compare.Rule, ref object.Ref, content map[string]any) map[string]any {
	t.Helper()
	out, err := compare.Apply(rules, ref, content)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestVoidedPointers checks that there are no pointers if they would make an operation of the bundle fail.
func TestVoidedPointers(t *testing.T) {
	ref := object.Ref{APIVersion: "example.com/v1", Kind: "Widget", Namespace: "ns", Name: "a"}
	rules := []compare.Rule{{APIVersion: "example.com/v1", Kind: "Widget", Namespace: "ns", Name: "a",
		Operations: []compare.Operation{{Op: "remove", Path: "/spec/list/0/b"}, {Op: "remove", Path: "/spec/x"}}}}
	desired, live := parse(t, `spec: {x: 1, list: [{a: 1, b: 1}]}`),
		parse(t, `spec: {x: 2, list: [{b: 1}, {a: 2, b: 1}]}`)
	differences := compare.Objects(applied(t, rules, ref, desired), applied(t, rules, ref, live),
		ref.GroupVersionKind())
	if got := compare.Pointers(rules, ref, desired, live, differences); slices.ContainsFunc(got, func(p string) bool {
		return p != ""
	}) {
		t.Errorf("pointers %q", got)
	}
}

// TestManyPointers checks objects with many differences and long lists: a large object must not take quadratic time.
func TestManyPointers(t *testing.T) {
	ref := object.Ref{APIVersion: "v1", Kind: "ConfigMap", Namespace: "ns", Name: "a"}
	for n, want := range map[int]bool{1000: true, 1001: false} {
		data := func(value string) map[string]any {
			m := map[string]any{}
			for i := range n {
				m[fmt.Sprint("key", i)] = value
			}
			return map[string]any{"data": m}
		}
		differences := compare.Objects(data("a"), data("b"), ref.GroupVersionKind())
		got := compare.Pointers(nil, ref, data("a"), data("b"), differences)
		if len(got) != n || slices.Contains(got, "") == want {
			t.Errorf("%d differences: %d pointers, all set: %v", n, len(got), !slices.Contains(got, ""))
		}
	}
	pod := object.Ref{APIVersion: "v1", Kind: "Pod", Namespace: "ns", Name: "a"}
	for n, want := range map[int]bool{256: true, 257: false} {
		env := func(value string) map[string]any {
			var list []any
			for i := range n {
				list = append(list, map[string]any{"name": fmt.Sprint("N", i), "value": value})
			}
			return map[string]any{"spec": map[string]any{"containers": []any{map[string]any{"name": "c", "env": list}}}}
		}
		differences := compare.Objects(env("a"), env("b"), pod.GroupVersionKind())
		if got := compare.Pointers(nil, pod, env("a"), env("b"), differences); len(got) != n ||
			slices.Contains(got, "") == want {
			t.Errorf("%d elements: %d pointers, all set: %v", n, len(got), !slices.Contains(got, ""))
		}
	}
}

// TestExclude checks that the rule is the smallest one, and that its pointers are valid one after the other.
func TestExclude(t *testing.T) {
	got := compare.Exclude(object.Ref{}, []string{"/b/2", "", "/b/10", "/a/x", "/a", "/ab", "/b/2", "/a/y/z",
		"/b/2/c"}).JSONPointers
	if diff := cmp.Diff([]string{"/a", "/ab", "/b/10", "/b/2"}, got); diff != "" {
		t.Errorf("pointers (-want +got):\n%s", diff)
	}
}
