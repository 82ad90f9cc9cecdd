// SPDX-License-Identifier: Apache-2.0

package snapshot_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source/snapshot"
)

// captured has objects in the form of kubectl: with sorted keys, and the members that an API server adds.
var captured = []string{
	`apiVersion: v1
data:
  key: value
  text: |
    first: line
    second: line

    metadata:
kind: ConfigMap
metadata:
  annotations:
    meta.helm.sh/release-name: web
  creationTimestamp: "2026-01-01T00:00:00Z"
  labels:
    app: web
  name: one
  namespace: a
  resourceVersion: "11"
  uid: 00000000-0000-0000-0000-000000000001
`,
	`apiVersion: apps/v1
kind: Deployment
metadata:
  annotations:
    deployment.kubernetes.io/revision: "1"
  name: web
  namespace: a
  resourceVersion: "12"
  uid: 00000000-0000-0000-0000-000000000002
spec:
  replicas: 1
  selector:
    matchLabels:
      app: web
  template:
    metadata:
      labels:
        app: web
    spec:
      containers:
      - args:
        - --verbose
        image: nginx:1.29
        name: web
      - image: busybox:1.37
        name: sidecar
status:
  availableReplicas: 1
  readyReplicas: 1
`,
	`apiVersion: v1
data:
  password: aW52ZW50ZWQ=
kind: Secret
metadata:
  name: keys
  namespace: b
  resourceVersion: "13"
  uid: 00000000-0000-0000-0000-000000000003
type: Opaque
`,
	`apiVersion: v1
kind: Namespace
metadata:
  labels:
    kubernetes.io/metadata.name: a
  name: a
  resourceVersion: "14"
  uid: 00000000-0000-0000-0000-000000000004
spec:
  finalizers:
  - kubernetes
status:
  phase: Active
`,
	`apiVersion: v1
data:
  key: value
kind: ConfigMap
metadata:
  name: two
  namespace: b
  resourceVersion: "15"
  uid: 00000000-0000-0000-0000-000000000005
`,
	`apiVersion: apps/v1
kind: Deployment
metadata:
  name: other
  namespace: b
  resourceVersion: "16"
  uid: 00000000-0000-0000-0000-000000000006
spec:
  replicas: 2
status: {}
`,
	`apiVersion: v1
data:
  key: value
kind: ConfigMap
metadata:
  name: three
  namespace: a
  resourceVersion: "17"
  uid: 00000000-0000-0000-0000-000000000007
`,
}

// capture is one form of a capture of these objects.
type capture struct {
	name, text string
	// whole reports whether the first n bytes look like a whole capture. The documentation lists these cases.
	whole func(n int) bool
	step  int // between the offsets, apart from those at the end of a line
}

// offsets are the offsets at which the test cuts the capture.
func (c *capture) offsets() []int {
	var out []int
	for n := 1; n < len(c.text); n++ {
		if n%c.step == 0 || c.text[n-1] == '\n' || c.text[n] == '\n' {
			out = append(out, n)
		}
	}
	return out
}

func captures(t *testing.T) []capture {
	t.Helper()
	var items, lines []string
	for _, doc := range captured {
		items = append(items, "- "+strings.ReplaceAll(strings.TrimSuffix(doc, "\n"), "\n", "\n  "))
		raw, err := yaml.YAMLToJSON([]byte(doc))
		must(t, err)
		lines = append(lines, string(raw))
	}
	yamlItems := strings.ReplaceAll(strings.Join(items, "\n")+"\n", "\n  \n", "\n\n")
	var indented strings.Builder
	encoder := json.NewEncoder(&indented)
	encoder.SetIndent("", "    ")
	must(t, encoder.Encode(json.RawMessage(listOf(lines...))))
	stream, jsonLines, joined := strings.Join(captured, "---\n"), strings.Join(lines, "\n")+"\n", strings.Join(lines, "")
	var files []entry
	for i, doc := range captured {
		files = append(files, entry{string(rune('a'+i)) + ".yaml", doc})
	}
	list := "apiVersion: v1\nitems:\n" + yamlItems + "kind: List\nmetadata:\n  resourceVersion: \"\"\n"
	itemsLast := "kind: List\napiVersion: v1\nitems:\n" + yamlItems
	afterItems := func(n int) bool { return n >= strings.Index(list, "\nkind: List")+len("\nkind: List") }
	never := func(int) bool { return false }
	return []capture{
		{"YAML List", list, afterItems, 5},
		{"YAML List, items last", itemsLast, func(n int) bool { return endsItem(itemsLast[:n], items) }, 5},
		{"YAML stream", stream, func(n int) bool { return endsWhole(stream[:n]) }, 3},
		{"YAML stream with a marker first", "---\n" + stream, func(n int) bool { return endsWhole(("---\n" + stream)[:n]) }, 3},
		{"YAML stream, compressed", gz(t, stream), never, 7},
		{"YAML List, compressed", gz(t, list), never, 7},
		{"JSON List", listOf(lines...), never, 7},
		{"JSON List, indented", indented.String(), func(n int) bool { return n == indented.Len()-1 }, 7},
		{"JSON lines", jsonLines, func(n int) bool { return endsJSON(jsonLines[:n], lines) }, 7},
		{"JSON, concatenated", joined, func(n int) bool { return endsJSON(joined[:n], lines) }, 7},
		{"tar", tarOf(t, files...), never, 509},
		{"tgz", gz(t, tarOf(t, files...)), never, 7},
		{"zip", zipOf(t, files...), never, 7},
	}
}

// endsWhole reports whether a YAML stream ends between two documents, or at the end of a line of the last member of an object, which is the
// status of a Deployment. A text that ends within the first document is not a stream.
func endsWhole(text string) bool {
	if len(strings.TrimPrefix(text, "---\n")) < len(captured[0]) {
		return true
	}
	if !strings.HasSuffix(text, "\n") {
		return strings.HasSuffix(text, "\n-") || strings.HasSuffix(text, "\n--") || strings.HasSuffix(text, "\n---")
	}
	docs := strings.Split(text, "---\n")
	last := docs[len(docs)-1]
	return last == "" || slices.Contains(captured, last) || strings.Contains(last, "\nstatus:\n")
}

// endsItem reports the same for a List with its items last, from its second item on.
func endsItem(text string, items []string) bool {
	_, all, _ := strings.Cut(text, "items:\n")
	last := all[strings.LastIndex(all, "\n- ")+1:]
	line := last[strings.LastIndex(last, "\n")+1:]
	return len(all) <= len(items[0])+len("\n- ") || strings.TrimSpace(line) == "" &&
		(slices.Contains(items, strings.TrimSpace(last)) || strings.Contains(last, "\n  status:\n"))
}

func endsJSON(text string, docs []string) bool {
	text = strings.TrimSuffix(text, "\n")
	return text == "" || slices.ContainsFunc(docs, func(doc string) bool { return strings.HasSuffix(text, doc) })
}

// TestCut cuts captures at every offset. A part of an object never counts as the object, and a cut capture never proves that an object after
// the cut is missing.
func TestCut(t *testing.T) {
	for _, c := range captures(t) {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s, err := openText(t, c.text)
			must(t, err)
			all := rawObjects(t, s)
			if len(all) != len(captured) || len(describe(t, s).Gaps) > 0 {
				t.Fatalf("the whole capture: %d objects, gaps %v", len(all), describe(t, s).Gaps)
			}
			for _, n := range c.offsets() {
				if c.whole(n) {
					continue
				}
				s, err := openText(t, c.text[:n])
				if err != nil {
					continue // nothing could be read
				}
				kept := rawObjects(t, s)
				if len(kept) < len(all) && len(describe(t, s).Gaps) == 0 {
					t.Errorf("first %d of %d bytes: no gap after %q", n, len(c.text), tailOf(c.text[:n]))
				}
				for ref, raw := range all {
					left, ok := kept[ref]
					switch {
					case ok && left != raw:
						t.Errorf("first %d of %d bytes, after %q: %s is kept as %s", n, len(c.text), tailOf(c.text[:n]), ref, left)
					case !ok && isCovered(t, s, ref):
						t.Errorf("first %d of %d bytes, after %q: %s counts as missing", n, len(c.text), tailOf(c.text[:n]), ref)
					}
				}
			}
		})
	}
}

func tailOf(text string) string { return text[max(len(text)-30, 0):] }

// rawObjects returns the JSON of the objects of a snapshot.
func rawObjects(t *testing.T, s *snapshot.Snapshot) map[object.Ref]string {
	t.Helper()
	kinds, err := s.Kinds(context.Background())
	must(t, err)
	out := map[object.Ref]string{}
	for _, k := range kinds.All() {
		_, err := s.List(context.Background(), source.Query{Kind: k.GroupVersionKind}, func(o source.Object) error {
			m, err := o.ReadMeta()
			must(t, err)
			out[m.Ref()] = string(o.Raw)
			return nil
		})
		must(t, err)
	}
	return out
}

func isCovered(t *testing.T, s *snapshot.Snapshot, ref object.Ref) bool {
	t.Helper()
	gvk := schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind)
	c, err := s.List(context.Background(), source.Query{Kind: gvk}, func(source.Object) error { return nil })
	must(t, err)
	_, ok := c.Of(ref.Namespace)
	return ok
}

// TestIncomplete has documents that are the beginning of an object, and documents that only look like it.
func TestIncomplete(t *testing.T) {
	dated := func(id string) string { return strings.Replace(yml(id), "metadata:\n", "metadata:\n  uid: u\n", 1) }
	for _, tc := range []struct {
		name, text string
		want       []string // the namespaces of a and b in which ConfigMaps are covered
		gaps       []string
	}{
		{"stream", yml(cmA) + "---\n" + yml(cmB), []string{"a", "b"}, nil},
		{"stream that ends with a marker", yml(cmA) + "---\n" + yml(cmB) + "---\n", []string{"a", "b"}, nil},
		{"stream that ends in a comment without an end of the line", yml(cmA) + "---\n" + yml(cmB) + "# end", []string{"a", "b"}, nil},
		{"stream that ends with a key and a comment", yml(cmA) + "---\n" + yml(cmB, "data:") + "# end", nil, []string{"standard input, line 7 (document 2) | it ends after a key, so it is not complete" + perPath}},
		{"stream of one document without an end of the last line", strings.TrimSpace(yml(cmA)), []string{"a"}, nil},
		{"stream without an end of the last line", yml(cmA) + "---\n" + strings.TrimSpace(yml(cmB)), nil, []string{"standard input, line 7 (document 2) | it ends in the middle of a line, so it is not complete" + perPath}},
		{"stream of Lists without an end of the last line", yml(cmA) + "---\napiVersion: v1\nitems: []\nkind: ConfigMapLis", nil, []string{"standard input, line 7 (document 2) | it ends in the middle of a line, so it is not complete" + perPath}},
		{"last without name", yml(cmA) + "---\napiVersion: v1\nkind: Secret\nmetadata:\n", nil, []string{"standard input, line 7 (document 2) | it has no name, so it is not complete" + perPath}},
		{"last without kind", yml(cmA) + "---\napiVersion: v1\ndata:\n  a: b\n", nil, []string{"standard input, line 7 (document 2) | it has no kind, so it is not complete" + perPath}},
		{"last without namespace", yml(cmA) + "---\n" + yml("v1 ConfigMap b"), nil, []string{"standard input, line 7 (document 2) | it has no namespace, so it is not complete" + perPath}},
		{"last without uid", dated(cmA) + "---\n" + yml(cmB), nil, []string{"standard input, line 8 (document 2) | it has no uid, unlike the objects before it, so it is not complete" + perPath}},
		{"last without status", dated(cmA) + "---\n" + dated(depA), nil, []string{"standard input, line 8 (document 2) | it has no status, so it is not complete" + perPath}},
		{"last after a key", yml(cmA) + "---\n" + yml(cmB, "data:"), nil, []string{"standard input, line 7 (document 2) | it ends after a key, so it is not complete" + perPath}},
		{"without name, not last", "apiVersion: v1\nkind: ConfigMap\nmetadata:\n---\n" + yml(cmA), nil, []string{"standard input, line 1 | it has no name, so it is not complete" + perDocument}},
		{"List without kind", "apiVersion: v1\nitems:\n- " + obj(cmA) + "\n- " + obj(cmB) + "\n", nil, []string{"standard input, line 4, item 2 | it has no kind, so it is not complete" + perDocument}},
		{"chart", yml(cmA) + "---\napiVersion: v2\nname: web\nversion: 1.0.0\n", []string{"a"}, []string{"standard input line 7 | some documents are not Kubernetes objects | these documents are not used"}},
		{"configuration", yml(cmA) + "---\napiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\n", []string{"a"}, []string{"standard input line 7 | some documents are not Kubernetes objects | these documents are not used"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s, err := openText(t, tc.text)
			must(t, err)
			if diff := cmp.Diff(tc.gaps, gapLines(describe(t, s), "")); diff != "" {
				t.Errorf("gaps (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tc.want, covered(t, s, "v1 ConfigMap", "a", "b")); diff != "" {
				t.Errorf("covered (-want +got):\n%s", diff)
			}
		})
	}
	// If an object has no name, its kind is covered nowhere, not even in other folders.
	s := open(t, write(t, entry{"a/x.yaml", yml(cmA) + "---\n" + yml("v1 Secret a/s")}, entry{"b/y.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata:\n"}))
	if got := covered(t, s, "v1 ConfigMap", "a"); len(got) > 0 {
		t.Errorf("ConfigMaps are covered in %v", got)
	}
	if diff := cmp.Diff([]string{"a"}, covered(t, s, "v1 Secret", "a")); diff != "" {
		t.Errorf("Secrets (-want +got):\n%s", diff)
	}
}

// TestIncompleteFile has files of one document: the beginning of an object, and documents that only look like it.
func TestIncompleteFile(t *testing.T) {
	with := func(lines string) string { return strings.Replace(yml(cmA), "metadata:\n", "metadata:\n"+lines, 1) }
	for _, tc := range []struct{ name, text, reason string }{
		{"cut after a key", strings.TrimSuffix(yml(cmA, "data:"), "\n"), "it ends after a key"},
		{"cut after a key in metadata", yml(cmA) + "  resourceVersion:", "it ends after a key"},
		{"ends with a key", yml(cmA, "data:"), ""},
		{"flow style", strings.TrimSpace(obj(cmA)), ""},
		{"no end of the last line", strings.TrimSuffix(yml(cmA), "\n"), ""},
		{"resourceVersion and no uid", with("  resourceVersion: \"7\"\n"), "it has no uid"},
		{"managedFields and no uid", with("  managedFields:\n  - manager: kubectl\n"), "it has no uid"},
		{"resourceVersion and uid", with("  resourceVersion: \"7\"\n  uid: u\n"), ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir := write(t, entry{"x.yaml", tc.text}, entry{"z.yaml", yml(node)})
			s := open(t, dir)
			var gaps []string
			want := []string{"a"}
			if tc.reason != "" {
				gaps, want = []string{"DIR/x.yaml, line 1 | " + tc.reason + ", so it is not complete" + perDocument}, nil
			}
			if diff := cmp.Diff(gaps, gapLines(describe(t, s), dir)); diff != "" {
				t.Errorf("gaps (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(want, covered(t, s, "v1 ConfigMap", "a", "b")); diff != "" {
				t.Errorf("covered (-want +got):\n%s", diff)
			}
		})
	}
}

// TestDuplicateKeys checks that a duplicate key damages one document or item only.
func TestDuplicateKeys(t *testing.T) {
	twice := obj(cmB, `"data":{"k":"1","j":{"k":[{"x":1,"x":2}]}}`)
	for _, tc := range []struct{ name, text, gap string }{
		{"YAML", yml(cmA) + "---\n" + yml(cmB, "data:", "  k: a", "  k: b"), "standard input, line 14, column 3 (document 2) | it has a key twice in one map" + perDocument},
		{"YAML at the top", yml(cmA) + "---\n" + yml(cmB, "kind: ConfigMap"), "standard input, line 12, column 1 (document 2) | it has a key twice in one map" + perDocument},
		{"YAML in flow style", yml(cmA) + "---\n" + yml(cmB, "data: {k: a, 'k': b}"), "standard input, line 12, column 14 (document 2) | it has a key twice in one map" + perDocument},
		{"YAML in a list", yml(cmA) + "---\n" + yml(cmB, "x:", "- - {1: a, \"1\": b}"), "standard input, line 13, column 12 (document 2) | it has a key twice in one map" + perDocument},
		{"YAML by an alias", yml(cmA) + "---\n" + yml(cmB, "x: {&k a: 1, *k : 2}"), "standard input, line 12, column 14 (document 2) | it has a key twice in one map" + perDocument},
		{"YAML item", "apiVersion: v1\nitems:\n- " + obj(cmA) + "\n- " + twice + "\nkind: List\n", "standard input, line 4, column 116, item 2 | it has a key twice in one map" + perItem},
		{"YAML List with items twice", "apiVersion: v1\nkind: List\nitems:\n- " + obj(cmA) + "\nitems:\n- " + obj(cmA) + "\n", "standard input, line 5, column 1 | it has a key twice in one map" + perDocument},
		{"two documents without a marker", yml(cmA) + "---\n" + yml(cmB) + yml(cmB), "standard input, line 12, column 1 (document 2) | it has a key twice in one map" + perDocument},
		{"JSON", obj(cmA) + "\n" + twice, "standard input, line 2 (document 2) | it has a key twice in one map" + perDocument},
		{"JSON at the top", obj(cmA) + obj(cmB, `"kind":"ConfigMap"`), "standard input, line 1 (document 2) | it has a key twice in one map" + perDocument},
		{"JSON with an escaped name", obj(cmA) + obj(cmB, `"k\u0069nd":"ConfigMap"`), "standard input, line 1 (document 2) | it has a key twice in one map" + perDocument},
		{"JSON item", listOf(obj(cmA), twice), "standard input, line 1, item 2 | it has a key twice in one map" + perItem},
		{"JSON items twice", `{"apiVersion":"v1","kind":"List","items":[` + obj(cmA) + `],"items":[]}`, "standard input, line 1 | it has a key twice in one map" + perDocument},
		{"JSON object with items", obj(cmA) + obj(cmB, `"items":[{"a":1,"a":2}]`), "standard input, line 1 (document 2) | it has a key twice in one map" + perDocument},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s, err := openText(t, tc.text)
			must(t, err)
			if diff := cmp.Diff([]string{cmA}, contents(t, s)); diff != "" {
				t.Errorf("objects (-want +got):\n%s", diff)
			}
			if got := gapLines(describe(t, s), ""); len(got) != 1 || !strings.HasPrefix(got[0], tc.gap[:strings.LastIndex(tc.gap, " | ")]) {
				t.Errorf("gaps %q, want %q", got, tc.gap)
			}
			if got := covered(t, s, "v1 ConfigMap", "a", "b"); len(got) > 0 {
				t.Errorf("%v is covered", got)
			}
		})
	}
}

// TestSelected has Lists in files with a selector in their names.
func TestSelected(t *testing.T) {
	for name, want := range map[string][]string{
		"configmaps.json": {"a", "b", "c"}, "configmaps-app=web.json": nil, "configmaps_tier!=db.json.gz": nil, "cm-labelSelector-web.json": nil,
		"configmaps==.json": {"a", "b", "c"}, "app=web/configmaps.json": {"a", "b", "c"},
	} {
		text := listOf(obj(cmA), obj(cmB))
		if strings.HasSuffix(name, ".gz") {
			text = gz(t, text)
		}
		dir := write(t, entry{name, text}, entry{"z.yaml", yml(node)})
		s := open(t, dir)
		if diff := cmp.Diff(want, covered(t, s, "v1 ConfigMap", "a", "b", "c")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		var gaps []string
		if want == nil {
			gaps = []string{"1 file in DIR: " + name + " | the name states a selector, so objects that do not match it were not captured | it is no evidence that an object is missing; capture without a selector"}
		}
		if diff := cmp.Diff(gaps, gapLines(describe(t, s), dir)); diff != "" {
			t.Errorf("%s: gaps (-want +got):\n%s", name, diff)
		}
	}
}
