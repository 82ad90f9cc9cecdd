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

// apart are manifests of the drift matrix that this server treats in another way than the rest.
var apart = map[string]string{
	"node":            "admission adds a taint to a list that counts as a whole",
	"pod-tolerations": "admission adds tolerations to a list that counts as a whole",
	"svc-ip-stated":   "its address is not in the range of this server",
}

// TestMatrixManifests: each manifest of the drift matrix, of whatever built-in kind, has no difference to what this server makes of it.
func TestMatrixManifests(t *testing.T) {
	prepare(t)
	files, err := filepath.Glob("../testdata/matrix/cells/*.jsonl")
	if err != nil || len(files) == 0 {
		t.Fatalf("no cells: %v", err)
	}
	held, left := 0, map[string]bool{}
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
			if apart[m.Manifest] != "" {
				left[m.Manifest] = true
				continue
			}
			held++
			t.Run(m.Manifest, func(t *testing.T) {
				live, err := dryRun(t.Context(), m.Desired, "Ignore")
				if err != nil {
					t.Fatal(err)
				}
				same(t, m.Desired, live)
			})
		}
	}
	if held < 240 {
		t.Errorf("only %d manifests were tried", held)
	}
	if len(left) != len(apart) {
		t.Errorf("of the manifests to be left out, only these exist: %v", left)
	}
}
