// SPDX-License-Identifier: Apache-2.0

package manifests

import (
	"bytes"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/cli-runtime/pkg/resource"
)

// TestKubectl checks that kubectl and the program render each overlay to the same objects, and that a server
// accepts them.
func TestKubectl(t *testing.T) {
	createNamespaces(t)
	kubeconfig := shared.Kubeconfig(t)
	for _, overlay := range overlays(t) {
		dir := filepath.Join(directory, "overlays", overlay)
		out, err := exec.CommandContext(t.Context(), shared.Kubectl(), "kustomize", dir).CombinedOutput()
		if err != nil {
			t.Errorf("overlay %s: kubectl kustomize: %v\n%s", overlay, err, out)
			continue
		}
		infos, err := resource.NewLocalBuilder().Unstructured().Flatten().Stream(bytes.NewReader(out), overlay).Do().Infos()
		if err != nil {
			t.Errorf("overlay %s: reading the output of kubectl: %v", overlay, err)
			continue
		}
		var got []*unstructured.Unstructured
		for _, info := range infos {
			obj, ok := info.Object.(*unstructured.Unstructured)
			if !ok {
				t.Fatalf("overlay %s: %T is not a single object", overlay, info.Object)
			}
			got = append(got, obj)
		}
		anyOrder := cmpopts.SortSlices(func(a, b *unstructured.Unstructured) int { // kubectl sorts by kind
			return strings.Compare(names([]*unstructured.Unstructured{a})[0], names([]*unstructured.Unstructured{b})[0])
		})
		if diff := cmp.Diff(rendered(t, overlay), got, anyOrder); diff != "" {
			t.Errorf("overlay %s (-program +kubectl):\n%s", overlay, diff)
		}
		apply := exec.CommandContext(t.Context(), shared.Kubectl(), "--kubeconfig", kubeconfig, "apply", "--dry-run=server", "-o", "name", "-k", dir)
		var stderr bytes.Buffer
		apply.Stderr = &stderr
		if out, err := apply.Output(); err != nil || bytes.Count(out, []byte("\n")) != len(got) {
			t.Errorf("overlay %s: kubectl apply, of %d objects: %v\n%s%s", overlay, len(got), err, out, stderr.String())
		}
	}
}
