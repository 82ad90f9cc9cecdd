// SPDX-License-Identifier: Apache-2.0

// Package manifests tests the kustomizations in manifests/: as text, as rendered objects, and against a real API server, which evaluates
// their rules, selectors and conditions.
package manifests

import (
	"io/fs"
	"os"
	"path"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/filesys"

	"github.com/fleetdoctor/kubectl-fleetdoctor/manifests"
	"github.com/fleetdoctor/kubectl-fleetdoctor/test/cluster"
)

// systemNamespace is the namespace of the webhook.
const systemNamespace = "fleetdoctor-system"

// shared also serves cert-manager's kinds with only the fields that are used here: the server refuses any other
// field.
var shared *cluster.Cluster

func TestMain(m *testing.M) {
	os.Exit(cluster.Run(m, &shared, cluster.WithCRDs("testdata/cert-manager.yaml")))
}

// overlays returns the names of all overlays.
func overlays(t *testing.T) []string {
	t.Helper()
	entries, err := fs.ReadDir(manifests.Files, "overlays")
	if err != nil || len(entries) == 0 {
		t.Fatalf("%d overlays, error %v", len(entries), err)
	}
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = e.Name()
	}
	return names
}

// rendered renders an overlay from the embedded files, as the program does.
func rendered(t *testing.T, overlay string) []*unstructured.Unstructured {
	t.Helper()
	memory := filesys.MakeFsInMemory()
	err := fs.WalkDir(manifests.Files, ".", func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := manifests.Files.ReadFile(file)
		if err != nil {
			return err
		}
		return memory.WriteFile(path.Join("/", file), content)
	})
	if err != nil {
		t.Fatal(err)
	}
	k := krusty.MakeKustomizer(&krusty.Options{LoadRestrictions: types.LoadRestrictionsRootOnly, PluginConfig: types.DisabledPluginConfig()})
	resources, err := k.Run(memory, path.Join("/overlays", overlay))
	if err != nil {
		t.Fatalf("rendering overlay %s: %v", overlay, err)
	}
	var objs []*unstructured.Unstructured
	for _, r := range resources.Resources() {
		obj := &unstructured.Unstructured{}
		// Converted through JSON: kustomize's maps have a type of number that DeepCopy does not support.
		content, err := r.MarshalJSON()
		if err == nil {
			err = obj.UnmarshalJSON(content)
		}
		if err != nil {
			t.Fatalf("rendering overlay %s: %v", overlay, err)
		}
		objs = append(objs, obj)
	}
	return objs
}

// pick returns the only object of a kind with this name, as its API type.
func pick[T any](t *testing.T, objs []*unstructured.Unstructured, kind, name string) *T {
	t.Helper()
	var found *T
	for _, obj := range objs {
		if obj.GetKind() != kind || obj.GetName() != name {
			continue
		}
		if found != nil {
			t.Fatalf("two objects %s %s", kind, name)
		}
		found = new(T)
		if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(obj.Object, found, true); err != nil {
			t.Fatalf("decoding %s %s: %v", kind, name, err)
		}
	}
	if found == nil {
		t.Fatalf("no %s %s", kind, name)
	}
	return found
}
