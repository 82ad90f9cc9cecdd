// SPDX-License-Identifier: Apache-2.0

package release

import (
	"encoding/json"
	"errors"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
)

// head is what is compared of an object that was read in two ways: Raw as far as Heads promises it.
type head struct {
	object.Ref
	Metadata json.RawMessage `json:"metadata"`
}

func headsOf(t *testing.T, objects []Object) []head {
	t.Helper()
	var out []head
	for _, o := range objects {
		h := head{Ref: o.Ref}
		var raw struct {
			Metadata json.RawMessage `json:"metadata"`
		}
		if err := object.Into(o.Raw, &raw); err != nil {
			t.Fatal(err)
		}
		h.Metadata = raw.Metadata
		out = append(out, h)
	}
	return out
}

const plainDocument = `# Source: guestbook/templates/all.yaml
apiVersion: v1
data:
  script: |-
    kind: NotThis
    "and an open quote
   # no text any more
  folded: >2
      a
    b: {
  long: some text that goes on
    "here", [and
    - there
  quoted: "a
    kind: NotThat \"
    b"
  other: 'it''s

    {'
  empty: {}
  "quoted key": 'x' # why
kind: ConfigMap
list:
- a: |
    - '
  b: 1
- - |
    "
  - "x"
-
  c: -1
metadata:
  annotations:
    note: |+
      last

  name: a
spec: [] # none
`

// TestCut holds what is cut away, and where nothing is because it is not sure.
func TestCut(t *testing.T) {
	got, ok := cut(plainDocument)
	const want = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  annotations:\n    note: |+\n      last\n\n  name: a\n"
	if diff := cmp.Diff(want, got); !ok || diff != "" {
		t.Errorf("cut: %t (-want +got):\n%s", ok, diff)
	}
	for name, doc := range map[string]string{
		"JSON":                    `{"apiVersion":"v1"}`,
		"text":                    "text\n",
		"a sequence":              "- kind: a\n",
		"an indented mapping":     "  kind: a\n",
		"directive":               "%YAML 1.1\n",
		"end of the document":     "kind: a\n...\n",
		"items":                   "kind: a\nitems:\n- kind: b\n",
		"quoted key":              "kind: a\n\"metadata\": {}\n",
		"merged":                  "kind: a\n<<: {kind: b}\n",
		"complex key":             "? kind\n: a\n",
		"anchor":                  "a: &a\n  name: b\nmetadata:\n  labels: *a\n",
		"anchored entry":          "a:\n- &a b\n",
		"tag":                     "a: !!str b\n",
		"flow mapping":            "a: {b: c}\n",
		"flow over lines":         "a: {\nkind: b\n }\n",
		"flow deeper":             "a:\n  b: [\nkind: b,\n  ]\n",
		"flow in an entry":        "a:\n- {b: c}\n",
		"flow behind a quote":     "a: \"b\" {\n",
		"quote at the margin":     "a: \"b\nkind: c\n  \"\n",
		"single quote":            "a:\n  b: 'c\nkind: d'\n",
		"quote that does not end": "a: 'b\n",
		"text by itself":          "a:\n  b\n  \"c\n",
		"block by itself":         "a:\n  |\n  b\n",
		"tab":                     "a:\n  b:\t\"c\n",
		"carriage return":         "a: b\rkind: c\n",
		"next line":               "a: |\n  b\u0085kind: c\n",
		"line separator":          "a: |\n  b\u2028kind: c\n",
		"byte order mark":         "\ufeffkind: c\n",
	} {
		if got, ok := cut(doc); ok {
			t.Errorf("%s: cut to %q", name, got)
		}
	}
}

func TestHeads(t *testing.T) {
	r := Record{Name: Name{"web", "guestbook", 1}, Manifest: "---\n" + plainDocument + "---\n" +
		"{apiVersion: v1, kind: List, items: [{apiVersion: v1, kind: ConfigMap, metadata: {name: b, namespace: web, labels: {a: b}}}]}\n---\n# nothing\n"}
	want, err := r.Objects()
	if err != nil {
		t.Fatal(err)
	}
	got, err := r.Heads()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(headsOf(t, want), headsOf(t, got)); diff != "" || len(got) != 2 {
		t.Errorf("heads (-want +got):\n%s", diff)
	}
	if strings.Contains(string(got[0].Raw), "script") {
		t.Error("what was to be passed over was parsed")
	}
}

func TestHeadsRefuse(t *testing.T) {
	const ok = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n"
	for _, tc := range []struct{ name, manifest, want string }{
		{"no YAML", "---\n" + ok + "---\na: [" + secretValue, "document 2"},
		{"no YAML in the head", ok + "  " + secretValue + ": [", "document 1"},
		{"text", secretValue + " and nothing else", "document 1"},
		{"a large document in no plain form", "{a: [" + strings.Repeat(secretValue+",", maxDocument/len(secretValue)) + "]}", errLargeDocument.Error()},
		{"a large head", ok + "  labels:\n" + strings.Repeat("    a: b\n", maxDocument/9), errLargeDocument.Error()},
		{"many objects", strings.Repeat("---\nkind: a\napiVersion: b\n", maxObjects+1), errManyObjects.Error()},
	} {
		r := Record{Name: Name{secretValue, secretValue, 1}, Manifest: tc.manifest}
		got, err := r.Heads()
		if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %d objects, error %v; want an error that says %q", tc.name, len(got), err, tc.want)
		}
		quiet(t, tc.name, err)
	}
	for _, manifest := range []string{
		ok + "data:\n  text: |\n" + strings.Repeat("    - a: [{b, c}]\n", maxHeadNodes/4),
		strings.Repeat("---\n"+ok+"  labels:\n    a: b\n    c: d\n    e: f\n    g: h\n", maxObjects),
	} {
		r := Record{Manifest: manifest}
		if got, err := r.Heads(); err != nil || len(got) != strings.Count(manifest, "kind") {
			t.Errorf("%.50q: %d objects, error %v", manifest, len(got), err)
		}
	}
	large := Record{Manifest: ok + "data:\n  text: |\n" + strings.Repeat("    some text\n", maxDocument/10)}
	if got, err := large.Heads(); err != nil || len(got) != 1 {
		t.Errorf("a large document in plain form: %d objects, error %v", len(got), err)
	}
}

// TestHeadsWork holds that what takes long to parse, though it is short once packed, is refused before it is parsed: each of these took seconds.
func TestHeadsWork(t *testing.T) {
	const ok, most = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n", 160 << 20
	of := func(doc string) string { return strings.Repeat("---\n"+doc, maxParsed/(len(doc)+4)) }
	for name, tc := range map[string]struct {
		manifest string
		want     error
	}{
		"brackets":              {of("a: " + strings.Repeat("[", 9990) + strings.Repeat("]", 9990) + "\n"), errManyHeadNodes},
		"braces":                {of("a: " + strings.Repeat("{a: ", 9990) + strings.Repeat("}", 9990) + "\n"), errManyHeadNodes},
		"a flat sequence":       {of("a: [" + strings.Repeat("1,", 400_000) + "]\n"), errManyHeadNodes},
		"dashes in a head":      {of(ok + "  x:\n  " + strings.Repeat("- ", 5000) + "a\n"), errManyHeadNodes},
		"dashes in lines":       {of(ok + "  x:\n" + strings.Repeat("  -\n", 200_000)), errManyHeadNodes},
		"keys in a head":        {of(ok + strings.Repeat("  a:\n", 180_000)), errManyHeadNodes},
		"documents":             {strings.Repeat("---\na: \n", maxDocuments+1), errManyDocuments},
		"a long text, aliased":  {"a: &a " + strings.Repeat("x", 50_000) + "\nb: [" + strings.Repeat("*a,", 990) + "]\n", errExpands},
		"aliases within others": {of("a: &a [x,x,x,x]\nb: &b [*a,*a,*a]\nc: [*b,*b,*b]\n"), errManyHeadNodes},
	} {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			r := Record{Manifest: tc.manifest}
			if _, err := r.Heads(); !errors.Is(err, tc.want) {
				t.Errorf("error %v, want %v", err, tc.want)
			}
			if runtime.ReadMemStats(&after); after.TotalAlloc-before.TotalAlloc > most {
				t.Errorf("%d MiB were allocated, want at most %d", (after.TotalAlloc-before.TotalAlloc)>>20, most>>20)
			}
		})
	}
}

// FuzzHeads holds that Heads reads of any manifest what Objects reads, as far as it promises.
func FuzzHeads(f *testing.F) {
	f.Add(plainDocument)
	f.Add("---\n" + plainDocument + "---\n# Source: b\nkind: a\napiVersion: b\nmetadata: {name: c}\n")
	f.Add("a: |1\n b\n  \"\nkind: b\napiVersion: c\nmetadata:\n name: d\n")
	f.Add("a: b\n  'c\nkind: b\napiVersion: c\n")
	f.Add("a:\n- b: |\n    \"\n  c: '\n   kind: x'\nkind: b\napiVersion: c\nmetadata:\n  name: e\n  labels:\n    x: \"y\\\n      z\"\n")
	f.Add("a: {\nkind: b\n }\napiVersion: c\n")
	f.Add("a: \"\nkind: b\n \"\napiVersion: c\n")
	f.Add("a: &a {kind: b}\n<<: *a\napiVersion: c\n")
	f.Add("a:\n  b\n  \"c: d\nkind: b\napiVersion: c\n")
	f.Add("a: - b\n- c: >+\n\n\n   d\nkind: b\napiVersion: c\n")
	f.Add("apiVersion: v1\nkind: List\nitems:\n- kind: a\n  apiVersion: b\n")
	f.Add("? a\n: b\nkind: c\napiVersion: d\n")
	f.Fuzz(holdHeads)
}

func holdHeads(t *testing.T, manifest string) {
	t.Helper()
	r := Record{Manifest: manifest}
	want, err := r.Objects()
	if err != nil {
		return // Heads may pass over what is wrong
	}
	got, err := r.Heads()
	if errors.Is(err, errLargeManifest) || errors.Is(err, errManyHeadNodes) {
		return // as it may be with aliases
	}
	if err != nil {
		t.Fatalf("Objects reads it, Heads does not: %v\n%q", err, manifest)
	}
	if diff := cmp.Diff(headsOf(t, want), headsOf(t, got)); diff != "" {
		t.Errorf("heads of %q (-want +got):\n%s", manifest, diff)
	}
}

// fragments are what documents are made of that could mislead.
var fragments = []string{
	"\n", "\n", "\n ", "\n  ", "\n    ", " ", "- ", "-", "a: ", "a:", "b: x", "x", "\"", "'", "''", "\\", "|", ">-", "|2", "{", "}", "{}", "[", "]", ",", "# c", " # c",
	"&a", "*a", "!!str ", "? ", ": ", ":", "\nkind: k\n", "\napiVersion: v\n", "\nmetadata:\n  name: n\n", "\nmetadata:", "\n---\n", "\nitems:\n", "kind: l", "\t", "%", "~",
}

// FuzzHeadsFragments is FuzzHeads with documents that are more often YAML: each byte stands for a fragment.
func FuzzHeadsFragments(f *testing.F) {
	for i := range fragments {
		f.Add([]byte{byte(i), byte(i * 7), byte(i * 3)})
	}
	f.Fuzz(func(t *testing.T, which []byte) {
		var manifest strings.Builder
		for _, i := range which {
			manifest.WriteString(fragments[int(i)%len(fragments)])
		}
		holdHeads(t, "a: b\nkind: c\napiVersion: d\n"+manifest.String()+"\nkind: e\nmetadata:\n  name: f\n")
	})
}
