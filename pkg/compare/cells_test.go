// SPDX-License-Identifier: Apache-2.0

package compare_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	jsonpatch "github.com/evanphx/json-patch/v5"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/compare"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
)

// matrix is the directory of the drift matrix. test/testdata/README.md describes the files and their origin.
const matrix = testdata + "/matrix"

// cell is a desired object, the live object, and the expected result of the comparison.
type cell struct {
	// set on the first line of an object, which is the cell of the unchanged object
	Manifest string          `json:"manifest"`
	Name     string          `json:"cell"`
	Desired  json.RawMessage `json:"desired"`
	Live     json.RawMessage `json:"live"`
	Change   json.RawMessage `json:"change"`

	Fleet string `json:"fleet"`
	Want  string `json:"want"`
	Why   string `json:"why"`
	Note  string `json:"note"`

	ManagedFields json.RawMessage     `json:"managedFields"`
	Patches       []json.RawMessage   `json:"comparePatches"`
	Autoscaler    json.RawMessage     `json:"autoscaler"`
	untouched     json.RawMessage     // the live object before the change
	operations    []compare.Operation // the change
}

// modified is the expected result of this project.
func (c *cell) modified() bool {
	if c.Want != "" {
		return c.Want == "Modified"
	}
	return c.Fleet == "Modified"
}

// readCells returns all cells of the matrix with a result of Fleet, and the manifests of every kind.
func readCells(tb testing.TB) (cells, manifests []cell) {
	tb.Helper()
	files, err := filepath.Glob(matrix + "/cells/*.jsonl")
	if err != nil || len(files) == 0 {
		tb.Fatalf("no cells: %v", err)
	}
	for _, file := range files {
		var of cell
		for _, c := range readLines(tb, file) {
			if c.Manifest != "" {
				of = c
				of.Name, of.untouched = "untouched", c.Live
				manifests = append(manifests, of)
				if c.Fleet != "" {
					cells = append(cells, of)
				}
				continue
			}
			c.Manifest, c.Desired, c.untouched = of.Manifest, of.Desired, of.Live
			c.Live = patch(tb, of.Live, c.Change)
			if err := json.Unmarshal(c.Change, &c.operations); err != nil {
				tb.Fatalf("%s, %s: %v", c.Manifest, c.Name, err)
			}
			cells = append(cells, c)
		}
	}
	return cells, manifests
}

func readLines(tb testing.TB, file string) []cell {
	tb.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		tb.Fatal(err)
	}
	var out []cell
	for i, line := range bytes.Split(bytes.TrimSpace(content), []byte("\n")) {
		var c cell
		d := json.NewDecoder(bytes.NewReader(line))
		d.DisallowUnknownFields()
		if err := d.Decode(&c); err != nil {
			tb.Fatalf("%s:%d: %v", file, i+1, err)
		}
		out = append(out, c)
	}
	return out
}

func patch(tb testing.TB, doc, operations []byte) []byte {
	tb.Helper()
	p, err := jsonpatch.DecodePatch(operations)
	if err != nil {
		tb.Fatalf("%s: %v", operations, err)
	}
	out, err := p.Apply(doc)
	if err != nil {
		tb.Fatalf("%s: %v", operations, err)
	}
	return out
}

func decode(tb testing.TB, raw []byte) (content object.Content, ref object.Ref) {
	tb.Helper()
	content, _, err := object.Decode(raw)
	if err != nil {
		tb.Fatalf("%s: %v", raw, err)
	}
	meta, err := object.ReadMeta(raw)
	if err != nil {
		tb.Fatalf("%s: %v", raw, err)
	}
	return content, meta.Ref()
}

// TestMatrixMore compares the results with those of Fleet's agent in the whole drift matrix, except for cells with a
// reason for another result.
func TestMatrixMore(t *testing.T) {
	cells, _ := readCells(t)
	if len(cells) < 3000 {
		t.Errorf("only %d cells were found", len(cells))
	}
	for _, c := range cells {
		t.Run(c.Manifest+"/"+c.Name, func(t *testing.T) {
			desired, ref := decode(t, c.Desired)
			live, _ := decode(t, c.Live)
			got := compare.Objects(desired, live, ref.GroupVersionKind())
			if len(got) > 0 != c.modified() {
				t.Errorf("want modified %t, Fleet reports %s (%s %s): the differences are %v", c.modified(), c.Fleet,
					c.Why, c.Note, paths(got))
			}
		})
	}
}

// TestReasons checks that each cell with another result than Fleet has a reason that the README explains, and that each
// reason has a cell.
func TestReasons(t *testing.T) {
	readme, err := os.ReadFile(testdata + "/README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, reasons, _ := strings.Cut(string(readme), "\n### Reasons for a different result\n")
	reasons, _, _ = strings.Cut(reasons, "\n## ")
	used := map[string]int{}
	for _, m := range regexp.MustCompile("(?m)^\\| `([a-z-]+)` \\|").FindAllStringSubmatch(reasons, -1) {
		used[m[1]] = 0
	}
	cells, _ := readCells(t)
	for _, c := range cells {
		switch _, known := used[c.Why]; {
		case c.Want == "" && c.Why == "":
			continue
		case c.Want == c.Fleet || !known:
			t.Errorf("%s, %s: want %q, Fleet reports %q, reason %q", c.Manifest, c.Name, c.Want, c.Fleet, c.Why)
		}
		used[c.Why]++
	}
	for why, n := range used {
		if n == 0 {
			t.Errorf("no cell has the reason %s", why)
		}
	}
}

// restated are manifests that the server stores with other values, although no user changed the objects. Fleet's agent
// always reports them as modified. That is correct: the cluster does not have the stated values.
var restated = map[string]string{
	"pod-tolerations": "admission adds tolerations to a list that is compared as a whole",
	"node":            "admission adds a taint to a list that is compared as a whole",
	"apiservice-2":    "the server drops a stated false, and Fleet does not know the kind",
	"apiservice-2-2": "the server stores another encoding of the caBundle, and Fleet does not know the " +
		"kind",
	"apiservice-2-3": "the server drops a stated empty caBundle, and Fleet does not know the kind",
	"customresourcedefinition-2": "the server drops a stated false, and Fleet compares definitions as JSON without " +
		"a type",
	"widget-pruned": "the server prunes fields that the schema of the custom resource does not have",
	"customresourcedefinition-2-3": "the server drops a stated empty list, and Fleet compares definitions as JSON " +
		"without a type",
}

// TestUntouched checks that an unchanged object of any kind has no difference, except for values that the server does
// not store.
func TestUntouched(t *testing.T) {
	kinds := map[string]bool{}
	_, manifests := readCells(t)
	for _, m := range manifests {
		desired, ref := decode(t, m.Desired)
		live, _ := decode(t, m.Live)
		if m.Fleet == "" {
			continue // the server never stored the unchanged object
		}
		kinds[ref.Kind] = true
		got := compare.Objects(desired, live, ref.GroupVersionKind())
		if why, ok := restated[m.Manifest]; len(got) > 0 != ok {
			t.Errorf("%s (%s): %v", m.Manifest, why, paths(got))
		}
	}
	if len(kinds) < 50 {
		t.Errorf("only %d kinds are in the matrix", len(kinds))
	}
}
