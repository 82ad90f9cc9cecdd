// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

// TestRestoreCommand runs the commands of FD101 and FD104 that restore one object. helm is replaced by a program that
// prints the manifest of the release, as "helm get manifest" does.
func TestRestoreCommand(t *testing.T) {
	f := newFleet(t, shared)
	b := f.bundle("guestbook", guestbook+"---\n{apiVersion: v1, kind: Secret, metadata: {name: login}, stringData: "+
		"{password: planted-value}}\n")
	manifest := b.InstallRelease(t, b.options).Manifest
	b.deployed(manifest)
	path := t.TempDir()
	write(t, filepath.Join(path, "manifest"), manifest, 0o600)
	write(t, filepath.Join(path, "helm"), "#!/bin/sh\ncat "+path+"/manifest\n", 0o700)
	if err := os.Symlink(f.Kubectl(), filepath.Join(path, "kubectl")); err != nil {
		t.Fatal(err)
	}
	restore := func(code, object string) {
		t.Helper()
		command := commandWith(f.audit(), code, object, " get manifest ")
		if command == "" {
			t.Fatalf("%s of %s has no command that restores it", code, object)
		}
		if strings.Contains(command, "planted-value") {
			t.Errorf("the command has the value of a Secret: %s", command)
		}
		shell := exec.CommandContext(t.Context(), "sh", "-c", command)
		shell.Env = append(os.Environ(), "PATH="+path+string(filepath.ListSeparator)+os.Getenv("PATH"))
		if out, err := shell.CombinedOutput(); err != nil {
			t.Fatalf("%s\n%s: %v", command, out, err)
		}
	}

	f.remove(configMap("texts"))
	f.merge("someone", configMap("settings"), `{"data":{"colour":"red"}}`)
	f.merge("someone", object("v1", "Secret", apps, "login"), `{"stringData":{"password":"changed"}}`)
	f.merge("someone", object("v1", "Service", apps, "frontend"), `{"spec":{"selector":{"app":"other"}}}`)

	restore("FD101", "configmap apps/texts")
	restore("FD104", settings)
	restore("FD104", "secret apps/login")
	got := f.audit().deployment(t, "guestbook")
	if want := (report.Counts{Desired: 4, Ready: 3, Modified: 1}); got.Counts != want {
		t.Errorf("%+v, want %+v: only the Service is modified", got.Counts, want)
	}

	// Helm refuses an upgrade that changes a field of another field manager.
	restore("FD104", "service apps/frontend")
	b.upgrade(strings.NewReplacer("colour: blue", "colour: green", "greeting: hello",
		"greeting: welcome").Replace(b.options.Manifest))
	expect(t, f.audit(), outcome{Status: 0, Deployments: map[string]string{"guestbook": "Ready"}})
	for _, name := range []string{"texts", "settings"} {
		if live := f.get(configMap(name)); live.GetLabels()["app.kubernetes.io/managed-by"] != "Helm" {
			t.Errorf("configmap %s has lost Helm's label", name)
		}
	}
}

// commandWith returns the command with a text of the finding about an object; "" without one.
func commandWith(r result, code, object, text string) string {
	for _, found := range r.report.Findings {
		if found.Code != code || found.Object.Key().String() != object {
			continue
		}
		for _, remedy := range found.Remedies {
			if strings.Contains(remedy.Command, text) {
				return remedy.Command
			}
		}
	}
	return ""
}

func write(t *testing.T, file, text string, mode os.FileMode) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
}
