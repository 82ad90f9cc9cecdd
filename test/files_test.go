// SPDX-License-Identifier: Apache-2.0

package test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestFiles requires that the files of a package depend on each other in one direction: if two files need each other,
// the package has another part, or is two packages.
func TestFiles(t *testing.T) {
	packages := listSources(t)
	for _, name := range slices.Sorted(maps.Keys(packages)) {
		if problem := packages[name].problem(name); problem != "" {
			t.Error(problem)
		}
	}
	if len(packages) == 0 {
		t.Error("no package was checked")
	}
}

// references are the names of its package that a file uses, by that file and by the file that declares them.
type references map[string]map[string][]string

// problem describes what is wrong with the order of the files of a package, "" for nothing.
func (r references) problem(name string) string {
	cycles := r.cycles()
	if len(cycles) == 0 {
		return ""
	}
	var out strings.Builder
	fmt.Fprintf(&out, "%s: files need each other. Move declarations, so that files depend on each other in one "+
		"direction:", name)
	for _, c := range cycles {
		for _, from := range c {
			for _, to := range c {
				if names := r[from][to]; len(names) > 0 {
					fmt.Fprintf(&out, "\n\t%s uses %s of %s", from, strings.Join(names, ", "), to)
				}
			}
		}
	}
	return out.String()
}

// cycles returns the groups of files that need each other.
func (r references) cycles() [][]string {
	var out [][]string
	seen := map[string]bool{}
	for _, from := range slices.Sorted(maps.Keys(r)) {
		if seen[from] {
			continue
		}
		group := []string{}
		for to := range r.reachable(from) {
			if r.reachable(to)[from] {
				group = append(group, to)
				seen[to] = true
			}
		}
		if len(group) > 0 {
			slices.Sort(group)
			out = append(out, group)
		}
	}
	return out
}

// reachable returns the files that a file needs, directly or through others.
func (r references) reachable(from string) map[string]bool {
	out := map[string]bool{}
	next := []string{from}
	for len(next) > 0 {
		file := next[0]
		next = next[1:]
		for to := range r[file] {
			if !out[to] {
				out[to] = true
				next = append(next, to)
			}
		}
	}
	return out
}

// listed is a package as `go list` prints it.
type listed struct {
	ImportPath, Dir, Export string
	GoFiles                 []string
}

// listSources returns the references in all packages of the product, by their path below the module. It reads the types
// of what they import from the export data of the compiler.
func listSources(t *testing.T) map[string]references {
	t.Helper()
	// See TestLayering about the test cache.
	if _, err := os.ReadFile("../go.mod"); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "go", "list", "-export", "-deps",
		"-json=ImportPath,Dir,Export,GoFiles", "./cmd/...", "./pkg/...", "./webhook/...", "./manifests")
	cmd.Dir = ".."
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, &stderr)
	}
	var own []listed
	exports := map[string]string{}
	for d := json.NewDecoder(bytes.NewReader(out)); d.More(); {
		var p listed
		if err := d.Decode(&p); err != nil {
			t.Fatalf("go list: %v", err)
		}
		exports[p.ImportPath] = p.Export
		if strings.HasPrefix(p.ImportPath, module+"/") {
			own = append(own, p)
		}
	}
	files := token.NewFileSet()
	imports := importer.ForCompiler(files, "gc", func(path string) (io.ReadCloser, error) {
		return os.Open(exports[path])
	})
	all := map[string]references{}
	for _, p := range own {
		parsed := make([]*ast.File, len(p.GoFiles))
		for i, name := range p.GoFiles {
			parsed[i], err = parser.ParseFile(files, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
		}
		all[strings.TrimPrefix(p.ImportPath, module+"/")], err = referencesOf(files, p.ImportPath, parsed, imports)
		if err != nil {
			t.Fatal(err)
		}
	}
	return all
}

// referencesOf returns which names of a package its files use of each other: constants, variables, types, functions and
// methods.
func referencesOf(files *token.FileSet, path string, parsed []*ast.File, imports types.Importer) (references, error) {
	info := &types.Info{Uses: map[*ast.Ident]types.Object{}}
	config := types.Config{Importer: imports}
	p, err := config.Check(path, files, parsed, info)
	if err != nil {
		return nil, fmt.Errorf("checking types of %s: %w", path, err)
	}
	fileOf := func(at token.Pos) string { return filepath.Base(files.Position(at).Filename) }
	out := references{}
	for id, used := range info.Uses {
		if used.Pkg() != p || !isDeclaration(used) {
			continue
		}
		from, to := fileOf(id.Pos()), fileOf(used.Pos())
		if from == to || slices.Contains(out[from][to], used.Name()) {
			continue
		}
		if out[from] == nil {
			out[from] = map[string][]string{}
		}
		out[from][to] = append(out[from][to], used.Name())
		slices.Sort(out[from][to])
	}
	return out, nil
}

// isDeclaration reports whether an object is declared at the top level of a file, or is a method.
func isDeclaration(o types.Object) bool {
	_, isFunction := o.(*types.Func)
	return isFunction || o.Parent() == o.Pkg().Scope()
}

// TestFileCycles checks which references are found, and which groups of files are reported.
func TestFileCycles(t *testing.T) {
	files := token.NewFileSet()
	var parsed []*ast.File
	for name, text := range map[string]string{
		"type.go":    "type T struct{ field int }; func (T) Use() { helper() }",
		"helper.go":  "func helper() {}",
		"one.go":     "func one() { T{}.Use(); two() }",
		"two.go":     "func two() { three() }",
		"three.go":   "const c = 1; func three() { one(); four() }",
		"four.go":    "func four() { field := c; _ = field }",
		"generic.go": "type G[E any] struct{}; func (G[E]) Make() { _ = number }",
		"make.go":    "var number = 2; func init() { G[int]{}.Make() }",
	} {
		f, err := parser.ParseFile(files, name, "package p; "+text, 0)
		if err != nil {
			t.Fatal(err)
		}
		parsed = append(parsed, f)
	}
	r, err := referencesOf(files, "p", parsed, nil)
	if err != nil {
		t.Fatal(err)
	}
	const want = `p: files need each other. Move declarations, so that files depend on each other in one direction:
	four.go uses c of three.go
	one.go uses two of two.go
	three.go uses four of four.go
	three.go uses one of one.go
	two.go uses three of three.go
	generic.go uses number of make.go
	make.go uses G, Make of generic.go`
	if diff := cmp.Diff(want, r.problem("p")); diff != "" {
		t.Errorf("problem (-want +got):\n%s", diff)
	}
	ordered := references{"one.go": {"two.go": {"two"}}}
	if got := ordered.problem("p"); got != "" {
		t.Errorf("in order: %s", got)
	}
}
