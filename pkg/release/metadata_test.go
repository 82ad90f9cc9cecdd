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

// identity is the part of an object that Objects and ObjectMetadata must both return.
type identity struct {
	object.Ref
	Metadata json.RawMessage `json:"metadata"`
}

func metadataOf(t *testing.T, objects []Object) []identity {
	t.Helper()
	var out []identity
	for _, o := range objects {
		h := identity{Ref: o.Ref}
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

func TestObjectMetadata(t *testing.T) {
	r := Record{Name: Name{"web", "guestbook", 1}, Manifest: "---\n" + usual + "---\n" +
		"{apiVersion: v1, kind: List, items: [{apiVersion: v1, kind: ConfigMap, metadata: {name: b, namespace: web, " +
		"labels: {a: b}}}]}\n---\n# comment\n"}
	want, err := r.Objects()
	if err != nil {
		t.Fatal(err)
	}
	got, err := r.ObjectMetadata()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(metadataOf(t, want), metadataOf(t, got)); diff != "" || len(got) != 2 {
		t.Errorf("metadata (-want +got):\n%s", diff)
	}
	const metadata = `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"annotations":{},"creationTimestamp":null,` +
		`"name":"a"}}`
	if string(got[0].Raw) != metadata {
		t.Errorf("first object: got %s, want %s", got[0].Raw, metadata)
	}
}

func TestObjectMetadataRefuses(t *testing.T) {
	const ok = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n"
	for _, tc := range []struct{ name, manifest, want string }{
		{"invalid YAML", "---\n" + ok + "---\na: [" + secretValue, "document 2"},
		{"invalid YAML in the metadata", ok + "  " + secretValue + ": [", "document 1"},
		{"text", secretValue + " and nothing else", "document 1"},
		{"large document in flow style", "{a: [" + strings.Repeat(secretValue+",", maxDocument/len(secretValue)) + "]}",
			errLargeDocument.Error()},
		{"large metadata", ok + "  labels:\n" + strings.Repeat("    a: b\n", maxDocument/9), errLargeDocument.Error()},
		{"large name", ok[:len(ok)-2] + strings.Repeat("a<", maxMetadata/5) + "\n", errLargeMetadata.Error()},
		{"many objects", strings.Repeat("---\nkind: a\napiVersion: b\n", maxObjects+1), errManyObjects.Error()},
	} {
		r := Record{Name: Name{secretValue, secretValue, 1}, Manifest: tc.manifest}
		got, err := r.ObjectMetadata()
		if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %d objects, error %v; want an error that contains %q", tc.name, len(got), err, tc.want)
		}
		quiet(t, tc.name, err)
	}
	for _, manifest := range []string{
		ok + "data:\n  text: |\n" + strings.Repeat("    - a: [{b, c}]\n", maxMetadataNodes/4),
		strings.Repeat("---\n"+ok+"  labels:\n    a: b\n    c: d\n    e: f\n    g: h\n", maxObjects),
	} {
		r := Record{Manifest: manifest}
		if got, err := r.ObjectMetadata(); err != nil || len(got) != strings.Count(manifest, "kind") {
			t.Errorf("%.50q: %d objects, error %v", manifest, len(got), err)
		}
	}
	large := Record{Manifest: ok + "data:\n  text: |\n" + strings.Repeat("    some text\n", maxDocument/10)}
	if got, err := large.ObjectMetadata(); err != nil || len(got) != 1 {
		t.Errorf("large document in the usual form: %d objects, error %v", len(got), err)
	}
}

// TestObjectMetadataWork checks that manifests that would need seconds to parse are refused before they are parsed.
func TestObjectMetadataWork(t *testing.T) {
	const ok, most = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n", 160 << 20
	of := func(doc string) string { return strings.Repeat("---\n"+doc, maxParsed/(len(doc)+4)) }
	for name, tc := range map[string]struct {
		manifest string
		want     error
	}{
		"brackets": {of("a: " + strings.Repeat("[", 9990) + strings.Repeat("]", 9990) + "\n"),
			errManyMetadataNodes},
		"braces": {of("a: " + strings.Repeat("{a: ", 9990) + strings.Repeat("}", 9990) + "\n"),
			errManyMetadataNodes},
		"flat sequence":      {of("a: [" + strings.Repeat("1,", 400_000) + "]\n"), errManyMetadataNodes},
		"dashes in metadata": {of(ok + "  x:\n  " + strings.Repeat("- ", 5000) + "a\n"), errManyMetadataNodes},
		"dashes in lines":    {of(ok + "  x:\n" + strings.Repeat("  -\n", 200_000)), errManyMetadataNodes},
		"keys in metadata":   {of(ok + strings.Repeat("  a:\n", 180_000)), errManyMetadataNodes},
		"documents":          {strings.Repeat("---\na: \n", maxDocuments+1), errManyDocuments},
		"aliases of a long text": {"a: &a " + strings.Repeat("x", 50_000) + "\nb: [" + strings.Repeat("*a,",
			990) + "]\n", errExpands},
		"aliases of aliases": {of("a: &a [x,x,x,x]\nb: &b [*a,*a,*a]\nc: [*b,*b,*b]\n"), errManyMetadataNodes},
	} {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			r := Record{Manifest: tc.manifest}
			if _, err := r.ObjectMetadata(); !errors.Is(err, tc.want) {
				t.Errorf("error %v, want %v", err, tc.want)
			}
			if runtime.ReadMemStats(&after); after.TotalAlloc-before.TotalAlloc > most {
				t.Errorf("%d MiB were allocated, want at most %d", (after.TotalAlloc-before.TotalAlloc)>>20, most>>20)
			}
		})
	}
}
