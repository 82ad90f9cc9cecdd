// SPDX-License-Identifier: Apache-2.0

package defaults_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes/scheme"
)

// skipped are manifests of the drift matrix that this server changes in another way.
var skipped = map[string]string{
	"node":            "admission adds a taint to a list that is compared as a whole",
	"pod-tolerations": "admission adds tolerations to a list that is compared as a whole",
	"svc-ip-stated":   "the address is not in the range of this server",
}

// TestMatrixManifests checks that no manifest of a built-in kind in the drift matrix differs from what this server
// makes of it.
func TestMatrixManifests(t *testing.T) {
	prepare(t)
	files, err := filepath.Glob("../testdata/matrix/cells/*.jsonl")
	if err != nil || len(files) == 0 {
		t.Fatalf("no cells: %v", err)
	}
	checked, left := 0, map[string]bool{}
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for line := range bytes.Lines(content) {
			var m struct {
				Manifest string
				Desired  *unstructured.Unstructured
			}
			if err := json.Unmarshal(line, &m); err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			if m.Manifest == "" || !scheme.Scheme.Recognizes(m.Desired.GroupVersionKind()) {
				continue
			}
			if skipped[m.Manifest] != "" {
				left[m.Manifest] = true
				continue
			}
			checked++
			t.Run(m.Manifest, func(t *testing.T) {
				live, err := dryRun(t.Context(), m.Desired, "Ignore")
				if err != nil {
					t.Fatal(err)
				}
				same(t, m.Desired, live)
			})
		}
	}
	if checked < 240 {
		t.Errorf("only %d manifests were checked", checked)
	}
	if len(left) != len(skipped) {
		t.Errorf("of the skipped manifests, only these exist: %v", left)
	}
}
