// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// assets returns the directory that holds kube-apiserver, etcd and kubectl. It asks the program in test/apiserver,
// which builds them where it must, so that a plain `go test` on a clean machine needs no preparation.
func assets(ctx context.Context) (string, error) {
	gomod, err := exec.CommandContext(ctx, "go", "env", "GOMOD").Output()
	if err != nil {
		return "", fmt.Errorf("finding the module: %w", err)
	}
	source := filepath.Join(filepath.Dir(string(gomod)), "test", "apiserver")
	cmd := exec.CommandContext(ctx, "go", "run", "-C", source, ".")
	cmd.Env = append(os.Environ(), "GOWORK=off")
	cmd.Stderr = os.Stderr
	dir, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("running %s: %w", source, err)
	}
	return strings.TrimSpace(string(dir)), nil
}
