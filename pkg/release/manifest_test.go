// SPDX-License-Identifier: Apache-2.0

package release

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
)

func refs(objects []Object) []string {
	var out []string
	for _, o := range objects {
		out = append(out, strings.TrimSuffix(o.APIVersion+" "+o.Key().String(), " "))
	}
	return out
}

func TestObjects(t *testing.T) {
	const a, b = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n",
		"apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: b, namespace: web}\n"
	both := []string{"v1 configmap a", "apps/v1 deployment web/b"}
	for _, tc := range []struct {
		name, manifest string
		want           []string
	}{
		{"empty", "", nil},
		{"blanks", "\n \n\t\n", nil},
		{"only separators", "---\n---\n---", nil},
		{"two documents", a + "---\n" + b, both},
		{"format of Helm", "---\n# Source: guestbook/templates/a.yaml\n" + a + "---\n# Source: " +
			"guestbook/templates/b.yaml\n" + b, both},
		{"blanks after the separator", a + "--- \t \n" + b, both},
		{"comment after the separator", a + "--- # Source: b.yaml\n" + b, both},
		{"empty documents", "---\n" + a + "---\n\n---\n# comment\n---\n   \n---\n" + b + "---\n", both},
		{"lines that end in CR LF", strings.ReplaceAll("---\n"+a+"---\n"+b, "\n", "\r\n"), both},
		{"content after the separator", "--- {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}\n--- " +
			"{apiVersion: apps/v1, kind: Deployment, metadata: {name: b, namespace: web}}\n", both},
		{"end of a document", a + "...\n---\n" + b, both},
		{"block scalar with separators", a + "data:\n  text: |\n    ---\n    b: c\n    ---\n---\n" + b, both},
		{"folded scalar that begins like a separator", a + "data:\n  text: >-\n    --- # not here\n---\n" + b, both},
		{"longer line of dashes", a + "data:\n  text: |\n    -----\n---\n" + b, both},
		{"last line without a line feed", strings.TrimSuffix(a+"---\n"+b, "\n"), both},
		{"JSON", `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}}`, both[:1]},
		{"without kind", "a: 1\n---\napiVersion: v1\n---\nkind: ConfigMap\n---\n" + a, both[:1]},
		{"null", "null\n---\n~\n---\n" + a, both[:1]},
		{"List", "apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}\n" +
			"- {apiVersion: apps/v1, kind: Deployment, metadata: {name: b, namespace: web}}\n", both},
		{"typed List", "apiVersion: v1\nkind: ConfigMapList\nitems: [{apiVersion: v1, kind: ConfigMap, metadata: " +
			"{name: a}}]", both[:1]},
		{"List in a List", "{apiVersion: v1, kind: List, items: [{apiVersion: v1, kind: List, items: [{apiVersion: " +
			"v1, kind: ConfigMap, metadata: {name: a}}]}]}", both[:1]},
		{"empty List", "{apiVersion: v1, kind: List, items: []}\n---\n" + a, both[:1]},
		{"kind that ends in List", "{apiVersion: example.com/v1, kind: WishList, metadata: {name: a, namespace: web}," +
			" spec: {items: [1]}}",
			[]string{"example.com/v1 wishlist.example.com web/a"}},
		{"only a generateName", "{apiVersion: batch/v1, kind: Job, metadata: {generateName: run-}}",
			[]string{"batch/v1 job run-"}},
		{"no name", "{apiVersion: batch/v1, kind: Job}", []string{"batch/v1 job"}},
		{"duplicate", a + "---\n" + a, []string{both[0], both[0]}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := Record{Name: Name{"web", "guestbook", 1}, Manifest: tc.manifest}
			got, err := r.Objects()
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, refs(got)); diff != "" {
				t.Errorf("objects (-want +got):\n%s", diff)
			}
		})
	}
}

// TestObjectsContent checks that a separator in a block scalar does not split the document, and that values keep their
// types.
func TestObjectsContent(t *testing.T) {
	r := Record{Manifest: "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\ndata:\n  text: |\n    a\n    ---\n " +
		"   b\n  number: 1\n  octal: 0755\n  big: 9007199254740993\n"}
	got, err := r.Objects()
	if err != nil || len(got) != 1 {
		t.Fatalf("%d objects, error %v", len(got), err)
	}
	content, _, err := object.Decode(got[0].Raw)
	if err != nil {
		t.Fatal(err)
	}
	want := object.Content{"text": "a\n---\nb\n", "number": int64(1), "octal": int64(493),
		"big": int64(9007199254740993)}
	if diff := cmp.Diff(want, content["data"]); diff != "" {
		t.Errorf("data (-want +got):\n%s", diff)
	}
}

func TestObjectsRefuse(t *testing.T) {
	ok := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"
	for _, tc := range []struct{ name, manifest, document string }{
		{"invalid YAML", "---\n" + ok + "---\na: [" + secretValue, "document 2"},
		{"tabs", "---\n" + ok + "---\na:\n\tb: " + secretValue, "document 2"},
		{"text", secretValue + " and nothing else", "document 1"},
		{"list", "- " + secretValue, "document 1"},
		{"map as name", "{apiVersion: v1, kind: ConfigMap, metadata: {name: {a: " + secretValue + "}}}", "document 1"},
		{"list as kind", "{apiVersion: v1, kind: [" + secretValue + "], metadata: {name: a}}", "document 1"},
		{"map as items", "{apiVersion: v1, kind: List, items: {a: " + secretValue + "}}", "document 1"},
		{"text as item", "{apiVersion: v1, kind: List, items: [" + secretValue + "]}", "document 1"},
		{"unknown anchor", "{apiVersion: v1, kind: ConfigMap, metadata: {name: *" + secretValue + "}}", "document 1"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := Record{Name: Name{"web", "guestbook", 1}, Manifest: tc.manifest}
			got, err := r.Objects()
			if err == nil {
				t.Fatalf("got %v, want an error", refs(got))
			}
			quiet(t, tc.name, err)
			for _, s := range []string{"web/guestbook:1", tc.document} {
				if !strings.Contains(err.Error(), s) {
					t.Errorf("error %v, want it to contain %q", err, s)
				}
			}
		})
	}
}

// FuzzObjects checks that the objects of any manifest have a kind and are JSON, and that an error does not quote the
// manifest.
func FuzzObjects(f *testing.F) {
	f.Add("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n---\n# comment\n--- # more\napiVersion: v1\nkind: " +
		"List\nitems: []\n")
	f.Add("apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: List\n  items: [null, {}]\n")
	f.Add("a: &a [1]\nb: *a\nkind: X\napiVersion: v1\n")
	f.Add("---\r\napiVersion: v1\r\nkind: Secret\r\n---\r\n")
	f.Add("{apiVersion: v1, kind: ConfigMap, metadata: {name: 1}}")
	f.Add("apiVersion: v1\nkind: ConfigMap\ndata:\n  a: |\n    ---\n")
	f.Add("? [a]\n: b\n")
	f.Add("\t")
	f.Fuzz(func(t *testing.T, manifest string) {
		const marker = "q7x9z-quoted-k3v8"
		r := Record{Name: Name{"web", "guestbook", 1}, Manifest: strings.ReplaceAll(manifest, "a", marker)}
		got, err := r.Objects()
		if err != nil {
			if strings.Contains(err.Error(), marker) {
				t.Errorf("the error quotes the manifest: %v", err)
			}
			return
		}
		for _, o := range got {
			if o.Kind == "" || o.APIVersion == "" || !json.Valid(o.Raw) {
				t.Errorf("object without kind, or not JSON: %+v", o.Ref)
			}
		}
		again, err := r.Objects()
		if err != nil || len(again) != len(got) {
			t.Errorf("second read: %d objects, error %v, want %d objects", len(again), err, len(got))
		}
	})
}

// TestObjectsDocument checks the number of the document of each object against awk's rule: each line that begins with
// the separator counts.
func TestObjectsDocument(t *testing.T) {
	const (
		first = "{apiVersion: v1, kind: ConfigMap, metadata: {name: first}}\n"
		list  = "{apiVersion: v1, kind: List, items: [{apiVersion: v1, kind: ConfigMap, metadata: {name: one}}, " +
			"{apiVersion: v1, kind: ConfigMap, metadata: {name: two}}]}\n"
		last = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: last}\ndata:\n  text: |\n    ---\n"
	)
	r := &Record{Manifest: first + "---\n# comment\n---\n" + list + "--- # Source: last.yaml\n" + last + "---"}
	objects, err := r.Objects()
	if err != nil {
		t.Fatal(err)
	}
	type place struct {
		Name     string
		Document int
		Alone    bool
	}
	var got []place
	for _, o := range objects {
		got = append(got, place{o.Name, o.Document, o.Alone})
	}
	if diff := cmp.Diff([]place{{"first", 0, true}, {"one", 2, false}, {"two", 2, false}, {"last", 3, true}},
		got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
