// SPDX-License-Identifier: Apache-2.0

package files

import (
	"bytes"
	"encoding/json"
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
		"items:\n- |\n x\n- >-\n  y\n  z\n", "x: 1\nitems:\n  - a: 1\n  - b: 2\n", "? items\n: - a\n", "items:\n- a: b\n c: d\n", "[\"", "0\n#\nitems:\n- ",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		text = strings.TrimLeft(text, " \t\r\n")
		var got []*Document
		g := New(t.Context(), 1<<20, strings.NewReader(text), func(d *Document) (bool, error) {
			got = append(got, d)
			return true, nil
		})
		if err := g.Read([]string{"-"}); err != nil || g.Report.Incomplete() || len(got) != 1 || !got[0].Listed {
			return
		}
		if strings.ContainsAny(text[:1], "{[\ufeff") || strings.Contains("\n"+text, "\n%") {
			return // JSON, or a directive, which is skipped
		}
		var root yaml.Node
		if yaml.Unmarshal([]byte(text), &root) != nil {
			return // it also reads the lines before the document
		}
		raw, err := newConverter().convert(&root)
		if err != nil {
			t.Fatalf("the library reads %q, but it is not JSON: %v", text, err)
		}
		var want map[string]any
		if err := json.Unmarshal(raw, &want); err != nil {
			t.Fatal(err)
		}
		var items [][]byte
		for _, it := range got[0].Items {
			items = append(items, it.Raw)
		}
		whole := map[string]any{}
		if err := json.Unmarshal(got[0].Body, &whole); err != nil {
			t.Fatal(err)
		}
		var list []any
		if err := json.Unmarshal([]byte("["+string(bytes.Join(items, []byte(",")))+"]"), &list); err != nil {
			t.Fatal(err)
		}
		expected, _ := want["items"].([]any)
		delete(want, "items")
		if len(list) != len(expected) || len(list) > 0 && !reflect.DeepEqual(list, expected) || !reflect.DeepEqual(whole, want) {
			t.Errorf("%q: items %s and members %s, want %s", text, items, got[0].Body, raw)
		}
	})
}
