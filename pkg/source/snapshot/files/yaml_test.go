// SPDX-License-Identifier: Apache-2.0

package files

import (
	"bytes"
	"encoding/json"
	"maps"
	"reflect"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// FuzzYAML compares Lists whose items are parsed one by one with the library, which parses the whole document.
func FuzzYAML(f *testing.F) {
	for _, text := range []string{
		"apiVersion: v1\nitems:\n- kind: A\n  data:\n    x: |\n      - a\n\n      b\n- kind: B\nkind: List\n",
		"items:\n- {a: 1}\n-   b: [1.50, 0x1f, ~]\n    c: 'x'\n# end\n",
		"a: \"x\nitems:\n- b: \"\nkind: List\n",
		"items: # all\n- a\n", "items:\n-\n  a: 1\n- b\n", "items:\n\n- &a 1\n- *a\n", "items:\n- a\nitems:\n- b\n",
		"items:\n- |\n x\n- >-\n  y\n  z\n", "x: 1\nitems:\n  - a: 1\n  - b: 2\n", "? items\n: - a\n",
		"items:\n- a: b\n c: d\n", "[\"", "0\n#\nitems:\n- ",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		d := onlyList(t, strings.TrimLeft(text, " \t\r\n"))
		var root yaml.Node
		if d == nil || yaml.Unmarshal([]byte(text), &root) != nil {
			return // the library also reads the lines before the document
		}
		raw, err := newConverter().convert(&root)
		if err != nil {
			t.Fatalf("the library reads %q, but it is not JSON: %v", text, err)
		}
		var items [][]byte
		for _, it := range d.Items {
			items = append(items, it.Raw)
		}
		got := map[string]any{"items": decoded[[]any](t, "["+string(bytes.Join(items, []byte(",")))+"]")}
		maps.Copy(got, decoded[map[string]any](t, string(d.Body)))
		want := decoded[map[string]any](t, string(raw))
		if want["items"] == nil {
			want["items"] = []any{}
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%q: items %s and members %s, want %s", text, items, d.Body, raw)
		}
	})
}

// onlyList reads a text of YAML. It returns nil if it is not one whole document with items.
func onlyList(t *testing.T, text string) *Document {
	t.Helper()
	var out []*Document
	g := New(t.Context(), 1<<20, strings.NewReader(text), func(d *Document) (bool, error) {
		out = append(out, d)
		return true, nil
	})
	if err := g.Read(t.Context(), []string{"-"}); err != nil || g.Report.Incomplete() {
		return nil
	}
	if len(out) != 1 || !out[0].Listed {
		return nil
	}
	if strings.ContainsAny(text[:1], "{[\ufeff") || strings.Contains("\n"+text, "\n%") {
		return nil // JSON, or a directive, which is skipped
	}
	return out[0]
}

func decoded[T any](t *testing.T, text string) (out T) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &out); err != nil {
		t.Fatal(err)
	}
	return out
}
