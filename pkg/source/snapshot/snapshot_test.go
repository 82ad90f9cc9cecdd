// SPDX-License-Identifier: Apache-2.0

package snapshot_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source/snapshot"
)

// raw returns the JSON of the only object of a kind.
func raw(t *testing.T, s *snapshot.Snapshot, kind schema.GroupVersionKind) string {
	t.Helper()
	var out string
	_, err := s.List(t.Context(), source.Query{Kind: kind}, func(o source.Object) error {
		out += string(o.Raw)
		return nil
	})
	must(t, err)
	return out
}

func TestContent(t *testing.T) {
	configMap := schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}
	head := `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"one","namespace":"a"}`
	for _, tc := range []struct{ name, text, want string }{
		{"JSON does not change", head + `, "n": [ 9007199254740993, 1.0, 1e3, -0 ], "s": "\u00e9 \/ <&>" }`, head +
			`,"n":[9007199254740993,1.0,1e3,-0],"s":"\u00e9 \/ <&>"}`},
		{"items of an object that is not a List", `{"items":[{"a": 1}, 2],` + head[1:] + `,"spec":{"items":[]}}`, head +
			`,"spec":{"items":[]},"items":[{"a":1},2]}`},
		{"items of an object in YAML", yml(cmA, "items:", "- a: 1", "- 2", "more: x"), head +
			`,"more":"x","items":[{"a":1},2]}`},
		{"items of another type", head + `,"items":{"a":[]}}`, head + `,"items":{"a":[]}}`},
		{"items of another type in YAML", yml(cmA, "items:", "  a: []"), head + `,"items":{"a":[]}}`},
		{
			"YAML scalars",
			yml(cmA, "x: [1, 9007199254740993, 0x1f, 1_000, 0o17, 1.0, 1e3, 1.50, .5, true, yes, on, ~, null, '1', "+
				"\"true\", 2026-01-02, 2026-01-02T03:04:05Z, a: b, 12345678901234567890123]"),
			head + `,"x":[1,9007199254740993,31,1000,15,1.0,1e3,1.50,0.5,true,"yes","on",null,null,"1","true",` +
				`"2026-01-02","2026-01-02T03:04:05Z",{"a":"b"},12345678901234567890123]}`,
		},
		{
			"YAML block scalars", yml(cmA, "x: |", "  - a", "", "  ---", "  items:", "y: >-", "  folded", "  text",
				"z: \"q\\tr\\", "  s\""),
			head + `,"x":"- a\n\n---\nitems:\n","y":"folded text","z":"q\trs"}`,
		},
		{"YAML keys", yml(cmA, "x: {1: a, true: b, ~: c}"), head + `,"x":{"1":"a","true":"b","~":"c"}}`},
		{"block scalars in items", "kind: List\napiVersion: v1\nitems:\n- " +
			strings.ReplaceAll(strings.TrimSpace(yml(cmA, "x: |", "  # no comment", "  - no item")), "\n", "\n  ") +
			"\n", head + `,"x":"# no comment\n- no item\n"}`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s, err := openText(t, tc.text)
			must(t, err)
			if diff := cmp.Diff(tc.want, raw(t, s, configMap)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if d := describe(t, s); len(d.Gaps) > 0 {
				t.Errorf("gaps: %v", d.Gaps)
			}
		})
	}
}

func TestDuplicates(t *testing.T) {
	version := func(v, value string) string {
		return obj(cmA, `metadata."resourceVersion":"`+v+`"`, `"data":{"m":"`+value+`"}`)
	}
	for _, tc := range []struct{ name, first, second, want string }{
		{"newer", version("9", "1"), version("10", "2"), "2"},
		{"older", version("10", "1"), version("9", "2"), "1"},
		{"same", version("10", "1"), version("10", "2"), "1"},
		{"no number", version("x", "1"), version("y", "2"), "2"},
		{"none", version("", "1"), version("", "2"), "2"},
		{"stripped", version("10", "1"), version("", "2"), "1"},
		{"stripped first", version("", "1"), version("10", "2"), "2"},
		{"beyond 64 bits", version("99999999999999999999999", "1"), version("100000000000000000000000", "2"), "2"},
		{"another version", version("9", "1"), strings.Replace(version("10", "2"), `"v1"`, `"v2"`, 1), "2"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir := write(t, entry{"a.json", tc.first}, entry{"b.json", listOf(tc.second)})
			s := open(t, dir)
			got := raw(t, s, schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"})
			if strings.Count(got, "apiVersion") != 1 || !strings.Contains(got, `"m":"`+tc.want+`"`) {
				t.Errorf("kept %s, want %s", got, tc.want)
			}
			want := []string{"objects that were found more than once, of which the newest resourceVersion was kept " +
				"(1): configmap a/one in DIR/a.json and DIR/b.json"}
			var notes []string
			for _, n := range describe(t, s).Notes {
				notes = append(notes, strings.ReplaceAll(n, dir, "DIR"))
			}
			if diff := cmp.Diff(want, notes); diff != "" {
				t.Errorf("notes (-want +got):\n%s", diff)
			}
		})
	}
	var many []string
	for i := range 5 {
		o := obj(fmt.Sprintf("v1 ConfigMap a/c%d", i))
		many = append(many, o, o, o)
	}
	s, err := openText(t, listOf(many...))
	must(t, err)
	want := []string{"objects that were found more than once, of which the newest resourceVersion was kept (5): " +
		"configmap a/c0 in standard input and standard input, configmap a/c1 in standard input and standard input, " +
		"configmap a/c2 in standard input and standard input, …"}
	if diff := cmp.Diff(want, describe(t, s).Notes); diff != "" {
		t.Errorf("notes (-want +got):\n%s", diff)
	}
}

func TestTwoClusters(t *testing.T) {
	system := func(uid string) string { return obj("v1 Namespace kube-system", `metadata."uid":"`+uid+`"`) }
	one, two := write(t, entry{"ns.json", listOf(system("u1"))}),
		write(t, entry{"x.tgz", gz(t, tarOf(t, entry{"cluster/kube-system.json", system("u2")}))})
	if _, err := snapshot.Open(t.Context(), []string{one, one}, nil); err != nil {
		t.Errorf("one cluster twice: %v", err)
	}
	_, err := snapshot.Open(t.Context(), []string{one, two}, nil)
	const want = "opening snapshot: two clusters in one snapshot: the Namespace kube-system has one uid in " +
		"ONE/ns.json and another in TWO/x.tgz: cluster/kube-system.json"
	if err == nil || strings.NewReplacer(one, "ONE", two, "TWO").Replace(err.Error()) != want {
		t.Errorf("error %v, want %s", err, want)
	}
}

func TestTakenAt(t *testing.T) {
	for _, tc := range []struct{ name, member, want string }{
		{"creation", `metadata."creationTimestamp":"2026-01-01T02:00:00+01:00"`, "2026-01-01T01:00:00Z"},
		{"deletion, the beginning of the grace period",
			`metadata."deletionTimestamp":"2026-01-01T00:01:00Z","deletionGracePeriodSeconds":30`,
			"2026-01-01T00:00:30Z"},
		{"managed fields", `metadata."managedFields":[{"time":"2025-01-01T00:00:00Z"},` +
			`{"time":"2026-01-01T00:00:00Z",` +
			`"fieldsV1":{"time":"2027-01-01T00:00:00Z"}}]`, "2026-01-01T00:00:00Z"},
		{"conditions", `"status":{"conditions":[{"lastTransitionTime":"2026-01-01T00:00:00Z"},` +
			`{"lastHeartbeatTime":"2026-01-02T00:00:00Z"},` +
			`{"lastUpdateTime":"2026-01-01T12:00:00Z"}]}`, "2026-01-02T00:00:00Z"},
		{"lease", `"spec":{"renewTime":"2026-01-01T00:00:00.123456Z"}`, "2026-01-01T00:00:00.123456Z"},
		{"other fields", `"spec":{"creationTimestamp":"2026-01-01T00:00:00Z"},"status":{"time":"2026-01-01T00:00:00Z"}`,
			"0001-01-01T00:00:00Z"},
		{"of another type", `"status":{"conditions":{"lastTransitionTime":"2026-01-01T00:00:00Z"}},"spec":1`,
			"0001-01-01T00:00:00Z"},
		{"none", `"status":{"conditions":[null,1,"x",{"lastTransitionTime":null},{"lastTransitionTime":"yesterday"}]}`,
			"0001-01-01T00:00:00Z"},
	} {
		s, err := openText(t, obj(cmA, tc.member))
		must(t, err)
		if got := describe(t, s).TakenAt.Format(time.RFC3339Nano); got != tc.want {
			t.Errorf("%s: %s, want %s", tc.name, got, tc.want)
		}
	}
}

func TestKinds(t *testing.T) {
	s, err := openText(t, listOf(
		obj("apiextensions.k8s.io/v1 CustomResourceDefinition widgets.example.com",
			`"spec":{"group":"example.com","scope":"Cluster","names":{"kind":"Widget","plural":"widgetz"},`+
				`"versions":[{"name":"v1beta1","served":true},{"name":"v1","served":true},`+
				`{"name":"v0","served":false}]}`),
		obj("autoscaling/v1 HorizontalPodAutoscaler a/x"), obj("autoscaling/v1 HorizontalPodAutoscaler a/y"),
		obj("autoscaling/v2 HorizontalPodAutoscaler a/z"),
		obj("other.example.com/v1 Policy x"), obj("v1 Endpoints a/x"),
	)+typedList("networking.k8s.io/v1", "IngressList", ""))
	must(t, err)
	kinds, err := s.Kinds(t.Context())
	must(t, err)
	var got []string
	for _, k := range kinds.All() {
		got = append(got, fmt.Sprintf("%s %s %s %t", k.GroupVersion(), k.Kind, k.Resource, k.Namespaced))
	}
	want := []string{
		"v1 Endpoints endpoints true",
		"apiextensions.k8s.io/v1 CustomResourceDefinition customresourcedefinitions false",
		"autoscaling/v1 HorizontalPodAutoscaler horizontalpodautoscalers true",
		"example.com/v1 Widget widgetz false",
		"networking.k8s.io/v1 Ingress ingresses true",
		"other.example.com/v1 Policy policies false",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, gvk := range []schema.GroupVersionKind{
		{Group: "autoscaling", Version: "v2", Kind: "HorizontalPodAutoscaler"},
		{Group: "example.com", Version: "v1beta1", Kind: "Widget"},
	} {
		if _, _, ok := kinds.Lookup(gvk); !ok {
			t.Errorf("%s is not known", gvk)
		}
	}
	for _, gvk := range []schema.GroupVersionKind{{Group: "example.com", Version: "v0", Kind: "Widget"},
		{Version: "v1", Kind: "Pod"}} {
		if _, f, ok := kinds.Lookup(gvk); ok || f.Reason != source.NotInSnapshot {
			t.Errorf("%s: known %t, %+v", gvk, ok, f)
		}
	}
}

func TestList(t *testing.T) {
	s, err := openText(t, listOf(
		obj("v1 Secret a/one", `metadata."labels":{"app":"x","tier":"db"}`, `"type":"Opaque"`),
		obj("v1 Secret a/two", `"type":"helm.sh/release.v1"`),
		obj("v1 Secret b/one", `metadata."labels":{"app":"y"}`, `"type":"Opaque"`),
		obj("v1 Secret b/null", `metadata."labels":null`),
		obj(node), obj("autoscaling/v1 HorizontalPodAutoscaler a/x"),
	))
	must(t, err)
	secret := schema.GroupVersionKind{Version: "v1", Kind: "Secret"}
	for _, tc := range []struct {
		name string
		q    source.Query
		want string
	}{
		{"all", source.Query{Kind: secret}, "a/one a/two b/null b/one"},
		{"metadata only", source.Query{Kind: secret, MetadataOnly: true}, "a/one a/two b/null b/one"},
		{"namespace", source.Query{Kind: secret, Namespaces: []string{"b", "c"}}, "b/null b/one"},
		{"namespaces of cluster-scoped", source.Query{Kind: schema.GroupVersionKind{Version: "v1", Kind: "Node"},
			Namespaces: []string{"a"}}, "n1"},
		{"label", source.Query{Kind: secret, LabelSelector: "app"}, "a/one b/one"},
		{"labels", source.Query{Kind: secret, LabelSelector: "app in (x,z),tier!=web"}, "a/one"},
		{"no label", source.Query{Kind: secret, LabelSelector: "!app"}, "a/two b/null"},
		{"type", source.Query{Kind: secret, FieldSelector: "type=helm.sh/release.v1"}, "a/two"},
		{"fields", source.Query{Kind: secret, FieldSelector: "metadata.name=one,metadata.namespace!=a"}, "b/one"},
		{"other version", source.Query{Kind: schema.GroupVersionKind{Group: "autoscaling", Version: "v2",
			Kind: "HorizontalPodAutoscaler"}}, "a/x"},
		{"unknown kind", source.Query{Kind: schema.GroupVersionKind{Group: "x", Version: "v1", Kind: "Secret"}}, ""},
	} {
		var names []string
		for _, o := range listed(t, s, tc.q) {
			names = append(names, strings.Fields(o)[2])
		}
		if diff := cmp.Diff(tc.want, strings.Join(names, " ")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.name, diff)
		}
	}
	for _, q := range []source.Query{{Kind: secret, LabelSelector: "a=b=c"}, {Kind: secret, FieldSelector: "spec.x=1"},
		{Kind: secret, FieldSelector: "x"}} {
		c, err := s.List(t.Context(), q, func(source.Object) error { return errors.New("yielded") })
		must(t, err)
		if f, ok := c.Of("a"); ok || f.Reason != source.ReadFailed {
			t.Errorf("%+v: %+v", q, f)
		}
	}
}

func TestListErrors(t *testing.T) {
	s, err := openText(t, obj(cmA))
	must(t, err)
	q := source.Query{Kind: schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}}
	full := errors.New("full")
	if _, err := s.List(t.Context(), q, func(source.Object) error { return full }); !errors.Is(err, full) {
		t.Errorf("yield's error: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.List(ctx, q, func(source.Object) error { return nil }); !errors.Is(err, context.Canceled) {
		t.Errorf("context's error: %v", err)
	}
}

// FuzzOpen reads any input: Open never panics, yields objects only, and has a limited number of gaps.
func FuzzOpen(f *testing.F) {
	for _, l := range layouts(f) {
		f.Add([]byte(l.text))
	}
	f.Add([]byte("apiVersion: v1\nitems:\n- a: &a [*a]\nkind: List\n"))
	f.Add([]byte(`{"apiVersion":"v1","items":[{"kind":"List","items":[{}]}],"kind":"List",` +
		`"metadata":{"continue":"x"}}`))
	f.Add([]byte("[\""))
	f.Add([]byte("{]\n---\n# x\n{\"a\":1}\n[1"))
	const limit = snapshot.Limit(2 << 20)
	f.Fuzz(func(t *testing.T, b []byte) {
		s, err := limit.Open(t.Context(), []string{"-"}, strings.NewReader(string(b)))
		if err != nil {
			return
		}
		kinds, err := s.Kinds(t.Context())
		must(t, err)
		for _, k := range kinds.All() {
			_, err := s.List(t.Context(), source.Query{Kind: k.GroupVersionKind}, func(o source.Object) error {
				if _, _, err := object.Decode(o.Raw); err != nil || o.Kind.Kind == "" || o.Kind.Version == "" {
					t.Errorf("%s: %v", o.Kind, err)
				}
				return nil
			})
			must(t, err)
		}
		if d := describe(t, s); len(d.Gaps) > 65 {
			t.Errorf("%d gaps", len(d.Gaps))
		}
	})
}

// BenchmarkOpen reads 5,000 objects of about 2 KiB.
func BenchmarkOpen(b *testing.B) {
	var objects, documents []string
	pad := strings.Repeat("x", 1500)
	for i := range 5000 {
		id := fmt.Sprintf("apps/v1 Deployment ns%d/app%d", i%20, i)
		objects = append(objects, obj(id,
			`metadata."managedFields":[{"manager":"fleet","operation":"Apply","time":"2026-01-01T00:00:00Z",`+
				`"fieldsV1":{"f:spec":{"f:replicas":{}}}}]`,
			`"spec":{"replicas":3,"template":{"spec":{"containers":[`+
				`{"name":"web","image":"nginx:1.29","args":["a","b","c"]}]}}}`,
			`"data":{"pad":"`+pad+`"}`))
		documents = append(documents, yml(id, "spec:", "  replicas: 3", "  template:", "    spec:", "      containers:",
			"      - name: web", "        image: nginx:1.29",
			"        args: [a, b, c]", "data:", "  pad: "+pad))
	}
	list := "apiVersion: v1\nkind: List\nitems:\n"
	for _, d := range documents {
		list += "- " + strings.ReplaceAll(strings.TrimSpace(d), "\n", "\n  ") + "\n"
	}
	for name, text := range map[string]string{"json-list": listOf(objects...), "json-lines": strings.Join(objects,
		"\n"), "yaml-list": list, "yaml-documents": strings.Join(documents, "---\n")} {
		file := write(b, entry{"x", text}) + "/x"
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := snapshot.Open(b.Context(), []string{file}, nil); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
