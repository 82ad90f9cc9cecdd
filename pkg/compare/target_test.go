// SPDX-License-Identifier: Apache-2.0

package compare_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/compare"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
)

// targets are desired objects with maps, atomic lists, and lists with keys.
var targets = []string{`
apiVersion: v1
kind: ConfigMap
metadata: {name: a, namespace: b, labels: {app: a}, annotations: {note: x}}
data: {colour: blue, size: large, "with/slash": a}
`, `
apiVersion: v1
kind: Secret
metadata: {name: a, namespace: b}
data: {password: cGxhbnRlZA==, user: YQ==}
stringData: {token: planted}
`, `
apiVersion: v1
kind: Service
metadata: {name: a, namespace: b, labels: {app: a}}
spec: {selector: {app: a, tier: web}, ports: [{name: http, port: 80}, {name: https, port: 443}]}
`, `
apiVersion: apps/v1
kind: Deployment
metadata: {name: a, namespace: b}
spec:
  replicas: 2
  selector: {matchLabels: {app: a}}
  template:
    metadata: {labels: {app: a}}
    spec:
      tolerations: [{key: a, operator: Exists}]
      containers:
      - {name: web, image: "web:1", args: [serve, --fast], env: [{name: MODE, value: a}, {name: MORE, value: b}]}
      - {name: side, image: "side:1", ports: [{containerPort: 80}], resources: {limits: {cpu: 500m}}}
`, `
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: a, namespace: b}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: reader}
subjects: [{kind: User, name: ann, apiGroup: rbac.authorization.k8s.io}, {kind: ServiceAccount, name: a, namespace: b}]
`, `
apiVersion: example.com/v1
kind: Widget
metadata: {name: a, namespace: b}
spec: {size: 3, tags: [a, b], on: false, parts: [{name: x, n: 1}, {name: y, n: 2}], deep: {er: {value: 1.5}}}
`}

// spot is a value of an object: a key of a map or an index of a list, with its JSON pointer.
type spot struct {
	in      any // map[string]any or []any
	key     string
	index   int
	pointer string
	put     func(any) // replaces a list
}

// spots are the values of an object, except for what names it.
func spots(v any, pointer string, put func(any)) []spot {
	var out []spot
	switch v := v.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			at := pointer + "/" + strings.ReplaceAll(key, "/", "~1")
			switch at {
			case "/apiVersion", "/kind", "/metadata/name", "/metadata/namespace":
				continue
			}
			out = append(append(out, spot{in: v, key: key, pointer: at}),
				spots(v[key], at, func(now any) { v[key] = now })...)
		}
	case []any:
		for i := range v {
			at := fmt.Sprintf("%s/%d", pointer, i)
			out = append(append(out, spot{in: v, index: i, pointer: at, put: put}),
				spots(v[i], at, func(now any) { v[i] = now })...)
		}
	}
	return out
}

// scalar is another value of the type of a value.
func scalar(r *rand.Rand, v any) any {
	switch v := v.(type) {
	case string:
		return []any{"Yg==", "Yw==", "other", v + "x"}[r.IntN(4)]
	case bool:
		return !v
	case int64:
		return v + int64(1+r.IntN(3))
	case float64:
		return v + 1
	}
	return v
}

// mutate changes, removes or adds a value somewhere in an object.
func mutate(r *rand.Rand, content object.Content) {
	all := spots(content, "", nil)
	if len(all) == 0 {
		return
	}
	s := all[r.IntN(len(all))]
	switch in := s.in.(type) {
	case map[string]any:
		switch fields, isMap := in[s.key].(map[string]any); {
		case isMap && r.IntN(3) > 0:
			fields[fmt.Sprintf("more%d", r.IntN(2))] = "Yg=="
		case r.IntN(4) == 0:
			delete(in, s.key)
		default:
			in[s.key] = scalar(r, in[s.key])
		}
	case []any:
		switch list := slices.Clone(in); r.IntN(5) {
		case 0:
			s.put(slices.Delete(list, s.index, s.index+1))
		case 1:
			added := runtime.DeepCopyJSONValue(list[s.index])
			if fields, ok := added.(map[string]any); ok {
				for _, key := range slices.Sorted(maps.Keys(fields)) {
					fields[key] = scalar(r, fields[key])
				}
			} else {
				added = scalar(r, added)
			}
			s.put(slices.Insert(list, r.IntN(len(list)+1), added))
		case 2:
			slices.Reverse(list)
			s.put(list)
		default:
			in[s.index] = scalar(r, in[s.index])
		}
	}
}

// someRules ignore some fields of an object, or replace them.
func someRules(r *rand.Rand, ref object.Ref, contents ...object.Content) []compare.Rule {
	rule := compare.Rule{APIVersion: ref.APIVersion, Kind: ref.Kind, Namespace: ref.Namespace, Name: ref.Name}
	for range r.IntN(3) {
		all := spots(contents[r.IntN(len(contents))], "", nil)
		if len(all) == 0 {
			continue
		}
		at := all[r.IntN(len(all))].pointer
		if r.IntN(2) == 0 {
			rule.JSONPointers = append(rule.JSONPointers, at)
		} else {
			rule.Operations = append(rule.Operations, compare.Operation{Op: "remove", Path: at})
		}
	}
	return []compare.Rule{rule}
}

// differing are the paths in which two states differ after the rules.
func differing(t *testing.T, rules []compare.Rule, ref object.Ref, desired, live object.Content) ([]string, bool) {
	t.Helper()
	if compare.Applies(rules, ref) {
		var err, liveErr error
		if desired, err = compare.ApplyDesired(rules, ref, desired); err == nil {
			live, liveErr = compare.Apply(rules, ref, live)
		}
		if err != nil || liveErr != nil {
			return nil, false
		}
	}
	return paths(compare.Objects(desired, live, ref.GroupVersionKind())), true
}

// decodedYAML decodes an object.
func decodedYAML(t *testing.T, text string) object.Content {
	t.Helper()
	raw, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	out, _, err := object.Decode(raw)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// selectors are those of elements of lists. A rule that removes a key of an element makes them indexes.
var selectors = regexp.MustCompile(`\[[^]]*\]`)

// leads reports whether one path leads to the other, or into it.
func leads(a, b string, ruled bool) bool {
	if ruled {
		a, b = selectors.ReplaceAllString(a, "[]"), selectors.ReplaceAllString(b, "[]")
	}
	short, long := a, b
	if len(a) > len(b) {
		short, long = b, a
	}
	return short == long || strings.HasPrefix(long, short) && strings.ContainsAny(long[len(short):len(short)+1], ".[")
}

// checkTarget restores the differences of two random states of a kind. It returns false if they cannot be restored one
// by one.
func checkTarget(t *testing.T, seed uint64, kind string) bool {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 1))
	desired := decodedYAML(t, kind)
	live := runtime.DeepCopyJSON(desired)
	delete(live, "stringData")
	for range 1 + r.IntN(5) {
		mutate(r, live)
	}
	gvk := kindOf(desired)
	ref := object.Ref{APIVersion: gvk.GroupVersion().String(), Kind: gvk.Kind, Namespace: "b", Name: "a"}
	rules := someRules(r, ref, desired, live)
	restores, ok := differing(t, rules, ref, desired, live)
	if !ok {
		return false
	}
	before := []object.Content{runtime.DeepCopyJSON(desired), runtime.DeepCopyJSON(live)}
	target, err := compare.NewTarget(rules, ref, desired, live, restores)
	if err != nil && !errors.Is(err, compare.ErrNotExact) {
		t.Fatalf("seed %d: %v", seed, err)
	}
	var merged object.Content
	if err == nil {
		merged, err = target.Merged()
	}
	if diff := cmp.Diff(before, []object.Content{desired, live}); diff != "" {
		t.Errorf("seed %d: the arguments were changed:\n%s", seed, diff)
	}
	if err != nil {
		return false
	}
	fail := func(format string, args ...any) {
		t.Helper()
		t.Errorf("seed %d: %s\nrules %+v\nrestores %q\ndesired %v\nlive %v\nmerged %v", seed,
			fmt.Sprintf(format, args...), rules, restores, desired, live, merged)
	}
	if left, _ := differing(t, rules, ref, desired, merged); slices.ContainsFunc(left, func(path string) bool {
		return slices.Contains(restores, path)
	}) {
		fail("it still differs in %q", left)
	}
	for _, d := range append(compare.Objects(live, merged, gvk), compare.Objects(merged, live, gvk)...) {
		path := d.Path.String()
		if !slices.ContainsFunc(restores, func(x string) bool { return leads(x, path, compare.Applies(rules, ref)) }) {
			fail("%s was changed from %v to %v", path, d.Desired, d.Live)
		}
	}
	if !target.Restored(merged) {
		fail("it does not count as restored")
	}
	forward, err := compare.MergePatch(live, merged)
	if err != nil || !compare.HasMerged(merged, forward) {
		fail("the patch %s is not in the result (%v)", forward, err)
	}
	undo, err := compare.MergePatch(merged, live)
	if err != nil || !compare.HasMerged(live, undo) {
		fail("the patch of the undo %s is not in the live object (%v)", undo, err)
	}
	if back := patchedWith(t, merged, undo); cmp.Diff(live, back) != "" {
		fail("the undo gives (-live +got):\n%s", cmp.Diff(live, back))
	}
	inverse, err := compare.Inverse(live, forward)
	if back := patchedWith(t, patchedWith(t, live, forward), inverse); err != nil || cmp.Diff(live, back) != "" {
		fail("the inverse gives %v (-live +got):\n%s", err, cmp.Diff(live, back))
	}
	return true
}

// patchedWith applies a merge patch.
func patchedWith(t *testing.T, content object.Content, patch []byte) object.Content {
	t.Helper()
	raw, err := json.Marshal(content)
	if err == nil {
		raw, err = jsonpatch.MergePatch(raw, patch)
	}
	if err != nil {
		t.Fatal(err)
	}
	out, _, err := object.Decode(raw)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestTargetKeepsExcused restores a field next to fields that rules excuse: these keep their live values.
func TestTargetKeepsExcused(t *testing.T) {
	desired := decodedYAML(t, targets[3])
	live := runtime.DeepCopyJSON(desired)
	spec, _ := live["spec"].(map[string]any)
	spec["replicas"], spec["paused"] = int64(5), true
	delete(spec, "selector")
	ref := object.Ref{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "b", Name: "a"}
	rules := []compare.Rule{{APIVersion: ref.APIVersion, Kind: ref.Kind, Namespace: "b", Name: "a",
		JSONPointers: []string{"/spec/selector"}}}
	target, err := compare.NewTarget(rules, ref, desired, live, []string{".spec.replicas"})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]any{".spec.replicas": int64(5)}, target.Live()); diff != "" {
		t.Errorf("the live values (-want +got):\n%s", diff)
	}
	merged, err := target.Merged()
	if err != nil {
		t.Fatal(err)
	}
	want := runtime.DeepCopyJSON(live)
	if err := unstructured.SetNestedField(want, int64(2), "spec", "replicas"); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, merged); diff != "" {
		t.Errorf("restored (-want +got):\n%s", diff)
	}
	if target.Restored(live) || !target.Restored(merged) {
		t.Error("only the merged object is restored")
	}
}

// TestTargetNotExact refuses paths that are not the differences.
func TestTargetNotExact(t *testing.T) {
	desired := decodedYAML(t, targets[0])
	live := runtime.DeepCopyJSON(desired)
	live["data"] = map[string]any{"colour": "red", "size": "large"}
	ref := object.Ref{APIVersion: "v1", Kind: "ConfigMap", Namespace: "b", Name: "a"}
	for _, restores := range [][]string{{".data.size"}, {".data.colour", ".data.other"}, {".data"}} {
		if _, err := compare.NewTarget(nil, ref, desired, live, restores); !errors.Is(err, compare.ErrNotExact) {
			t.Errorf("%q: error %v", restores, err)
		}
	}
}

// TestTargets restores random differences of each kind.
func TestTargets(t *testing.T) {
	for i, kind := range targets {
		restored := 0
		const tries = 600
		for seed := range uint64(tries) {
			if checkTarget(t, seed*uint64(len(targets))+uint64(i), kind) {
				restored++
			}
			if t.Failed() {
				t.Fatal(kind)
			}
		}
		if restored < tries/2 {
			t.Errorf("only %d of %d differences were restored:%s", restored, tries, kind)
		}
	}
}

// FuzzTarget is TestTargets with more differences.
func FuzzTarget(f *testing.F) {
	f.Add(uint64(1), uint(0))
	f.Fuzz(func(t *testing.T, seed uint64, kind uint) {
		checkTarget(t, seed, targets[kind%uint(len(targets))])
	})
}
