// SPDX-License-Identifier: Apache-2.0

package compare_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/compare"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/release"
)

const testdata = "../../test/testdata"

// TestMatrix compares the results with those of Fleet's agent, cell by cell: every kind with every change.
func TestMatrix(t *testing.T) {
	live := map[object.Key]json.RawMessage{}
	var desired []release.Object
	files, err := filepath.Glob(testdata + "/drift/*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("no captured objects: %v", err)
	}
	for _, f := range files {
		var list struct{ Items []json.RawMessage }
		readJSON(t, f, &list)
		for _, raw := range list.Items {
			m, err := object.ReadMeta(raw)
			if err != nil {
				t.Fatal(err)
			}
			live[m.Ref().Key()] = raw
			desired = append(desired, releaseObjects(t, raw)...)
		}
	}
	cells := map[string]struct{ Fleet, Cell string }{}
	readJSON(t, testdata+"/truth/drift-matrix.json", &cells)
	found := 0
	for _, d := range desired {
		cell, ok := cells[d.Name]
		if !ok {
			continue
		}
		found++
		t.Run(d.Name, func(t *testing.T) {
			want := cell.Fleet == "Modified"
			got := differences(t, d, live[d.Key()])
			if (len(got) > 0) != want {
				t.Errorf("the agent reports %s, the differences are %v", cell.Fleet, paths(got))
			}
		})
	}
	if found != len(cells) {
		t.Errorf("%d of %d cells were found", found, len(cells))
	}
}

func differences(t *testing.T, d release.Object, raw []byte) []compare.Difference {
	t.Helper()
	want, _, err := object.Decode(d.Raw)
	if err != nil {
		t.Fatal(err)
	}
	have, _, err := object.Decode(raw)
	if err != nil {
		t.Fatalf("%s: %v", d.Name, err)
	}
	return compare.Objects(want, have, d.GroupVersionKind())
}

func releaseObjects(t *testing.T, raw []byte) []release.Object {
	t.Helper()
	var secret struct {
		Type     string
		Data     map[string][]byte
		Metadata struct{ Namespace string }
	}
	if err := json.Unmarshal(raw, &secret); err != nil || secret.Type != release.SecretType {
		return nil
	}
	r, err := release.Decode(secret.Data[release.DataKey])
	if err != nil {
		t.Fatal(err)
	}
	objects, err := r.Objects()
	if err != nil {
		t.Fatal(err)
	}
	return objects
}

func paths(ds []compare.Difference) []string {
	var out []string
	for _, d := range ds {
		out = append(out, d.Path.String())
	}
	return out
}

func readJSON(t *testing.T, file string, into any) {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, into); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
}
