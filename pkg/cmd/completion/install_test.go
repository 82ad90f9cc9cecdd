// SPDX-License-Identifier: Apache-2.0

//go:build unix

package completion_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/completion"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/exit"
)

// program makes a directory with the program and returns the path of the program.
func program(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "kubectl-fleetdoctor")
	if err := os.WriteFile(file, nil, 0o700); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestInstall(t *testing.T) {
	p := program(t)
	dir := filepath.Dir(p)
	for _, want := range []string{"installed ", " is already installed"} {
		done, err := completion.Install(p, dir)
		if err != nil || !strings.Contains(done, want) || strings.Contains(done, "not on the PATH") {
			t.Fatalf("%q, want %q: %v", done, want, err)
		}
	}
	file := filepath.Join(dir, completion.Name)
	info, err := os.Stat(file)
	if err != nil || info.Mode().Perm() != 0o755 {
		t.Fatalf("mode %v: %v", info.Mode(), err)
	}
	content, err := os.ReadFile(file)
	if err != nil || !strings.HasSuffix(string(content), "\nexec kubectl fleetdoctor __complete \"$@\"\n") {
		t.Fatalf("%s: %v", content, err)
	}
	if err := os.WriteFile(file, append(content, "# an earlier version\n"...), 0o755); err != nil {
		t.Fatal(err)
	}
	if done, err := completion.Install(p, dir); err != nil || !strings.HasPrefix(done, "updated ") {
		t.Errorf("%q: %v", done, err)
	}
	if again, err := os.ReadFile(file); err != nil || string(again) != string(content) {
		t.Errorf("%s: %v", again, err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 2 {
		t.Errorf("%v are left in the directory: %v", left, err)
	}
}

// TestInstallBesideTheLink checks that the script is in the directory of the PATH that has a link to the program, as
// krew makes it.
func TestInstallBesideTheLink(t *testing.T) {
	p, bin, other := program(t), t.TempDir(), filepath.Dir(program(t))
	if err := os.Symlink(p, filepath.Join(bin, "kubectl-fleetdoctor")); err != nil {
		t.Fatal(err)
	}
	// another program of this name comes first
	path := strings.Join([]string{".", other, bin}, string(filepath.ListSeparator))
	if done, err := completion.Install(p, path); err != nil ||
		!strings.Contains(done, filepath.Join(bin, completion.Name)) {
		t.Errorf("%q: %v", done, err)
	}
	if done, err := completion.Install(p, other); err != nil || !strings.Contains(done, "is not on the PATH") {
		t.Errorf("%q: %v", done, err)
	}
}

// TestInstallRefuses checks that a file that is not ours is never overwritten.
func TestInstallRefuses(t *testing.T) {
	for name, prepare := range map[string]func(file string) error{
		"another script": func(file string) error { return os.WriteFile(file, []byte("#!/bin/sh\nexit 1\n"), 0o700) },
		"an empty file":  func(file string) error { return os.WriteFile(file, nil, 0o600) },
		"a directory":    func(file string) error { return os.Mkdir(file, 0o700) },
		"a link":         func(file string) error { return os.Symlink("elsewhere", file) },
	} {
		p := program(t)
		file := filepath.Join(filepath.Dir(p), completion.Name)
		if err := prepare(file); err != nil {
			t.Fatal(err)
		}
		before, err := os.Lstat(file)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := completion.Install(p, filepath.Dir(p)); exit.Status(err) != exit.Failed ||
			!strings.Contains(err.Error(), file) {
			t.Errorf("%s: %v", name, err)
		}
		after, err := os.Lstat(file)
		if err != nil || !os.SameFile(before, after) || after.Size() != before.Size() {
			t.Errorf("%s was changed: %v", name, err)
		}
	}
}
