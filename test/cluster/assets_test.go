// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"os"
	"path/filepath"
	"testing"
)

// TestAssetsFromEnvironment holds that KUBEBUILDER_ASSETS is believed only if every binary is there.
func TestAssetsFromEnvironment(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("KUBEBUILDER_ASSETS", dir)
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
