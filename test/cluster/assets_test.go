// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"os"
	"path/filepath"
	"testing"
)

// TestAssetsFromEnvironment checks that KUBEBUILDER_ASSETS is accepted only with all binaries.
func TestAssetsFromEnvironment(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("KUBEBUILDER_ASSETS", dir)
	t.Setenv("K8S", "")
	for _, name := range []string{"etcd", "kube-apiserver", "kubectl"} {
		if got, err := assets(t.Context()); err == nil {
			t.Errorf("assets() = %q without %s, want an error", got, name)
		}
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := assets(t.Context()); err != nil || got != dir {
		t.Errorf("assets() = %q, %v, want %q", got, err, dir)
	}
}

// TestAssetsOfVersion checks that K8S must be a known version, and that a kube-apiserver of another version is an
// error.
func TestAssetsOfVersion(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"etcd", "kube-apiserver", "kubectl"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\necho Kubernetes v1.34.1\n"),
			0o700); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("KUBEBUILDER_ASSETS", dir)
	t.Setenv("K8S", "1.34")
	if got, err := assets(t.Context()); err != nil || got != dir {
		t.Errorf("assets() = %q, %v, want %q", got, err, dir)
	}
	for _, version := range []string{"1.3", "1.32"} {
		t.Setenv("K8S", version)
		if got, err := assets(t.Context()); err == nil {
			t.Errorf("K8S=%s: assets() = %q, want an error", version, got)
		}
	}
	t.Setenv("KUBEBUILDER_ASSETS", "")
	t.Setenv("K8S", "../tools")
	if got, err := assets(t.Context()); err == nil {
		t.Errorf("assets() = %q of an unknown version, want an error", got)
	}
}
