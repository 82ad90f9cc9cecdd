// SPDX-License-Identifier: Apache-2.0

package cases

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/audit"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/render/files"
)

// Commands are those that findings suggest for the current cluster of the user.
var Commands = check.Commands{Audit: "kubectl fleetdoctor audit", PrintRole: "kubectl fleetdoctor audit --print-rbac", Adopt: "kubectl fleetdoctor adopt",
	Preflight: "kubectl fleetdoctor preflight", Kubectl: "kubectl", Helm: "helm"}

// Desired says in the first document of a case where desired objects are taken from.
type Desired struct {
	// From is auto, release or bundle; where Files are given it is files.
	From audit.Desired `json:"from"`
	// Files are those of a bundle's directory, by their path in it.
	Files map[string]string `json:"files"`
	// GitRepo and Path say of what repository the directory is.
	GitRepo string `json:"gitRepo"`
	Path    string `json:"path"`
}

// Write sets the options of an audit.
func (d Desired) Write(t *testing.T, o *audit.Options) {
	t.Helper()
	o.Desired = d.From
	if len(d.Files) == 0 {
		return
	}
	dir := t.TempDir()
	for name, content := range d.Files {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	in, err := files.Load(dir, files.Options{GitRepo: d.GitRepo, Path: d.Path})
	if err != nil {
		t.Fatalf("loading the directory of the case: %v", err)
	}
	o.Desired, o.Files = audit.DesiredFiles, in
}
