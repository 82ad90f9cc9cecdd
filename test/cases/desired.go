// SPDX-License-Identifier: Apache-2.0

package cases

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/audit"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/remedy"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/render/files"
)

// Commands are those that findings suggest for the current cluster of the user.
var Commands = remedy.Commands{Audit: "kubectl fleetdoctor audit", PrintRole: "kubectl fleetdoctor audit --print-rbac",
	Adopt: "kubectl fleetdoctor adopt", Owner: "kubectl fleetdoctor owner", Repair: "kubectl fleetdoctor repair",
	Preflight: "kubectl fleetdoctor preflight", Targets: "kubectl fleetdoctor targets", Why: "kubectl fleetdoctor why",
	Kubectl: "kubectl", Helm: "helm"}

// Desired states in the first document of a case where desired objects are read from.
type Desired struct {
	// From is auto, release or bundle. It is ignored if there are Files.
	From audit.Desired `json:"from"`
	// Files has the content of each file of a bundle's directory by its path.
	Files map[string]string `json:"files"`
	// GitRepo and Path identify the repository and the path of the directory.
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
	in, err := files.LoadAll(dir, files.Options{GitRepo: d.GitRepo, Path: d.Path})
	if err != nil {
		t.Fatalf("loading the directory of the case: %v", err)
	}
	o.Desired, o.Files = audit.DesiredFiles, in
}
