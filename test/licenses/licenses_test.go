// SPDX-License-Identifier: Apache-2.0

package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

const program = "github.com/fleetdoctor/kubectl-fleetdoctor/cmd/kubectl-fleetdoctor"

// write creates files below a directory. Their content is their path.
func write(t *testing.T, root string, files ...string) {
	t.Helper()
	for _, file := range files {
		path := filepath.Join(root, file)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(file), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// TestTexts checks which files of a module are taken. The package a/b is linked, the package a/c is not.
func TestTexts(t *testing.T) {
	tests := []struct {
		name        string
		files, want []string
	}{
		{"usual name", []string{"LICENSE"}, []string{"LICENSE"}},
		{"other names", []string{"COPYING", "LICENCE.md", "LICENSE-MIT", "License.txt", "NOTICE", "PATENTS"},
			[]string{"COPYING", "LICENCE.md", "LICENSE-MIT", "License.txt", "NOTICE", "PATENTS"}},
		{"names of other files", []string{"LICENSE", "LICENSE_TEMPLATE", "license.go", "licenses", "notices/a"},
			[]string{"LICENSE"}},
		{"directories above a linked package", []string{"LICENSE", "a/NOTICE", "a/b/LICENSE", "a/b/d/LICENSE",
			"a/c/LICENSE"},
			[]string{"LICENSE", "a/NOTICE", "a/b/LICENSE"}},
		{"none", []string{"README.md"}, nil},
		{"only a notice", []string{"NOTICE"}, nil},
		{"only that of a package", []string{"a/b/LICENSE"}, nil},
		{"a directory", []string{"LICENSE/a"}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			root := t.TempDir()
			write(t, root, append(tt.files, "a/b/b.go")...)
			found, err := texts(module{"example.com/m", "v1.2.3", root, []string{filepath.Join(root, "a", "b")}})
			const message = "example.com/m v1.2.3 has no licence file: use a version with one, or add that of its " +
				"repository " +
				"as test/licenses/texts/example.com/m@v1.2.3/LICENSE"
			if tt.want == nil {
				if err == nil || err.Error() != message {
					t.Errorf("error %v, want %s", err, message)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, f := range found {
				got = append(got, f.file)
				if string(f.content) != f.file {
					t.Errorf("%s has the content of %s", f.file, f.content)
				}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("files (-want +got):\n%s", diff)
			}
		})
	}
}

// TestDocument checks that files with the same content share one text.
func TestDocument(t *testing.T) {
	one, two := t.TempDir(), t.TempDir()
	write(t, one, "LICENSE", "NOTICE")
	write(t, two, "LICENSE")
	got, err := document([]module{{"example.com/one", "v1.0.0", one, nil}, {"example.com/two", "v2.0.0", two, nil}})
	if err != nil {
		t.Fatal(err)
	}
	want := introduction +
		separator + "example.com/one v1.0.0 LICENSE\nexample.com/two v2.0.0 LICENSE\n\nLICENSE\n" +
		separator + "example.com/one v1.0.0 NOTICE\n\nNOTICE\n"
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("document (-want +got):\n%s", diff)
	}
}

// TestSame checks that the texts are not those of other modules than the binary has.
func TestSame(t *testing.T) {
	modules := []module{{path: "example.com/m", version: "v1.2.3"}, {path: "std", version: "go1.26.1"}}
	tests := []struct{ name, goVersion, version, more, want string }{
		{name: "same", goVersion: "go1.26.1", version: "v1.2.3"},
		{name: "other version", goVersion: "go1.26.1", version: "v1.2.4",
			want: `it has version "v1.2.4" of example.com/m, not v1.2.3`},
		{name: "other Go", goVersion: "go1.26.2", version: "v1.2.3",
			want: `it has version "go1.26.2" of std, not go1.26.1`},
		{name: "another module", goVersion: "go1.26.1", version: "v1.2.3", more: "example.com/n",
			want: "it has example.com/n v1.0.0, which this checkout does not link"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			info := &debug.BuildInfo{GoVersion: tt.goVersion}
			info.Deps = []*debug.Module{{Path: "example.com/m", Version: tt.version}}
			if tt.more != "" {
				info.Deps = append(info.Deps, &debug.Module{Path: tt.more, Version: "v1.0.0"})
			}
			got := ""
			if err := same(info, modules); err != nil {
				got = err.Error()
			}
			if got != tt.want {
				t.Errorf("error %q, want %q", got, tt.want)
			}
		})
	}
}

// TestEveryPlatform checks that each module that a release links has a licence, and that each added licence is needed.
func TestEveryPlatform(t *testing.T) {
	text, err := os.ReadFile("../../.goreleaser.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var config struct {
		Builds []struct{ GOOS, GOARCH []string }
	}
	if err := yaml.Unmarshal(text, &config); err != nil {
		t.Fatal(err)
	}
	used := map[string]bool{}
	for _, goos := range config.Builds[0].GOOS {
		for _, goarch := range config.Builds[0].GOARCH {
			modules, err := linked(program, []string{"CGO_ENABLED=0", "GOOS=" + goos, "GOARCH=" + goarch})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := document(modules); err != nil {
				t.Errorf("%s/%s: %v", goos, goarch, err)
			}
			for _, m := range modules {
				inModule, err := legal(os.DirFS(m.root), ".")
				if err != nil {
					t.Fatal(err)
				}
				used["texts/"+m.path+"@"+m.version] = !hasLicence(inModule)
			}
		}
	}
	err = fs.WalkDir(added, ".", func(file string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && !used[filepath.ToSlash(filepath.Dir(file))] {
			t.Errorf("%s is not needed: no release links this version of the module, or it has a licence file", file)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// modulesOf lists the modules that a file of licence texts names, each once.
func modulesOf(content string) []string {
	var names []string
	for block := range strings.SplitSeq(strings.TrimPrefix(content, introduction), separator) {
		header, _, _ := strings.Cut(block, "\n\n")
		for line := range strings.Lines(header) {
			if fields := strings.Fields(line); len(fields) >= 2 {
				names = append(names, fields[0]+" "+fields[1])
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}
