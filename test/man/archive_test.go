// SPDX-License-Identifier: Apache-2.0

package main

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// release is the part of .goreleaser.yaml that makes and packs the files.
type release struct {
	Builds []struct {
		Hooks struct{ Post []hook }
	}
	Archives []struct {
		Files []struct {
			Src, Dst    string
			StripParent bool `json:"strip_parent"`
		}
	}
}

type hook struct {
	Cmd string
	Env []string
}

// TestArchives runs the hook of a release, and checks that every archive gets every man page and completion script,
// in the directories man and completions. goreleaser only warns if a pattern of files matches none.
func TestArchives(t *testing.T) {
	raw, err := os.ReadFile("../../.goreleaser.yaml")
	if err != nil {
		t.Fatal(err)
	}
	text := strings.NewReplacer("{{ .Os }}", "linux", "{{ .Arch }}", "amd64", "{{ .Env.VERSION }}", "v1.2.3",
		"{{ .CommitTimestamp }}", "1700000000").Replace(string(raw))
	var config release
	if err := yaml.Unmarshal([]byte(text), &config); err != nil {
		t.Fatal(err)
	}
	const program = "go run ./test/man "
	at := slices.IndexFunc(config.Builds[0].Hooks.Post, func(h hook) bool { return strings.HasPrefix(h.Cmd, program) })
	if at < 0 {
		t.Fatal(".goreleaser.yaml does not make the man pages")
	}
	made := config.Builds[0].Hooks.Post[at]
	args := strings.Fields(strings.TrimPrefix(made.Cmd, program))
	if len(args) != 2 || !slices.Equal(made.Env, []string{"SOURCE_DATE_EPOCH=1700000000"}) {
		t.Fatalf("hook %+v", made)
	}
	dir := t.TempDir()
	epoch := strings.TrimPrefix(made.Env[0], "SOURCE_DATE_EPOCH=")
	if err := run(filepath.Join(dir, args[0]), args[1], epoch); err != nil {
		t.Fatal(err)
	}

	packed := map[string]bool{}
	for _, f := range config.Archives[0].Files {
		found, err := filepath.Glob(filepath.Join(dir, f.Src))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range found {
			if !f.StripParent {
				t.Errorf("%s keeps the directories of the build", f.Src)
			}
			packed[path.Join(f.Dst, filepath.Base(file))] = true
		}
	}
	for _, want := range []string{"man/kubectl-fleetdoctor.1", "man/kubectl-fleetdoctor-audit.1",
		"completions/kubectl-fleetdoctor.bash", "completions/_kubectl-fleetdoctor",
		"completions/kubectl-fleetdoctor.fish", "completions/kubectl-fleetdoctor.ps1"} {
		if !packed[want] {
			t.Errorf("the archives have no %s", want)
		}
	}
	files := os.DirFS(filepath.Join(dir, args[0]))
	err = fs.WalkDir(files, ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && !packed[name] {
			t.Errorf("the archives have no %s", name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
