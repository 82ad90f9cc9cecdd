// SPDX-License-Identifier: Apache-2.0

package snapshot_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
)

func TestCoverage(t *testing.T) {
	const (
		cmA2, cmC    = "v1 ConfigMap a/other", "v1 ConfigMap c/three"
		secA, secB   = "v1 Secret a/s", "v1 Secret b/s"
		bundle       = "fleet.cattle.io/v1alpha1 Bundle fleet-local/b"
		crd          = "apiextensions.k8s.io/v1 CustomResourceDefinition widgets.example.com"
		widgetFields = `"spec":{"group":"example.com","scope":"Namespaced",` +
			`"names":{"kind":"Widget","plural":"widgetz"},"versions":[{"name":"v1","served":true}]}`
	)
	wide := entry{"secrets.json", listOf(obj(secA), obj(secB))}
	narrow := entry{"secrets.json", listOf(obj(secA))}
	for _, tc := range []struct {
		name  string
		files []entry
		kind  string   // default v1 ConfigMap
		want  []string // of "", a, b, c
	}{
		{"List over two namespaces", []entry{{"x.json", listOf(obj(cmA), obj(cmB))}}, "", []string{"", "a", "b", "c"}},
		{"List in one namespace, alone", []entry{{"x.json", listOf(obj(cmA), obj(cmA2))}}, "", []string{"", "a"}},
		{"List in one namespace, others in one", []entry{{"x.json", listOf(obj(cmA))}, narrow}, "", []string{"", "a"}},
		{"List in one namespace, another over two", []entry{{"x.json", listOf(obj(cmA))}, wide}, "",
			[]string{"", "a", "b", "c"}},
		{"List of kinds in one namespace, another over two", []entry{{"x.json", listOf(obj(cmA), obj(depA))}, wide}, "",
			[]string{"", "a"}},
		{"List of kinds over two namespaces", []entry{{"x.json", listOf(obj(cmA), obj("apps/v1 Deployment b/w"))}}, "",
			[]string{"", "a", "b", "c"}},
		{"List with cluster-scoped objects in one namespace, another over two",
			[]entry{{"x.json", listOf(obj(cmA), obj(node))}, wide}, "", []string{"", "a", "b", "c"}},
		{"typed List", []entry{{"x.json", typedList("v1", "ConfigMapList", "",
			`{"metadata":{"name":"x","namespace":"a"}}`, `{"metadata":{"name":"x","namespace":"b"}}`)}}, "",
			[]string{"", "a", "b", "c"}},
		{"two Lists in one namespace each", []entry{{"a.json", listOf(obj(cmA))}, {"b.json", listOf(obj(cmB))}}, "",
			[]string{"", "a", "b"}},
		{"List in a List", []entry{{"a.json", listOf(listOf(obj(cmA)), listOf(obj(cmB)))}}, "", nil},

		{"List with continue", []entry{{"x.json", typedList("v1", "ConfigMapList", `"continue":"abc"`, obj(cmA),
			obj(cmB))}}, "", nil},
		{"List with empty continue", []entry{{"x.json", typedList("v1", "ConfigMapList",
			`"continue":"","remainingItemCount":0`, obj(cmA), obj(cmB))}}, "", []string{"", "a", "b", "c"}},
		{"List with remainingItemCount", []entry{{"x.json", typedList("v1", "ConfigMapList", `"remainingItemCount":5`,
			obj(cmA), obj(cmB))}}, "", nil},
		{"truncated List", []entry{{"x.json", strings.TrimSuffix(typedList("v1", "ConfigMapList", "", obj(cmA),
			obj(cmB)), "]}")}}, "", nil},
		{"List with a damaged item", []entry{{"x.json", typedList("v1", "ConfigMapList", "", obj(cmA), obj(cmB),
			`{}`)}}, "", nil},
		{"YAML List with a damaged item", []entry{{"x.yaml", "apiVersion: v1\nkind: List\nitems:\n- " + obj(cmA) +
			"\n- [\n- " + obj(cmB) + "\n"}}, "", nil},
		{"truncated List, and another", []entry{{"x.json", `{"apiVersion":"v1","items":[` + obj(cmA)},
			{"y.json", listOf(obj(cmA), obj(cmC))}}, "", []string{"", "a", "b", "c"}},

		{"empty typed List, alone", []entry{{"x.json", typedList("v1", "ConfigMapList", "")}}, "",
			[]string{"", "a", "b", "c"}},
		{"empty typed List with null items", []entry{{"x.json",
			`{"kind":"ConfigMapList","apiVersion":"v1","metadata":{},"items":null}`}}, "", []string{"", "a", "b", "c"}},
		{"empty typed List in YAML", []entry{{"x.yaml", "apiVersion: v1\nitems: []\nkind: ConfigMapList\n"}}, "",
			[]string{"", "a", "b", "c"}},
		{"empty typed List without any item in YAML",
			[]entry{{"x.yaml", "kind: ConfigMapList\napiVersion: v1\nitems:\n"}}, "", []string{"", "a", "b", "c"}},
		{"empty typed List, another over two", []entry{{"x.json", typedList("v1", "ConfigMapList", "")}, wide}, "",
			[]string{"", "a", "b", "c"}},
		{"empty typed List, another in one", []entry{{"x.json", typedList("v1", "ConfigMapList", "")}, narrow}, "",
			[]string{""}},
		{"empty untyped List", []entry{{"x.json", listOf()}, wide}, "", nil},
		{"empty untyped List, named", []entry{{"configmaps.json", listOf()}, wide}, "", []string{"", "a", "b", "c"}},
		{"empty untyped List, named, compressed", []entry{{"configmaps.yaml.gz",
			gz(t, "apiVersion: v1\nkind: List\nitems: []\n")}, wide}, "", []string{"", "a", "b", "c"}},
		{"empty untyped List, named with group", []entry{{"deployments.apps.json", listOf()}, wide},
			"apps/v1 Deployment", []string{"", "a", "b", "c"}},
		{"empty untyped List, named for Fleet", []entry{{"bundles.fleet.cattle.io.json", listOf()}, wide},
			"fleet.cattle.io/v1alpha1 Bundle", []string{"", "a", "b", "c"}},
		{"empty untyped List, named for a definition", []entry{{"widgetz.example.com.json", listOf()}, wide,
			{"z.json", obj(crd, widgetFields)}}, "example.com/v1 Widget", []string{"", "a", "b", "c"}},
		{"definition alone", []entry{wide, {"z.json", obj(crd, widgetFields)}}, "example.com/v1 Widget", nil},
		{"unknown kind", []entry{wide}, "example.com/v1 Widget", nil},
		{"kind of another List", []entry{wide}, "", nil},

		{"cluster-scoped List", []entry{{"x.json", listOf(obj(node))}, narrow}, "v1 Node", []string{""}},
		{"cluster-scoped object", []entry{{"x.json", obj(node)}}, "v1 Node", nil},
		{"objects", []entry{{"x.json", obj(cmA)}, {"y.json", obj(cmB)}}, "", nil},
		{"objects, one file", []entry{{"x.yaml", yml(cmA) + "---\n" + yml(cmB)}}, "", nil},
		{"objects, one damaged", []entry{{"x.json", obj(cmA)}, {"y.json", "{"}}, "", nil},
		{"objects, one damaged in their file", []entry{{"x.yaml", yml(cmA) + "---\n]\n"}}, "", nil},
		{"objects, one damaged in another folder", []entry{{"a/x.json", obj(cmA)}, {"b/y.json", "{"}}, "", nil},
		{"objects and an unknown file", []entry{{"a/x.json", obj(cmA)}, {"a/y.log", "{"}, {"a/README", "{"}}, "", nil},
		{"objects and a damaged List of another kind",
			[]entry{{"x.json", obj(cmA)}, {"l.json", listOf(obj(secA), "{}")}}, "", nil},
		{"List and a damaged object", []entry{{"x.json", listOf(obj(cmA), obj(cmB))}, {"y.json", "{"}}, "",
			[]string{"", "a", "b", "c"}},
		{"another version", []entry{{"x.json", obj("autoscaling/v1 HorizontalPodAutoscaler a/h")}},
			"autoscaling/v2 HorizontalPodAutoscaler", nil},
		{"Fleet dump", []entry{{"bundles_fleet-local_b", yml(bundle)}}, "", nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if tc.kind == "" {
				tc.kind = "v1 ConfigMap"
			}
			folder := open(t, write(t, tc.files...))
			archive, err := openText(t, gz(t, tarOf(t, tc.files...)))
			must(t, err)
			if diff := cmp.Diff(tc.want, covered(t, folder, tc.kind, "", "a", "b", "c")); diff != "" {
				t.Errorf("folder (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tc.want, covered(t, archive, tc.kind, "", "a", "b", "c")); diff != "" {
				t.Errorf("archive (-want +got):\n%s", diff)
			}
		})
	}
}

// TestCoverageOfPaths reads several paths as one snapshot.
func TestCoverageOfPaths(t *testing.T) {
	whole, cut := write(t, entry{"x.json", listOf(obj(cmA))}),
		write(t, entry{"x.tar", tarOf(t, entry{"a/x.json", obj(cmB)}, entry{"z/y.json", obj(node)})[:1400]})
	s := open(t, whole, cut)
	if diff := cmp.Diff([]string{"a"}, covered(t, s, "v1 ConfigMap", "a", "b")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{whole, cut}, describe(t, s).Paths); diff != "" {
		t.Errorf("paths (-want +got):\n%s", diff)
	}
}

// TestCoverageOfQuery has a query with namespaces.
func TestCoverageOfQuery(t *testing.T) {
	s := open(t, write(t, entry{"x.json", listOf(obj(cmA))}))
	c, err := s.List(t.Context(), source.Query{Kind: schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"},
		Namespaces: []string{"a", "b"}}, func(source.Object) error { return nil })
	must(t, err)
	_, a := c.Of("a")
	f, b := c.Of("b")
	if !a || b || f.Reason != source.NotInSnapshot {
		t.Errorf("a %t, b %t, %+v", a, b, f)
	}
}
