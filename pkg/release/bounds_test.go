// SPDX-License-Identifier: Apache-2.0

package release

import (
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// TestObjectsBounds checks that a manifest that exceeds a limit is refused, and how much memory this needs.
func TestObjectsBounds(t *testing.T) {
	const head = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n"
	const mostAllocated = 512 << 20
	for _, tc := range []struct {
		name, manifest string
		want           error
	}{
		{"entries", head + "data:\n" + strings.Repeat("- a\n", 1<<20), errManyNodes},
		{"entries of many documents", strings.Repeat("---\n"+head+"data:\n"+strings.Repeat("- a\n", 1<<10), 200),
			errManyNodes},
		{"flow style", head + "data: [" + strings.Repeat("a,", 520_000) + "]\n", errManyNodes},
		{"large document in flow style", "{a: [" + strings.Repeat(secretValue+",", maxDocument/len(secretValue)) + "]}",
			errLargeDocument},
		{"text", head + "data:\n  a: |\n" + strings.Repeat("    text\n", 1<<20), errLargeManifest},
		{"aliases of a text", "a: &a \"" + strings.Repeat("x", 1<<16) + "\"\nb: [" + strings.Repeat("*a,",
			1<<10) + "]\n", errExpands},
		{"aliases of aliases", "a: &a [" + strings.Repeat("1,", 100) + "]\nb: &b [" + strings.Repeat("*a,",
			100) + "]\nc: [" + strings.Repeat("*b,", 100) + "]\n", errExpands},
		{"anchor that contains itself", "a: &a [*a]\n", errExpands},
		{"objects", strings.Repeat("---\nkind: a\napiVersion: b\n", maxObjects+1), errManyObjects},
		{"nested brackets", strings.Repeat("---\na: ["+strings.Repeat(strings.Repeat("[", 500)+strings.Repeat("]",
			500)+",", 500)+"]\n", 4), errManyNodes},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := Record{Name: Name{"web", "guestbook", 1}, Manifest: tc.manifest}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			objects, err := r.Objects()
			runtime.ReadMemStats(&after)
			var bound *BoundError
			if !errors.Is(err, tc.want) || !errors.As(err, &bound) {
				t.Errorf("%d objects, error %v, want %v", len(objects), err, tc.want)
			}
			quiet(t, tc.name, err)
			if n := after.TotalAlloc - before.TotalAlloc; n > mostAllocated {
				t.Errorf("%d MiB were allocated, want at most %d", n>>20, mostAllocated>>20)
			}
		})
	}
}

// TestObjectsWithinBounds checks that large manifests of real clusters are read: an object of the maximum size of the
// API server, and definitions like those of the Prometheus operator.
func TestObjectsWithinBounds(t *testing.T) {
	const head = "---\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n"
	var definitions strings.Builder
	for range 10 {
		definitions.WriteString(head + "spec:\n")
		for i := range 3_000 {
			fmt.Fprintf(&definitions, "  field%d:\n    description: |-\n      A description of the field.\n    type: "+
				"string\n", i)
		}
	}
	for name, manifest := range map[string]string{
		"dashboard": head + "data:\n  a.json: |\n" + strings.Repeat("    {\"a\": [1, 2, 3], \"b\": "+
			"{\"c\": \"d\"}},\n", 50_000),
		"definitions":            definitions.String(),
		"few aliases":            head + "data: &d {a: b}\nother: [*d, *d]\n",
		"text with an ampersand": head + "data: {a: \"R&D *important*\"}\n",
	} {
		r := Record{Manifest: manifest}
		if got, err := r.Objects(); err != nil || len(got) == 0 {
			t.Errorf("%s: %d objects, error %v", name, len(got), err)
		}
	}
}

// TestReaderSorts checks how much memory is needed to sort the keys of deeply nested mappings.
func TestReaderSorts(t *testing.T) {
	const mostAllocated = 64 << 20
	var doc, end strings.Builder
	for i := range maxDepth - 1 {
		doc.WriteString(strings.Repeat(" ", i) + "z:\n")
		end.WriteString(strings.Repeat(" ", maxDepth-1-i) + "a: 1\n")
	}
	doc.WriteString(strings.Repeat(" ", maxDepth-1) + "z: " + strings.Repeat("x",
		4<<20) + "\n" + end.String() + "a: 1\n")
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	raw, err := direct(doc.String())
	runtime.ReadMemStats(&after)
	if err != nil || !strings.HasPrefix(string(raw), `{"a":1,"z":{"a":1,"z":`) {
		t.Errorf("%.50s, error %v", raw, err)
	}
	if n := after.TotalAlloc - before.TotalAlloc; n > mostAllocated {
		t.Errorf("%d MiB were allocated, want at most %d", n>>20, mostAllocated>>20)
	}
}

// TestManifestLost checks which records without a manifest are incomplete.
func TestManifestLost(t *testing.T) {
	const manifest, templates = "---\na: b\n", "templates/"
	for _, tc := range []struct {
		name             string
		manifest         string
		templates, files []string
		hooks            []string // paths of their templates
		want             bool
	}{
		{name: "no chart"},
		{name: "manifest", manifest: manifest, templates: []string{templates + "a.yaml"}},
		{name: "templates", templates: []string{templates + "a.yaml"}, want: true},
		{name: "blank manifest", manifest: "\n ", templates: []string{templates + "a.yaml"}, want: true},
		{name: "only comments", manifest: "---\n# Source: a.yaml\n", templates: []string{templates + "a.yaml"}},
		{name: "only partials and notes", templates: []string{templates + "_helpers.tpl", templates + "sub/_x.yaml",
			templates + "NOTES.txt"}},
		{name: "plain manifests", files: []string{"raw-yaml/a.yaml"}, want: true},
		{name: "other files", files: []string{"README.md", "dashboards/a.json"}},
		{name: "every template rendered a hook", templates: []string{templates + "a.yaml", templates + "b.yaml"},
			hooks: []string{"chart/templates/a.yaml", "chart/templates/b.yaml"}},
		{name: "one of two templates rendered a hook", templates: []string{templates + "a.yaml", templates + "b.yaml"},
			hooks: []string{"chart/templates/a.yaml"}, want: true},
		{name: "hooks and plain manifests", files: []string{"raw-yaml/a.yaml"},
			hooks: []string{"chart/templates/a.yaml"}, want: true},
	} {
		named := func(names []string) []map[string]any {
			var out []map[string]any
			for _, n := range names {
				out = append(out, map[string]any{"name": n, "data": []byte(secretValue)})
			}
			return out
		}
		var hooks []map[string]any
		for i, path := range tc.hooks {
			hooks = append(hooks, map[string]any{"kind": "Job", "name": fmt.Sprint(i), "path": path})
		}
		document := map[string]any{"name": "guestbook", "namespace": "web", "version": 1, "hooks": hooks,
			"chart": map[string]any{"templates": named(tc.templates), "files": named(tc.files)}}
		if tc.manifest != "" {
			document["manifest"] = tc.manifest
		}
		raw, err := json.Marshal(document)
		if err != nil {
			t.Fatal(err)
		}
		r, err := Decode(base64Of(packed(t, string(raw))))
		if err != nil {
			t.Fatalf("%s: %v", tc.name, err)
		}
		_, err = r.Objects()
		if r.ManifestLost != tc.want || errors.Is(err, ErrNoManifest) != tc.want {
			t.Errorf("%s: lost %v, want %v; error %v", tc.name, r.ManifestLost, tc.want, err)
		}
		if _, err := r.ObjectMetadata(); err != nil {
			t.Errorf("%s: metadata: %v", tc.name, err)
		}
	}
}

func TestUnpackedSize(t *testing.T) {
	large := bomb(t, "{", " ", "}", MaxSize+1<<20)
	for name, tc := range map[string]struct {
		value []byte
		want  int
	}{
		"record": {base64Of(packed(t, minimal)), len(minimal)}, "plain": {base64Of([]byte(minimal)), len(minimal)},
		"empty": {nil, 0}, "too large": {large, MostUnpacked(len(large)) + 1},
		"damaged header": {base64Of([]byte{0x1f, 0x8b, 0x08}), 0},
	} {
		if got := UnpackedSize(tc.value); got != tc.want {
			t.Errorf("%s: %d bytes, want %d", name, got, tc.want)
		}
	}
}

// TestStatedSize states too little where a record has two gzip members, or where the stated size is changed:
// DecodeSized notices that.
func TestStatedSize(t *testing.T) {
	single := packed(t, minimal)
	two := append(packed(t, minimal[:20]), packed(t, minimal[20:])...)
	lie := slices.Clone(single)
	lie[len(lie)-4]--
	over := slices.Clone(single)
	over[len(over)-1] = 0xff
	broken := base64Of(single)
	broken = slices.Insert(broken, 8, []byte("\r\n\r\n")...)
	for name, tc := range map[string]struct {
		value  []byte
		stated int
		err    error
	}{
		"a record":          {base64Of(single), len(minimal), nil},
		"two members":       {base64Of(two), len(minimal) - 20, ErrTooLarge},
		"one byte too few":  {base64Of(lie), len(minimal) - 1, ErrTooLarge},
		"more than allowed": {base64Of(over), 0, ErrTooLarge},
		"with line breaks":  {broken, 0, ErrTooLarge},
		"plain":             {base64Of([]byte(minimal)), 0, ErrTooLarge},
	} {
		got := StatedSize(tc.value)
		if _, err := DecodeSized(tc.value, got); got != tc.stated || !errors.Is(err, tc.err) {
			t.Errorf("%s: %d bytes stated, want %d; decoding with that: error %v, want %v", name, got, tc.stated, err,
				tc.err)
		}
	}
	for _, value := range [][]byte{nil, []byte("H4sI"), base64Of(single)[:12]} {
		if _, err := DecodeSized(value, StatedSize(value)); err == nil {
			t.Errorf("%q was decoded", value)
		}
	}
	for _, value := range [][]byte{base64Of(two), broken} { // valid, and read after they were measured
		if _, err := DecodeSized(value, UnpackedSize(value)); err != nil {
			t.Error(err)
		}
	}
}
