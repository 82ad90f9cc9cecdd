// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd"
	"github.com/fleetdoctor/kubectl-fleetdoctor/test/cases"
)

const hostile = `kind: Case
---
{kind: Agent, deployments: cluster-one}
---
apiVersion: fleet.cattle.io/v1alpha1
kind: BundleDeployment
metadata: {name: a-hostile, namespace: cluster-one}
spec: {options: {defaultNamespace: web}}
---
apiVersion: fleet.cattle.io/v1alpha1
kind: BundleDeployment
metadata: {name: b-healthy, namespace: cluster-one}
spec: {options: {defaultNamespace: web}}
---
kind: Contents
of: cluster-one/a-hostile
files: {templates/a.yaml: "{{ range until 1000000000 }}{{ end }}"}
---
kind: Contents
of: cluster-one/b-healthy
files: {templates/a.yaml: "{apiVersion: v1, kind: ConfigMap, metadata: {name: theme}}"}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: theme, namespace: web}
ownership: {set: b-healthy, release: web/b-healthy}
`

// TestHostileBundle checks every command that renders bundles with a template that uses all memory. Only the bundle of
// that template has no result.
func TestHostileBundle(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	snapshot := filepath.Join(t.TempDir(), "snapshot.yaml")
	writeCase(t, snapshot)
	for _, args := range [][]string{
		{"audit", "--desired=bundle"}, {"audit", "--desired=auto"}, {"preflight"}, {"adopt", "--dry-run=client"},
	} {
		var out, errOut bytes.Buffer
		status := cmd.Process(t.Context(), self, slices.Concat([]string{"kubectl-fleetdoctor"}, args,
			[]string{"--snapshot", snapshot, "-o", "json"}),
			genericiooptions.IOStreams{In: &bytes.Buffer{}, Out: &out, ErrOut: &errOut})
		var document struct {
			Gaps []struct{ What, Detail string } `json:"gaps"`
		}
		if err := json.Unmarshal(out.Bytes(), &document); err != nil {
			t.Errorf("%v: status %d, %v: %s", args, status, err, &errOut)
			continue
		}
		rendered := 0 // the other gaps are those of Fleet's kinds that the case does not have
		for _, g := range document.Gaps {
			if strings.HasPrefix(g.What, "rendering ") {
				rendered++
				if g.What != "rendering bundle a-hostile" || !strings.Contains(g.Detail, "512 MiB of memory") {
					t.Errorf("%v: gap %+v", args, g)
				}
			}
		}
		if args[0] == "preflight" { // an item of the bundle says it
			rendered = strings.Count(out.String(), "512 MiB of memory")
		}
		if rendered != 1 {
			t.Errorf("%v: %d gaps of renderings: %+v", args, rendered, document.Gaps)
		}
		if !strings.Contains(out.String(), "b-healthy") {
			t.Errorf("%v: the other bundle has no result", args)
		}
	}
}

func writeCase(t *testing.T, path string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "case.yaml")
	if err := os.WriteFile(file, []byte(hostile), 0o600); err != nil {
		t.Fatal(err)
	}
	var head struct {
		Kind string `json:"kind"`
	}
	capture, err := cases.Read(file, &head)
	if err != nil {
		t.Fatal(err)
	}
	if err := capture.Complete(nil); err != nil {
		t.Fatal(err)
	}
	in, err := capture.Stream()
	if err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	if _, err := text.ReadFrom(in); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, text.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
}
