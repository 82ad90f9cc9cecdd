// SPDX-License-Identifier: Apache-2.0

package compare_test

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/compare"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
)

// ruled compares two objects as the audit does, after the rules were applied to both.
func ruled(t *testing.T, rules []compare.Rule, ref object.Ref, desired, live map[string]any) []string {
	t.Helper()
	if compare.Applies(rules, ref) {
		var err error
		if desired, err = compare.ApplyDesired(rules, ref, desired); err != nil {
			t.Fatal(err)
		}
		if live, err = compare.Apply(rules, ref, live); err != nil {
			t.Fatal(err)
		}
	}
	return paths(compare.Objects(desired, live, ref.GroupVersionKind()))
}

// ruleOf reads a comparePatch as a bundle writes it.
func ruleOf(t *testing.T, raw []byte) compare.Rule {
	t.Helper()
	var r compare.Rule
	if err := json.Unmarshal(raw, &r); err != nil {
		t.Fatal(err)
	}
	return r
}

// TestMatrixOptions compares the results for bundles with rules with those of Fleet's agent. In cells with an
// autoscaler, it checks the range of the autoscaler, and that the number of replicas is one difference.
func TestMatrixOptions(t *testing.T) {
	const replicas = ".spec.replicas"
	for _, c := range readLines(t, matrix+"/options.jsonl") {
		t.Run(c.Name, func(t *testing.T) {
			desired, ref := decode(t, c.Desired)
			live, _ := decode(t, c.Live)
			var rules []compare.Rule
			for _, raw := range c.Patches {
				rules = append(rules, ruleOf(t, raw))
			}
			got := ruled(t, rules, ref, desired, live)
			if c.Autoscaler != nil {
				if !slices.Contains(got, replicas) {
					t.Fatalf("%v does not have %s", got, replicas)
				}
				if scales(t, c, ref) {
					got = slices.DeleteFunc(got, func(p string) bool { return p == replicas })
				}
			}
			if len(got) > 0 != c.modified() {
				t.Errorf("Fleet reports %s, the differences are %v", c.Fleet, got)
			}
		})
	}
}

// scales reports whether the autoscaler of the cell can have set the live number of replicas.
func scales(t *testing.T, c cell, ref object.Ref) bool {
	t.Helper()
	var scaler struct {
		Metadata struct{ Namespace string }
		Spec     struct {
			ScaleTargetRef           struct{ APIVersion, Kind, Name string }
			MinReplicas, MaxReplicas *int64
		}
	}
	if err := json.Unmarshal(c.Autoscaler, &scaler); err != nil {
		t.Fatal(err)
	}
	var scaled struct{ Spec struct{ Replicas int64 } }
	if err := json.Unmarshal(c.Live, &scaled); err != nil {
		t.Fatal(err)
	}
	replicas, minimum := scaled.Spec.Replicas, int64(1)
	if scaler.Spec.MinReplicas != nil {
		minimum = *scaler.Spec.MinReplicas
	}
	if replicas < minimum || replicas > *scaler.Spec.MaxReplicas {
		return false
	}
	target := scaler.Spec.ScaleTargetRef
	return target.Kind == ref.Kind && target.Name == ref.Name && scaler.Metadata.Namespace == ref.Namespace &&
		(target.APIVersion == "" || target.APIVersion == ref.APIVersion)
}

// TestApply takes its cases from docs/fleet-behavior.md, 3.3.
func TestApply(t *testing.T) {
	deploymentRef := object.Ref{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "ns", Name: "web"}
	replicas := compare.Operation{Op: "remove", Path: "/spec/replicas"}
	for _, c := range []struct {
		name          string
		rule          compare.Rule
		ref           object.Ref
		desired, live string
		want          []string
	}{
		{"a pointer to no field beside another pointer", compare.Rule{APIVersion: "apps/v1", Kind: "Deployment",
			JSONPointers: []string{"/spec/nothing/at/all", "/spec/replicas"}},
			deploymentRef, `spec: {replicas: 1}`, `spec: {replicas: 2}`, nil},
		{"a pointer that only one side has", compare.Rule{APIVersion: "v1", Kind: "ConfigMap",
			JSONPointers: []string{"/data/a"}},
			object.Ref{APIVersion: "v1", Kind: "ConfigMap"}, `data: {a: x}`, `data: {}`, nil},
		{"a pointer that empties a map", compare.Rule{APIVersion: "v1", Kind: "ConfigMap",
			JSONPointers: []string{"/data/a"}},
			object.Ref{APIVersion: "v1", Kind: "ConfigMap"}, `data: {a: x}`, `data: {b: y}`, nil},
		{"a pointer that empties a map, which the live object lacks", compare.Rule{APIVersion: "v1", Kind: "ConfigMap",
			JSONPointers: []string{"/data/a"}},
			object.Ref{APIVersion: "v1", Kind: "ConfigMap"}, `data: {a: x}`, `{}`, []string{".data"}},
		{"a pointer that empties a map of a Secret, which the live object lacks", compare.Rule{APIVersion: "v1",
			Kind: "Secret", JSONPointers: []string{"/data/a"}},
			object.Ref{APIVersion: "v1", Kind: "Secret"}, `stringData: {a: x}`, `{}`, []string{".data"}},
		{"a pointer that empties a map in a list, which the live object lacks", compare.Rule{APIVersion: "apps/v1",
			Kind: "Deployment", JSONPointers: []string{"/spec/template/spec/containers/0/resources/limits/cpu"}},
			deploymentRef, `spec: {template: {spec: {containers: [{name: c, resources: {limits: {cpu: 1}}}]}}}`,
			`spec: {template: {spec: {containers: [{name: c, resources: {}}]}}}`,
			[]string{`.spec.template.spec.containers[name="c"].resources.limits`}},
		{"a pointer that empties a map in a list", compare.Rule{APIVersion: "apps/v1", Kind: "Deployment",
			JSONPointers: []string{"/spec/template/spec/containers/0/resources/limits/cpu"}},
			deploymentRef, `spec: {template: {spec: {containers: [{name: c, resources: {limits: {cpu: 1}}}]}}}`,
			`spec: {template: {spec: {containers: [{name: c, resources: {limits: {memory: 1Gi}}}]}}}`, nil},
		{"a pointer that empties an element of a list without keys", compare.Rule{APIVersion: "example.com/v1",
			Kind: "Thing", JSONPointers: []string{"/spec/l/0/a"}},
			object.Ref{APIVersion: "example.com/v1", Kind: "Thing"}, `spec: {l: [{a: 1}]}`, `spec: {l: [{a: 2}]}`, nil},
		{"a map that was empty before, which the live object lacks", compare.Rule{APIVersion: "v1", Kind: "ConfigMap",
			JSONPointers: []string{"/data/a"}},
			object.Ref{APIVersion: "v1", Kind: "ConfigMap"}, `data: {}`, `{}`, nil},
		{"a key with a slash", compare.Rule{APIVersion: "v1", Kind: "ConfigMap", JSONPointers: []string{"/data/a~1b"}},
			object.Ref{APIVersion: "v1", Kind: "ConfigMap"}, `data: {a/b: x}`, `data: {a/b: y}`, nil},
		{"kind as a pattern of alternatives", compare.Rule{APIVersion: "apps/v1", Kind: "{Deployment,StatefulSet}",
			JSONPointers: []string{"/spec/replicas"}},
			deploymentRef, `spec: {replicas: 1}`, `spec: {replicas: 2}`, nil},
		{"group as a pattern", compare.Rule{APIVersion: "*/v1", Kind: "*", JSONPointers: []string{"/spec/replicas"}},
			deploymentRef, `spec: {replicas: 1}`, `spec: {replicas: 2}`, nil},
		{"pattern that does not compile", compare.Rule{APIVersion: "apps/v1", Kind: "[",
			JSONPointers: []string{"/spec/replicas"}},
			deploymentRef, `spec: {replicas: 1}`, `spec: {replicas: 2}`, []string{".spec.replicas"}},
		{"another namespace", compare.Rule{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "other",
			JSONPointers: []string{"/spec/replicas"}},
			deploymentRef, `spec: {replicas: 1}`, `spec: {replicas: 2}`, []string{".spec.replicas"}},
		{"stringData was folded into data", compare.Rule{APIVersion: "v1", Kind: "Secret",
			JSONPointers: []string{"/data/a"}},
			object.Ref{APIVersion: "v1", Kind: "Secret"}, `stringData: {a: x}`, `data: {a: eQ==}`, nil},

		{"operation on an exact object", compare.Rule{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "ns",
			Name: "web", Operations: []compare.Operation{replicas}},
			deploymentRef, `spec: {replicas: 1}`, `spec: {replicas: 2}`, nil},
		{"a failing operation cancels the others", compare.Rule{APIVersion: "apps/v1", Kind: "Deployment",
			Namespace: "ns", Name: "web",
			Operations: []compare.Operation{replicas, {Op: "remove", Path: "/spec/nothing"}}},
			deploymentRef, `spec: {replicas: 1}`, `spec: {replicas: 2}`, []string{".spec.replicas"}},
		{"status was removed", compare.Rule{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "ns", Name: "web",
			Operations: []compare.Operation{replicas, {Op: "remove", Path: "/status"}}},
			deploymentRef, `{spec: {replicas: 1}, status: {}}`, `{spec: {replicas: 2}, status: {}}`,
			[]string{".spec.replicas"}},
		{"operation that JSON patch does not have", compare.Rule{APIVersion: "apps/v1", Kind: "Deployment",
			Namespace: "ns", Name: "web",
			Operations: []compare.Operation{{Op: "twist", Path: "/spec/replicas"}}},
			deploymentRef, `spec: {replicas: 1}`, `spec: {replicas: 2}`, []string{".spec.replicas"}},
		{"operation without a name", compare.Rule{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "ns",
			Operations: []compare.Operation{replicas}},
			deploymentRef, `spec: {replicas: 1}`, `spec: {replicas: 2}`, []string{".spec.replicas"}},
		{"operation of another version", compare.Rule{APIVersion: "apps/v1beta1", Kind: "Deployment", Namespace: "ns",
			Name: "web", Operations: []compare.Operation{replicas}},
			deploymentRef, `spec: {replicas: 1}`, `spec: {replicas: 2}`, []string{".spec.replicas"}},
		{"operation beside an ignore", compare.Rule{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "ns",
			Name:       "web",
			Operations: []compare.Operation{{Op: "ignore"}, replicas}},
			deploymentRef, `spec: {replicas: 1}`, `spec: {replicas: 2}`, nil},
		{"only an ignore", compare.Rule{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "ns", Name: "web",
			Operations: []compare.Operation{{Op: "ignore"}}},
			deploymentRef, `spec: {replicas: 1}`, `spec: {replicas: 2}`, []string{".spec.replicas"}},
		{"replace with a value", compare.Rule{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "ns", Name: "web",
			Operations: []compare.Operation{{Op: "replace", Path: "/spec/replicas", Value: json.RawMessage(`7`)}}},
			deploymentRef, `spec: {replicas: 1}`, `spec: {replicas: 2}`, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			desired, live := parse(t, c.desired), parse(t, c.live)
			before := []map[string]any{runtime.DeepCopyJSON(desired), runtime.DeepCopyJSON(live)}
			got := ruled(t, []compare.Rule{c.rule}, c.ref, desired, live)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("paths (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(before, []map[string]any{desired, live}); diff != "" {
				t.Errorf("the arguments were changed (-want +got):\n%s", diff)
			}
		})
	}
}

// TestOperationsTogether checks that one failing operation cancels the operations of all rules for its object, and no
// others.
func TestOperationsTogether(t *testing.T) {
	ref := object.Ref{APIVersion: "v1", Kind: "ConfigMap", Namespace: "ns", Name: "a"}
	rule := func(name, path string) compare.Rule {
		return compare.Rule{APIVersion: "v1", Kind: "ConfigMap", Namespace: "ns", Name: name,
			Operations: []compare.Operation{{Op: "remove", Path: path}}}
	}
	desired, live := parse(t, `data: {a: x, b: x}`), parse(t, `data: {a: y, b: y}`)
	got := ruled(t, []compare.Rule{rule("a", "/data/a"), rule("a", "/data/nothing")}, ref, desired, live)
	if diff := cmp.Diff([]string{".data.a", ".data.b"}, got); diff != "" {
		t.Errorf("with a failing operation (-want +got):\n%s", diff)
	}
	got = ruled(t, []compare.Rule{rule("a", "/data/a"), rule("other", "/data/nothing")}, ref, desired, live)
	if diff := cmp.Diff([]string{".data.b"}, got); diff != "" {
		t.Errorf("with a failing operation for another object (-want +got):\n%s", diff)
	}
}

// TestIgnored takes its cases from docs/fleet-behavior.md, 3.3.
func TestIgnored(t *testing.T) {
	ignore := []compare.Operation{{Op: "ignore"}}
	rule := func(namespace, name string) compare.Rule {
		return compare.Rule{APIVersion: "v1", Kind: "ConfigMap", Namespace: namespace, Name: name, Operations: ignore}
	}
	in := object.Ref{APIVersion: "v1", Kind: "ConfigMap", Namespace: "ns", Name: "web-1"}
	for _, c := range []struct {
		name string
		rule compare.Rule
		ref  object.Ref
		want bool
	}{
		{"exact", rule("ns", "web-1"), in, true},
		{"all of a namespace", rule("ns", ""), in, true},
		{"an empty namespace is that of a cluster-scoped object", rule("", "web-1"), in, false},
		{"a cluster-scoped object", compare.Rule{APIVersion: "v1", Kind: "Namespace", Name: "a", Operations: ignore},
			object.Ref{APIVersion: "v1", Kind: "Namespace", Name: "a"}, true},
		{"another namespace", rule("other", "web-1"), in, false},
		{"pattern", rule("ns", "web-.*"), in, true},
		{"pattern that matches a second name", rule("ns", "web-.*"), object.Ref{APIVersion: "v1", Kind: "ConfigMap",
			Namespace: "ns", Name: "web-2"}, true},
		{"pattern without anchors", rule("ns", "eb"), in, true},
		{"pattern that does not compile", rule("ns", "web-("), in, false},
		{"another version", compare.Rule{APIVersion: "v2", Kind: "ConfigMap", Namespace: "ns", Operations: ignore}, in,
			false},
		{"another operation", compare.Rule{APIVersion: "v1", Kind: "ConfigMap", Namespace: "ns",
			Operations: []compare.Operation{{Op: "remove", Path: "/data"}}}, in, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := compare.Ignored([]compare.Rule{c.rule}, c.ref); got != c.want {
				t.Errorf("ignored %t, want %t", got, c.want)
			}
		})
	}
}
