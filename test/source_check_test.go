// SPDX-License-Identifier: Apache-2.0

package test

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"slices"
	"strconv"
	"strings"
)

const (
	licenceLine = "// SPDX-License-Identifier: Apache-2.0"
	maxLines    = 450 // of a file of Go that is neither a test nor generated
	maxMain     = 60  // of main, that it holds no logic
	mainRoom    = "cmd/kubectl-fleetdoctor"
)

// vagueNames say nothing of what a package holds, so everything ends up in it.
var vagueNames = []string{"util", "utils", "common", "helper", "helpers", "misc", "shared"}

// pureImports are packages of files, processes, network, logs and chance. A library may use them; a pure layer may not
// hold them in its own hands. (Of net not all: net/url only parses.)
var pureImports = []string{
	"crypto/rand", "io/ioutil", "k8s.io/klog/...", "log/...", "math/rand/...", "net", "net/http/...", "net/rpc/...",
	"os/...", "runtime/...", "syscall", "unsafe",
}

// names are the names that a package's files must not mention, by the import path they come from. To mention is
// enough: a function that is handed on is called later.
type names map[string][]string

// rootNames are what enters at the root and is handed down from there: streams and the exit status.
var rootNames = names{
	"fmt": {"Print", "Printf", "Println", "Scan", "Scanf", "Scanln"},
	"os":  {"Exit", "Stderr", "Stdin", "Stdout"},
}

// pureNames are the clock. A pure layer has the time at which the data was taken.
var pureNames = names{
	"time": {"After", "AfterFunc", "NewTicker", "NewTimer", "Now", "Since", "Sleep", "Tick", "Until"},
}

// checkSource returns what is wrong with one Go file, given by its path below the module, apart from what it imports
// of the module.
func checkSource(layers []layer, file string, src []byte) []string {
	fset := token.NewFileSet()
	parsed, err := parser.ParseFile(fset, file, src, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return []string{err.Error()}
	}
	r, _, ok := layerOf(layers, path.Dir(file))
	if !ok {
		return []string{file + ": its package belongs to no layer: add it to the table in test/layering_test.go"}
	}
	wrong := slices.Concat(checkForm(file, src, parsed), checkNoLint(fset, parsed))
	if strings.HasSuffix(file, "_test.go") {
		return wrong
	}
	if strings.HasPrefix(file, "pkg/") {
		wrong = append(wrong, checkNames(fset, parsed, rootNames, "it enters at the root and is handed down")...)
	}
	if r.pure || slices.Contains(r.pureFiles, path.Base(file)) {
		wrong = append(wrong, checkPure(fset, parsed)...)
	}
	return wrong
}

// checkForm holds what every file keeps: the licence line, a size that can be read, a package whose name says something.
func checkForm(file string, src []byte, parsed *ast.File) []string {
	generated := ast.IsGenerated(parsed)
	var wrong []string
	licensed := bytes.HasPrefix(src, []byte(licenceLine+"\n\n"))
	if generated { // A generator may put its own line first.
		licensed = bytes.Contains(src[:parsed.Package-parsed.FileStart], []byte(licenceLine+"\n"))
	}
	if !licensed {
		wrong = append(wrong, fmt.Sprintf("%s: does not begin with %q and an empty line", file, licenceLine))
	}
	for _, name := range []string{strings.TrimSuffix(parsed.Name.Name, "_test"), path.Base(path.Dir(file))} {
		if slices.Contains(vagueNames, name) {
			wrong = append(wrong, fmt.Sprintf("%s: a package named %s says nothing of what it holds", file, name))
			break
		}
	}
	if generated || strings.HasSuffix(file, "_test.go") {
		return wrong
	}
	limit := maxLines
	if path.Dir(file) == mainRoom {
		limit = maxMain
	}
	if n := bytes.Count(src, []byte("\n")); n > limit {
		wrong = append(wrong, fmt.Sprintf("%s: has %d lines, more than %d", file, n, limit))
	}
	return wrong
}

// checkNoLint refuses a finding that is silenced in place. What the linters are wrong about stands in .golangci.yaml,
// with its reason.
func checkNoLint(fset *token.FileSet, parsed *ast.File) []string {
	var wrong []string
	for _, group := range parsed.Comments {
		for _, c := range group.List {
			if strings.HasPrefix(c.Text, "//nolint") {
				wrong = append(wrong, fmt.Sprintf("%s: silences a linter", fset.Position(c.Pos())))
			}
		}
	}
	return wrong
}

// checkPure holds a file of a pure layer: no package of pureImports, no clock, no goroutine.
func checkPure(fset *token.FileSet, parsed *ast.File) []string {
	var wrong []string
	for _, spec := range parsed.Imports {
		imported := importPath(spec)
		if slices.ContainsFunc(pureImports, func(p string) bool { return matches(p, imported) }) {
			wrong = append(wrong, fmt.Sprintf("%s: a pure layer imports %s", fset.Position(spec.Pos()), imported))
		}
	}
	ast.Inspect(parsed, func(n ast.Node) bool {
		if g, ok := n.(*ast.GoStmt); ok {
			wrong = append(wrong, fmt.Sprintf("%s: a pure layer starts a goroutine", fset.Position(g.Pos())))
		}
		return true
	})
	return append(wrong, checkNames(fset, parsed, pureNames, "a pure layer has no clock")...)
}

// checkNames returns every mention of a forbidden name, under whatever name its package is imported, and why not.
func checkNames(fset *token.FileSet, parsed *ast.File, forbidden names, why string) []string {
	imports := map[string]string{}
	for _, spec := range parsed.Imports {
		imported := importPath(spec)
		local := path.Base(imported)
		if spec.Name != nil {
			local = spec.Name.Name
		}
		imports[local] = imported
	}
	var wrong []string
	ast.Inspect(parsed, func(n ast.Node) bool {
		selector, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		if x, ok := selector.X.(*ast.Ident); ok && slices.Contains(forbidden[imports[x.Name]], selector.Sel.Name) {
			wrong = append(wrong, fmt.Sprintf("%s: mentions %s.%s: %s", fset.Position(selector.Pos()),
				imports[x.Name], selector.Sel.Name, why))
		}
		return true
	})
	return wrong
}

// importPath returns the path that an import names; the parser has seen that it is a string.
func importPath(spec *ast.ImportSpec) string {
	imported, err := strconv.Unquote(spec.Path.Value)
	if err != nil {
		return spec.Path.Value
	}
	return imported
}
