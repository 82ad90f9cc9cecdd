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
  creationTimestamp: "2026-01-01T00:00:00Z"
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
  creationTimestamp: "2026-01-01T00:00:00Z"
  name: keys
  namespace: b
  resourceVersion: "13"
  uid: 00000000-0000-0000-0000-000000000003
type: Opaque
`,
	`apiVersion: v1
kind: Namespace
metadata:
  creationTimestamp: "2026-01-01T00:00:00Z"
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
  creationTimestamp: "2026-01-01T00:00:00Z"
  name: two
  namespace: b
  resourceVersion: "15"
  uid: 00000000-0000-0000-0000-000000000005
`,
	`apiVersion: apps/v1
kind: Deployment
metadata:
  creationTimestamp: "2026-01-01T00:00:00Z"
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
  creationTimestamp: "2026-01-01T00:00:00Z"
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
	stream, jsonLines, joined := strings.Join(captured, "---\n"), strings.Join(lines, "\n")+"\n",
		strings.Join(lines, "")
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
		{"YAML stream with a marker first", "---\n" + stream, func(n int) bool {
			return endsWhole(("---\n" + stream)[:n])
		}, 3},
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

// endsWhole reports whether a YAML stream ends between two documents, or at the end of a line of the last member of an
// object, which is the status of a Deployment. A text that ends within the first document is not a stream.
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

// TestCut cuts captures at every offset. A part of an object never counts as the object, and a cut capture never proves
// that an object after the cut is missing.
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
						t.Errorf("first %d of %d bytes, after %q: %s is kept as %s", n, len(c.text), tailOf(c.text[:n]),
							ref, left)
					case !ok && isCovered(t, s, ref):
						t.Errorf("first %d of %d bytes, after %q: %s counts as missing", n, len(c.text),
							tailOf(c.text[:n]), ref)
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

// TestIncomplete has files that end with the beginning of an object, and with documents that only look like it.
func TestIncomplete(t *testing.T) {
	with := func(id, lines string) string {
		return strings.Replace(yml(id), "metadata:\n", "metadata:\n"+lines, 1)
	}
	dated := func(id string) string { return with(id, "  uid: u\n") }
	second := func(text string) string { return yml("v1 Secret a/s") + "---\n" + text }
	const torn = "it ends in the middle of a line"
	const unnamed = "it has no kind or no name"
	for _, tc := range []struct{ name, text, reason string }{
		{"whole", second(yml(cmA)), ""},
		{"a marker at the end", second(yml(cmA) + "---\n"), ""},
		{"a comment without an end", second(yml(cmA) + "# end"), ""},
		{"no end of the last line", second(strings.TrimSpace(yml(cmA))), torn},
		{"no end of the last line of the only document", strings.TrimSpace(yml(cmA)), ""},
		{"flow style", strings.TrimSpace(obj(cmA)), ""},
		{"no end of the last line of a List", second("apiVersion: v1\nitems: []\nkind: ConfigMapLis"), torn},
		{"no name", second("apiVersion: v1\nkind: Secret\nmetadata:\n"), unnamed},
		{"no kind", second("apiVersion: v1\ndata:\n  a: b\n"), unnamed},
		{"no status", second(dated(depA)), "it has no status"},
		{"a status without a value", second(dated(depA) + "status:\n"), "it has no status"},
		{"creationTimestamp and no uid", second(with(cmA, "  creationTimestamp: 2026-01-01T00:00:00Z\n")),
			"it has no uid"},
		{"resourceVersion and no uid", second(with(cmA, "  resourceVersion: \"7\"\n")), "it has no uid"},
		{"managedFields and no uid", with(cmA, "  managedFields:\n  - time: 2026-01-01T00:00:00Z\n"), "it has no uid"},
		{"resourceVersion and uid", with(cmA, "  resourceVersion: \"7\"\n  uid: u\n"), ""},
		{"resourceVersion and no uid, not last", with(cmA, "  resourceVersion: \"7\"\n") + "---\n" + yml(cmB), ""},
		{"chart", second("apiVersion: v2\nname: web\nversion: 1.0.0\n"), unnamed},
		{"values", second("replicas: 1\n"), ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := open(t, write(t, entry{"x.yaml", tc.text}, entry{"z.yaml", yml(node)}))
			gaps := describe(t, s).Gaps
			if tc.reason == "" && len(gaps) > 0 {
				t.Errorf("gaps %v", gaps)
			}
			if tc.reason != "" && (len(gaps) != 1 || gaps[0].Reason != tc.reason+", so it is not complete") {
				t.Errorf("gaps %v, want the reason %q", gaps, tc.reason)
			}
			if kept := slices.Contains(contents(t, s), cmA); kept && tc.reason != "" {
				t.Error("the beginning of the object is kept")
			}
		})
	}
	s, err := openText(t, "apiVersion: v1\nitems:\n- "+obj(cmA)+"\n- "+obj(cmB)+"\n")
	must(t, err)
	want := []string{"standard input, line 1 | it has no kind, so it is not complete" + perDocument}
	if diff := cmp.Diff(want, gapLines(describe(t, s), "")); diff != "" {
		t.Errorf("gaps of a List without a kind (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{cmA}, contents(t, s)); diff != "" {
		t.Errorf("a List without a kind (-want +got):\n%s", diff)
	}
	if got := covered(t, s, "v1 ConfigMap", "a", "b"); len(got) > 0 {
		t.Errorf("a List without a kind covers %v", got)
	}
}

// TestDuplicateKeys checks that a duplicate key damages one document or item only.
func TestDuplicateKeys(t *testing.T) {
	twice := obj(cmB, `"data":{"k":"1","j":{"k":[{"x":1,"x":2}]}}`)
	const key = "it has a key twice in one map"
	list := "apiVersion: v1\nkind: List\nitems:\n- " + obj(cmA) + "\n"
	for _, tc := range []struct{ name, text, gap string }{
		{"YAML", yml(cmA) + "---\n" + yml(cmB, "data:", "  k: a", "  k: b"), "line 7 (document 2) | " + key +
			", near line 14"},
		{"YAML at the top", yml(cmA) + "---\n" + yml(cmB, "kind: ConfigMap"), "line 7 (document 2) | " + key +
			", near line 12"},
		{"YAML in flow style", yml(cmA) + "---\n" + yml(cmB, "data: {k: a, 'k': b}"), "line 7 (document 2) | " + key},
		{"YAML in a list", yml(cmA) + "---\n" + yml(cmB, "x:", "- - {1: a, \"1\": b}"), "line 7 (document 2) | " + key},
		{"YAML item", list + "- " + twice + "\n", "line 5, item 2 | " + key},
		{"YAML List with items twice", list + "items:\n- " + obj(cmA) + "\n", "line 1 | " + key},
		{"two documents without a marker", yml(cmA) + "---\n" + yml(cmB) + yml(cmB), "line 7 (document 2) | " + key},
		{"JSON", obj(cmA) + "\n" + twice, "line 2 (document 2) | " + key},
		{"JSON at the top", obj(cmA) + obj(cmB, `"kind":"ConfigMap"`), "line 1 (document 2) | " + key},
		{"JSON with an escaped name", obj(cmA) + obj(cmB, `"k\u0069nd":"ConfigMap"`), "line 1 (document 2) | " + key},
		{"JSON item", listOf(obj(cmA), twice), "line 1 | " + key},
		{"JSON items twice", `{"apiVersion":"v1","kind":"List","items":[` + obj(cmA) + `],"items":[]}`, "line 1 | " +
			key},
		{"JSON object with items", obj(cmA) + obj(cmB, `"items":[{"a":1,"a":2}]`), "line 1 (document 2) | " + key},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s, err := openText(t, tc.text)
			must(t, err)
			if diff := cmp.Diff([]string{cmA}, contents(t, s)); diff != "" {
				t.Errorf("objects (-want +got):\n%s", diff)
			}
			want := "standard input, " + tc.gap
			if got := gapLines(describe(t, s), ""); len(got) != 1 || !strings.HasPrefix(got[0], want) {
				t.Errorf("gaps %q, want %q", got, want)
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
		"configmaps.json": {"a", "b", "c"}, "configmaps-app=web.json": nil, "configmaps_tier!=db.json.gz": nil,
		"cm-labelSelector-web.json": nil,
		"configmaps==.json":         {"a", "b", "c"}, "app=web/configmaps.json": {"a", "b", "c"},
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
			gaps = []string{"files with a selector in their names (1): DIR/" + name +
				" | objects that do not match a selector " +
				"were not captured | their Lists do not prove that an object is missing; capture without a selector"}
		}
		if diff := cmp.Diff(gaps, gapLines(describe(t, s), dir)); diff != "" {
			t.Errorf("%s: gaps (-want +got):\n%s", name, diff)
		}
	}
}
